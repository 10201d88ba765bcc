/** The answers on top of the board: what to take, and what needs a look. Pure. */

import type { FleetNode, Gpu } from './fleet.svelte';

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

/**
 * Nodes that need a look: first those that do not report, then those that report problems; by name. One that
 * is still expected is none of them: when a board starts, all are.
 */
export function troubled(nodes: Iterable<FleetNode>): FleetNode[] {
  const away = ({ record }: FleetNode) => !['live', 'never'].includes(record.state);
  return [...nodes]
    .filter((node) => away(node) || node.record.problems.length)
    .sort((a, b) => Number(away(b)) - Number(away(a)) || (a.sortKey < b.sortKey ? -1 : 1));
}
