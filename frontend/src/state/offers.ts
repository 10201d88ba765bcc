/** What to take: the free GPUs that fit a wish. The ranking is the board's own (`find_free`). Pure. */

import type { FreeAnswer } from '../api/wire';
import { isOffered } from './answers';
import type { FleetNode, Gpu } from './fleet.svelte';

export interface Wish {
  gpus: number;
  oneNode: boolean;
}

/** Free GPUs of one model on one node. */
export interface Offer {
  key: string;
  node: FleetNode;
  /** What was just freed stands last. */
  gpus: Gpu[];
  fresh: number;
  /** How many of them, the first, to take for the wish. */
  chosen: number;
  /** Since when all are free that are not just freed; null: nobody can tell. */
  since: number | null;
  /** Whether that is only since when they have been seen so: some may have been free before. */
  isSeen: boolean;
  /** When the first booking of one of those to take begins, as the board has said; null: none is to come. */
  until: number | null;
}

export type Fits = (gpu: Gpu, node: FleetNode) => boolean;

/** What `find_free` answers, in its order: known before the board is asked, and while it is. */
export function findOffers(
  nodes: Iterable<FleetNode>,
  fits: Fits,
  { gpus: wanted, oneNode }: Wish,
  now: number,
  justFreed: number,
): Offer[] {
  const isFresh = ({ record: { since } }: Gpu) => since !== null && now - since < justFreed;
  let found: { offer: Offer; rank: (number | string)[] }[] = [];
  for (const node of nodes) {
    const byModel = new Map<string, Gpu[]>();
    for (const gpu of node.gpus) {
      if (!isOffered(gpu.record) || !fits(gpu, node)) continue;
      const model = gpu.record.model ?? '';
      byModel.set(model, [...(byModel.get(model) ?? []), gpu]);
    }
    for (const [model, free] of byModel) {
      const settled = free.filter((gpu) => !isFresh(gpu));
      const gpus = [...settled, ...free.filter(isFresh)];
      const counted = settled.length ? settled : free;
      const short = counted.length < wanted;
      const { name } = node.record;
      const sinces = counted.flatMap(({ record }) => record.since ?? []);
      const since = boundOf(counted);
      const isSeen = sinces.length < counted.length;
      const fresh = gpus.length - settled.length;
      found.push({
        offer: { key: `${name} ${model}`, node, gpus, fresh, chosen: 0, since, isSeen, until: null },
        rank: [
          Number(!settled.length),
          Number(short),
          short ? -counted.length : counted.length,
          Math.min(...free.map(({ record }) => record.memory_total_bytes ?? Infinity)),
          Math.max(0, ...sinces),
          name,
          model,
        ],
      });
    }
  }
  const suffices = ({ offer }: (typeof found)[number]) => offer.gpus.length >= wanted;
  if (oneNode && found.some(suffices)) found = found.filter(suffices);
  return chosen(
    found.sort((a, b) => compare(a.rank, b.rank)).map(({ offer }) => offer),
    wanted,
  );
}

/** Offers as the board has told them, which knows what is booked to come: its order of nodes, of GPUs, its choice. */
export function asTold(offers: Offer[], told: FreeAnswer, wanted: number): Offer[] {
  const places = new Map(told.blocks.map(({ node, model }, at) => [`${node} ${model ?? ''}`, at]));
  const place = ({ key }: Offer) => places.get(key) ?? places.size;
  const ordered = offers.map((offer) => {
    const block = told.blocks[place(offer)];
    if (!block) return offer;
    const ranks = new Map(block.uuids.map((uuid, at) => [uuid, at]));
    const rank = ({ record: { uuid } }: Gpu) => ranks.get(uuid) ?? ranks.size;
    return { ...offer, gpus: offer.gpus.toSorted((a, b) => rank(a) - rank(b)), until: block.free_until };
  });
  return chosen(
    ordered.sort((a, b) => place(a) - place(b)),
    wanted,
  );
}

/** Offers with how many to take of each: all that is wanted, or what those before have left of it. */
function chosen(offers: Offer[], wanted: number): Offer[] {
  let left = wanted;
  return offers.map((offer) => {
    const size = offer.gpus.length;
    if (size >= wanted) return { ...offer, chosen: wanted };
    const taken = Math.min(size, left);
    left -= taken;
    return { ...offer, chosen: taken };
  });
}

/** Since when at least all of them are free; null: of one nobody can tell. */
function boundOf(gpus: Gpu[]): number | null {
  const bounds = gpus.map(({ record }) => record.since ?? record.reason.values['seen_since']);
  return bounds.every((bound) => typeof bound === 'number') ? Math.max(...bounds) : null;
}

function compare(a: (number | string)[], b: (number | string)[]): number {
  const place = a.findIndex((value, at) => value !== b[at]);
  return place < 0 ? 0 : a[place]! < b[place]! ? -1 : 1;
}

// What is printed on boxes, in GB; where two are close, the smaller: it is asked for with "at least".
const BOXES = [4, 6, 8, 10, 11, 12, 16, 20, 24, 32, 40, 48, 64, 80, 94, 128, 141, 180, 256, 288];

// What people ask for, whether or not a card has just that: half of an 80 GB card, or the smaller of two.
const ASKED = [40];

/** The sizes of memory that the fleet has and what lies between them, as people say them; `share` of a box is what cards tell at least. */
export function sizesOf(gpus: Iterable<Gpu>, share: number): number[] {
  // Thousands of cards have a handful of sizes.
  const told = new Set<number>();
  for (const { record } of gpus) if (record.counted) told.add(record.memory_total_bytes ?? 0);
  const found = new Set<number>();
  for (const bytes of told) {
    const box = BOXES.findLast((each) => bytes / 2 ** 30 >= share * each);
    if (box) found.add(box);
  }
  const [least, most] = [Math.min(...found), Math.max(...found)];
  for (const size of ASKED) if (least < size && size < most) found.add(size);
  return [...found].sort((a, b) => a - b);
}
