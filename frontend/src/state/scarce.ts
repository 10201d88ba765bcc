/** What can be said where nothing fits: what will be free, and who holds what without using it. Pure. */

import type { GpuRow } from '../api/wire';
import type { FleetNode, Gpu } from './fleet.svelte';
import type { Fits, Wish } from './offers';
import { speller } from './people';

export interface Soonest {
  /** Where; null: on several nodes. */
  node: string | null;
  until: number;
}

/** When bookings that end will have left enough, if that is known. */
export function soonest(nodes: Iterable<FleetNode>, fits: Fits, { gpus, oneNode }: Wish): Soonest | null {
  const all: { node: string; until: number }[] = [];
  let best: Soonest | null = null;
  for (const node of nodes) {
    const { name } = node.record;
    const ends: typeof all = [];
    for (const gpu of node.gpus) {
      const { claim, counted, verdict } = gpu.record;
      if (!counted || !fits(gpu, node)) continue;
      if (verdict === 'free') ends.push({ node: name, until: 0 });
      else if (verdict === 'booked' && claim?.until) ends.push({ node: name, until: claim.until });
    }
    all.push(...ends);
    const last = ends.sort((a, b) => a.until - b.until)[gpus - 1];
    if (last && (!best || last.until < best.until)) best = last;
  }
  const last = all.sort((a, b) => a.until - b.until)[gpus - 1];
  if (oneNode || !last || (best && best.until <= last.until)) return best;
  return { node: null, until: last.until };
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
