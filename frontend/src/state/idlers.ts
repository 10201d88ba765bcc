/** Who holds GPUs without working on them, and for how long: what the board and the people page show. Pure. */

import type { Gpu } from './fleet.svelte';
import type { Holder } from './people';

/** What of somebody's is idle. */
export interface Idle {
  gpus: Gpu[];
  /** Since when the first of them is; null: nobody can tell. */
  since: number | null;
  /** GPU-hours so far, of those of which it is known. */
  hours: number;
}

export function idleOf({ holdings }: Pick<Holder, 'holdings'>, now: number): Idle {
  const gpus = holdings
    .filter((holding) => !holding.booked)
    .flatMap((holding) => holding.gpus)
    .filter((gpu) => gpu.record.verdict === 'idle');
  const since = gpus.flatMap((gpu) => gpu.record.since ?? []);
  return {
    gpus,
    since: since.length ? Math.min(...since) : null,
    hours: since.reduce((sum, at) => sum + Math.max(0, now - at), 0) / 3600,
  };
}
