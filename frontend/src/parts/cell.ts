/** What a cell shows of one GPU, whatever its size. */

import type { GpuRow } from '../api/wire';
import type { App } from '../state/context';
import { isMine } from '../state/filter';
import { isEnded } from '../state/people';
import { cellSentence, cellWords, flagWords, isIgnored, type CellWords } from './words';

export interface CellLook {
  words: CellWords;
  sentence: string;
  flags: string | null;
  mine: boolean;
  ignored: boolean;
  /** Whether a booking of it is over, and it is free. */
  ended: boolean;
  /** How much of its memory is held, for those who hold some. */
  filled: number;
}

export function cellLook(gpu: GpuRow, { clock, fleet, language, preferences }: App): CellLook {
  const held = gpu.verdict === 'busy' || gpu.verdict === 'idle' ? gpu.memory_used_bytes : null;
  return {
    words: cellWords(gpu, clock.coarse, language, fleet.justFreedSeconds),
    sentence: cellSentence(gpu, clock.coarse, language, fleet.justFreedSeconds),
    flags: flagWords(gpu, language).join(', ') || null,
    mine: isMine({ gpu, me: preferences.me }),
    ignored: isIgnored(gpu),
    ended: isEnded(gpu),
    filled: held !== null && gpu.memory_total_bytes ? Math.min(1, held / gpu.memory_total_bytes) : 0,
  };
}
