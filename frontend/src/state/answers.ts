/** The answers on top of the board: what to take. Pure. */

import type { Gpu } from './fleet.svelte';

/** Whether somebody may take it: it is free, and one of those that the board counts. */
export function isOffered({ verdict, counted }: Gpu['record']): boolean {
  return verdict === 'free' && counted;
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
