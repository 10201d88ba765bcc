/** The answers on top of the board: what to take, and who has the others. Pure. */

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

export interface Holder {
  user: string;
  gpus: number;
  idle: number;
  booked: number;
  /** When the last of their bookings here ends; null: none has an end. */
  until: number | null;
}

/** People by the GPUs they hold, most first. A shared GPU counts for each of its users. */
export function holders(gpus: Iterable<Gpu>): Holder[] {
  const people = new Map<string, Holder>();
  for (const { record } of gpus) {
    if (record.verdict === 'stale' || !record.counted) continue;
    for (const user of holdersOf(record)) {
      const key = user.toLowerCase();
      const holder = people.get(key) ?? { user, gpus: 0, idle: 0, booked: 0, until: null };
      holder.gpus++;
      if (record.verdict === 'idle') holder.idle++;
      if (record.verdict === 'booked') {
        holder.booked++;
        if (record.claim?.until) holder.until = Math.max(holder.until ?? 0, record.claim.until);
      }
      people.set(key, holder);
    }
  }
  return [...people.values()].sort(
    (a, b) => b.gpus - a.gpus || b.idle - a.idle || (a.user < b.user ? -1 : 1),
  );
}

/** Whether `holders` would name somebody. */
export function isHeld({ users, verdict, claim, counted }: Gpu['record']): boolean {
  return counted && verdict !== 'stale' && !!(users?.length || (verdict === 'booked' && claim?.who));
}

export function holdersOf({ users, verdict, claim }: Gpu['record']): Iterable<string> {
  // Nearly always there is one; thousands of small sets would cost.
  if (users?.length === 1 && verdict !== 'booked') return [users[0]!.name];
  const names = new Set((users ?? []).map((use) => use.name));
  if (verdict === 'booked' && claim?.who) names.add(claim.who);
  return names;
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
