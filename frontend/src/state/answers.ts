/** The answers on top of the board: what to take. Pure. */

import type { FleetNode, Gpu } from './fleet.svelte';

/** Whether somebody may take it: it is free, and one of those that the board counts. */
export function isOffered({ verdict, counted }: Gpu['record']): boolean {
  return verdict === 'free' && counted;
}

export interface FreeBlock {
  node: FleetNode;
  model: string;
  gpus: Gpu[];
  justFreed: boolean;
  /** How many more became free so recently that they are not among these. */
  fresh: number;
  since: number | null;
}

/** Free GPUs of one model on one node: most first, then the longest free. The just freed count only where nothing else is. */
export function freeBlocks(nodes: Iterable<FleetNode>, now: number, justFreed: number): FreeBlock[] {
  const blocks: FreeBlock[] = [];
  for (const node of nodes) {
    const byModel = new Map<string, Gpu[]>();
    for (const gpu of node.gpus) {
      if (!isOffered(gpu.record)) continue;
      const model = gpu.model;
      byModel.set(model, [...(byModel.get(model) ?? []), gpu]);
    }
    for (const [model, free] of byModel) {
      const settled = free.filter(({ record }) => record.since === null || now - record.since >= justFreed);
      const gpus = settled.length ? settled : free;
      const since = gpus.reduce<number | null>(
        (latest, { record }) => (record.since === null ? latest : Math.max(latest ?? 0, record.since)),
        null,
      );
      blocks.push({
        node,
        model,
        gpus,
        since,
        justFreed: !settled.length,
        fresh: free.length - gpus.length,
      });
    }
  }
  return blocks.sort(
    (a, b) =>
      Number(a.justFreed) - Number(b.justFreed) ||
      b.gpus.length - a.gpus.length ||
      (a.since ?? 0) - (b.since ?? 0),
  );
}

export interface ModelCount {
  model: string;
  free: number;
  total: number;
  memoryBytes: number;
}

export function freeByModel(gpus: Iterable<Gpu>): ModelCount[] {
  const counts = new Map<string, ModelCount>();
  for (const { record, model } of gpus) {
    if (!record.counted) continue;
    const count = counts.get(model) ?? { model, free: 0, total: 0, memoryBytes: 0 };
    count.total++;
    if (record.verdict === 'free') count.free++;
    count.memoryBytes = Math.max(count.memoryBytes, record.memory_total_bytes ?? 0);
    counts.set(model, count);
  }
  return [...counts.values()].sort((a, b) => b.memoryBytes - a.memoryBytes || (a.model < b.model ? -1 : 1));
}
