/** Which rows the board shows, and in which order. Pure: fleet in, rows out. */

import type { VerdictWord } from '../api/wire';
import { steadyUse } from './figures';
import { countVerdicts, natural, type Counts, type FleetNode, type Gpu } from './fleet.svelte';
import { namesOn, speller } from './people';

export const SORTS = ['free', 'name', 'use', 'memory', 'temperature'] as const;
export type Sort = (typeof SORTS)[number];
export const GROUPINGS = ['node', 'group', 'model', 'user', 'verdict'] as const;
export type Grouping = (typeof GROUPINGS)[number];

/** One node's line; `shown` holds the GPUs that pass the filter and belong here. */
export interface Row {
  key: string;
  node: FleetNode;
  shown: Set<Gpu>;
  counts: Counts;
}

export interface Section {
  /** What the GPUs below have in common; null when there is only one section. */
  title: string | null;
  rows: Row[];
  counts: Counts;
}

export function arrange(
  nodes: Iterable<FleetNode>,
  passes: (gpu: Gpu, node: FleetNode) => boolean,
  grouping: Grouping,
  sort: Sort,
  keepEmpty: boolean,
): Section[] {
  const sections = new Map<string | null, Row[]>();
  const spelt = speller();
  for (const node of nodes) {
    const shown = node.gpus.filter((gpu) => passes(gpu, node));
    // A node without a readable GPU is news, unless one looks for something.
    if (!shown.length && !(keepEmpty && !node.gpus.length && grouping === 'node')) continue;
    const parts = new Map<string | null, Gpu[]>(grouping === 'node' ? [[null, shown]] : []);
    if (grouping !== 'node')
      for (const gpu of shown)
        for (const title of titles(gpu, node, grouping, spelt)) push(parts, title, gpu);
    for (const [title, gpus] of parts) push(sections, title, row(title, node, gpus));
  }
  const result = [...sections].map(([title, rows]) => ({
    title,
    rows: rows.sort((a, b) => compareRows(a, b, sort)),
    counts: sum(rows),
  }));
  return result.sort((a, b) => compareSections(a, b, grouping));
}

function row(title: string | null, node: FleetNode, gpus: Gpu[]): Row {
  return {
    key: `${title ?? ''}/${node.record.name}`,
    node,
    shown: new Set(gpus),
    counts: countVerdicts(gpus),
  };
}

function sum(rows: Row[]): Counts {
  const total = countVerdicts([]);
  for (const { counts } of rows)
    for (const verdict of Object.keys(total) as (keyof Counts)[]) total[verdict] += counts[verdict];
  return total;
}

function titles(gpu: Gpu, node: FleetNode, grouping: Grouping, spelt: (name: string) => string): string[] {
  const { model, verdict } = gpu.record;
  if (grouping === 'model') return [model === null ? '' : gpu.model];
  if (grouping === 'verdict') return [verdict];
  if (grouping === 'group') return node.record.groups.length ? node.record.groups : [''];
  const names = namesOn(gpu.record).map(spelt);
  return names.length ? names : [''];
}

function push<Key, Item>(map: Map<Key, Item[]>, key: Key, item: Item): void {
  const list = map.get(key);
  if (list) list.push(item);
  else map.set(key, [item]);
}

export function compareRows(a: Row, b: Row, sort: Sort): number {
  return rank(b, sort) - rank(a, sort) || (a.node.sortKey < b.node.sortKey ? -1 : 1);
}

function rank(row: Row, sort: Sort): number {
  if (sort === 'name') return 0;
  // What does not report comes last: its numbers are old.
  if (row.counts.stale === row.counts.total) return -1;
  if (sort === 'free') return row.counts.free;
  let most = -0.5;
  for (const { record } of row.shown) {
    if (sort === 'use') most = Math.max(most, steadyUse(record) ?? -0.5);
    else if (sort === 'temperature') most = Math.max(most, record.temperature_celsius ?? -0.5);
    else most = Math.max(most, (record.memory_total_bytes ?? 0) - (record.memory_used_bytes ?? Infinity));
  }
  return most;
}

const VERDICT_ORDER: VerdictWord[] = ['free', 'idle', 'busy', 'booked', 'unknown', 'broken', 'stale'];

function compareSections(a: Section, b: Section, grouping: Grouping): number {
  if (grouping === 'verdict')
    return VERDICT_ORDER.indexOf(a.title as VerdictWord) - VERDICT_ORDER.indexOf(b.title as VerdictWord);
  // The nameless come last.
  if (!a.title || !b.title) return Number(!a.title) - Number(!b.title);
  if (grouping === 'user') return b.counts.total - a.counts.total || natural.compare(a.title, b.title);
  // Racks and rooms stay where people look for them.
  if (grouping === 'group') return natural.compare(a.title, b.title);
  return b.counts.free - a.counts.free || natural.compare(a.title, b.title);
}
