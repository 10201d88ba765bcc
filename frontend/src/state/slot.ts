/** Where and when what somebody needs is there first, chosen as the board itself does (`find_free`). Pure. */

import type { BookingView } from '../api/bookings';
import type { GpuRow } from '../api/wire';
import {
  AHEAD_SECONDS,
  awayWord,
  cardsOf,
  clashOn,
  holdsOf,
  HOUR,
  SOON_SECONDS,
  startsFrom,
  type Hold,
  type Span,
} from './booking';
import { BOX_SHARE } from './models';

export interface Slot extends Span {
  places: { node: string; gpus: number[] }[];
}

export interface SlotWish {
  count: number;
  /** The size on the box, of each GPU. */
  memoryBytes: number;
  seconds: number;
  /** Else they may be of several. */
  onOneNode: boolean;
}

interface Surroundings {
  now: number;
  /** When tomorrow begins for the board: from then on what is stale or broken may be had. */
  tomorrow: number;
  /** For so long what was freed is offered last. */
  justFreed: number;
  /** What begins later is not known of: no slot ends then. */
  until?: number;
}

/** GPUs of one model on one node: so they are offered. */
interface Block {
  node: string;
  model: string;
  cards: GpuRow[];
  holds: Hold[];
}

// So many moments at which something ends are looked at on all nodes: nobody waits longer for an answer of the page.
const MOST_STARTS = 100;
// Whoever takes a GPU that is booked sooner has hardly begun: others are offered first.
const BOOKED_SOON_SECONDS = 4 * HOUR;

export function findSlot(
  nodes: readonly { name: string; gpus: readonly GpuRow[] }[],
  wish: SlotWish,
  bookings: readonly BookingView[],
  about: Surroundings,
): Slot | null {
  // What may still be away then is offered only where there is nothing else.
  const there = nodes.map(({ name, gpus }) => ({ name, gpus: gpus.filter((gpu) => !awayWord(gpu)) }));
  return firstSlot(there, wish, bookings, about) ?? firstSlot(nodes, wish, bookings, about);
}

function firstSlot(
  nodes: readonly { name: string; gpus: readonly GpuRow[] }[],
  wish: SlotWish,
  bookings: readonly BookingView[],
  about: Surroundings,
): Slot | null {
  const blocks = nodes.flatMap(({ name, gpus }) => blocksOf(name, gpus, wish, bookings, about.now));
  const { count, onOneNode, seconds } = wish;
  let first = null as number | null;
  for (const one of blocks)
    if (one.cards.length >= count) first = firstStart([one], wish, about, first ?? undefined) ?? first;
  if (!onOneNode) first = firstStart(blocks, wish, about, first ?? undefined) ?? first;
  if (first === null) return null;
  const span = { start: first, end: first + seconds };
  return { ...span, places: chosen(blocks, span, wish, about) };
}

function blocksOf(
  node: string,
  gpus: readonly GpuRow[],
  { memoryBytes }: SlotWish,
  bookings: readonly BookingView[],
  now: number,
): Block[] {
  const byModel = new Map<string, GpuRow[]>();
  for (const gpu of cardsOf(gpus)) {
    // As every wish without a size does, this one takes what has none to tell.
    if (!gpu.counted || (gpu.memory_total_bytes ?? 0) < BOX_SHARE * memoryBytes) continue;
    const model = gpu.model ?? '';
    byModel.set(model, [...(byModel.get(model) ?? []), gpu]);
  }
  if (!byModel.size) return [];
  const holds = holdsOf(node, bookings, gpus, now);
  return [...byModel].map(([model, cards]) => ({ node, model, cards, holds }));
}

/** From when on so many of these are there, taken together, before a moment. */
function firstStart(
  blocks: readonly Block[],
  { count, seconds }: SlotWish,
  about: Surroundings,
  before = about.now + AHEAD_SECONDS,
): number | null {
  const { now, until = Infinity } = about;
  const starts = startsFrom(
    now,
    blocks.flatMap(({ holds }) => holds),
    about,
  ).filter((start) => start < before && start + seconds <= until);
  for (const start of starts.slice(0, MOST_STARTS)) {
    const span = { start, end: start + seconds };
    let left = count;
    for (const block of blocks) left -= offered(block, span, about).length;
    if (left <= 0) return start;
  }
  return null;
}

/** Those that nobody has then. Now only what nobody is on for sure; later whoever is there may have left. */
const offered = ({ cards, holds }: Block, span: Span, { now, tomorrow }: Surroundings): GpuRow[] =>
  cards.filter((gpu) => {
    const { index, verdict } = gpu;
    if (clashOn(index, span, holds)) return false;
    if (awayWord(gpu)) return span.start >= tomorrow;
    return span.start >= now + SOON_SECONDS || verdict === 'free' || verdict === 'booked';
  });

/** The smallest block that suffices; else the largest first. What is just freed or booked soon comes last. */
function chosen(
  blocks: readonly Block[],
  span: Span,
  { count, onOneNode }: SlotWish,
  about: Surroundings,
): Slot['places'] {
  const ranked = blocks
    .map((block) => ranking(block, span, count, about))
    .filter(({ numbers }) => numbers.length >= (onOneNode ? count : 1))
    .sort((a, b) => compare(a.rank, b.rank));
  const taken = new Map<string, number[]>();
  let left = count;
  for (const { node, numbers } of ranked) {
    const more = numbers.slice(0, left);
    left -= more.length;
    if (more.length)
      taken.set(
        node,
        [...(taken.get(node) ?? []), ...more].sort((a, b) => a - b),
      );
  }
  return [...taken].map(([node, gpus]) => ({ node, gpus }));
}

function ranking(block: Block, span: Span, count: number, about: Surroundings) {
  const { now, justFreed } = about;
  const { node, model, holds } = block;
  const sinceOf = ({ verdict, since }: GpuRow) => (verdict === 'free' ? (since ?? 0) : 0);
  const isFresh = (gpu: GpuRow) => sinceOf(gpu) > 0 && now - sinceOf(gpu) < justFreed;
  const isSoon = ({ index }: GpuRow) =>
    holds.some(
      ({ number, start }) => number === index && start >= span.end && start < now + BOOKED_SOON_SECONDS,
    );
  const all = offered(block, span, about);
  const settled = all.filter((gpu) => !isFresh(gpu) && !isSoon(gpu));
  const counted = settled.length ? settled : all;
  const isShort = counted.length < count;
  const rank = [
    Number(!settled.length),
    Number(isShort),
    isShort ? -counted.length : counted.length,
    Math.min(...all.map((gpu) => gpu.memory_total_bytes ?? Infinity)),
    Math.max(...counted.map(sinceOf)),
    node,
    model,
  ];
  const order = (gpu: GpuRow) => [Number(isFresh(gpu)), Number(isSoon(gpu)), gpu.index];
  const numbers = all.toSorted((a, b) => compare(order(a), order(b))).map(({ index }) => index);
  return { node, numbers, rank };
}

function compare(a: (number | string)[], b: (number | string)[]): number {
  const place = a.findIndex((value, at) => value !== b[at]);
  return place < 0 ? 0 : a[place]! < b[place]! ? -1 : 1;
}
