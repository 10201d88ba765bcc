/** Who holds GPUs without working on them, and for how long: what the board and the people page show. Pure. */

import type { GpuRow } from '../api/wire';
import type { FleetNode, Gpu } from './fleet.svelte';
import type { Fits } from './offers';
import { speller, type Holder } from './people';

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

export interface Idler {
  user: string;
  gpus: GpuRow[];
  /** Since when the longest idle one is; null: nobody knows. */
  since: number | null;
}

/** Who holds fitting GPUs and does not work on them, the longest first; nobody where names are hidden. */
export function idlers(nodes: Iterable<FleetNode>, fits: Fits): { gpus: number; people: Idler[] } {
  const found = new Map<string, Idler>();
  const spelt = speller();
  let gpus = 0;
  for (const node of nodes)
    for (const gpu of node.gpus) {
      if (!isIdle(gpu) || !fits(gpu, node)) continue;
      gpus++;
      const { since, users } = gpu.record;
      for (const name of new Set(users?.map((use) => spelt(use.name)))) {
        const idler = found.get(name) ?? { user: name, gpus: [], since: null };
        idler.gpus.push(gpu.record);
        if (since !== null) idler.since = Math.min(since, idler.since ?? Infinity);
        found.set(name, idler);
      }
    }
  const people = [...found.values()];
  people.sort(
    (a, b) =>
      (a.since ?? Infinity) - (b.since ?? Infinity) ||
      b.gpus.length - a.gpus.length ||
      (a.user < b.user ? -1 : 1),
  );
  return { gpus, people };
}

function isIdle({ record }: Gpu): boolean {
  return record.counted && record.verdict === 'idle';
}
