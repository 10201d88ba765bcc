/** What a cell shows of one GPU, whatever its size. */

import type { GpuRow } from '../api/wire';
import type { App } from '../state/context';
import { steadyUse } from '../state/figures';
import { isEnded, isMine } from '../state/people';
import { cellSentence, cellWords, flagWords, isIgnored, isInBooking, leftOf, type CellWords } from './words';

const TWO: readonly GpuRow['verdict'][] = ['busy', 'idle', 'booked', 'broken'];

export interface CellLook {
  words: CellWords;
  sentence: string;
  flags: string | null;
  mine: boolean;
  ignored: boolean;
  /** Whether it says how long its booking still lasts. */
  counting: boolean;
  /** Whether it is used by whom it is booked for. */
  inBooking: boolean;
  /** Whether it has more to say than one line holds. */
  two: boolean;
  /** The figure as a bar, 0 to 1. */
  filled: number;
}

export function cellLook(gpu: GpuRow, { clock, language, session }: App): CellLook {
  const ignored = isIgnored(gpu);
  return {
    words: cellWords(gpu, clock.coarse, language),
    sentence: cellSentence(gpu, clock.coarse, language),
    flags: flagWords(gpu, language).join(', ') || null,
    mine: isMine({ gpu, me: session.me }),
    ignored,
    counting: !ignored && leftOf(gpu, clock.coarse) !== null,
    inBooking: !ignored && isInBooking(gpu),
    two: ignored || isEnded(gpu) || TWO.includes(gpu.verdict),
    filled: gpu.verdict === 'busy' && gpu.counted ? Math.min(100, steadyUse(gpu) ?? 0) / 100 : 0,
  };
}
