/** Bookings as boxes in lanes, one lane for each GPU of a node; and a folded node as one line. Pure. */

import type { BookingView } from '../api/bookings';
import type { GpuRow } from '../api/wire';
import { isOn } from './agenda';
import { isOpen, type Hold, type Span } from './booking';
import { isSamePerson } from './people';

/** What a box looks like. */
export type Look = 'mine' | 'others' | 'past' | 'no-show' | 'block';

/** A booking, or what is claimed without one: anybody may have typed that. */
export type LaneBooking = BookingView & { is_unverified?: boolean };

/** A booking of neighbouring lanes; one of others has a box for each run of neighbours. */
export interface LaneBox extends Span {
  key: string;
  booking: LaneBooking;
  look: Look;
  /** The place of its first lane, and how many they are. */
  first: number;
  count: number;
  /** How many boxes stand before it at the same place and time. */
  depth: number;
}

export interface Seen {
  me: string | null;
  now: number;
}

const touches = (one: Span, other: Span) => one.start < other.end && one.end > other.start;

/** Whose it is and what became of it, for the eye. */
export function lookOf(booking: BookingView, { me, now }: Seen): Look {
  if (booking.kind === 'block') return 'block';
  if (!isOpen(booking) || booking.end <= now) return 'past';
  if (booking.no_show) return 'no-show';
  // What is claimed without a booking has no id: anybody may have typed it.
  return booking.is_mine || (booking.id !== null && isSamePerson(booking.who, me)) ? 'mine' : 'others';
}

/** What is claimed now by what is no booking; nobody knows since when, so it begins at nothing. */
export function claimsOf(lanes: readonly GpuRow[], bookings: readonly BookingView[]): LaneBooking[] {
  const found = new Map<string, LaneBooking>();
  for (const { claim, index, node } of lanes) {
    if (!claim || bookings.some((one) => isOn(one, node, index) && isClaim(one, claim.until))) continue;
    const key = `${claim.who} ${claim.until}`;
    const known = found.get(key)?.places[0]?.gpus ?? [];
    found.set(key, {
      id: null,
      kind: 'booking',
      who: claim.who,
      places: [{ node, gpus: [...known, index] }],
      start: 0,
      end: claim.until ?? Infinity,
      state: 'running',
      outcome: null,
      comment: claim.comment,
      created_at: null,
      through: null,
      revision: null,
      is_mine: false,
      may_change: false,
      use: null,
      no_show: false,
      given_back_at: null,
      is_unverified: claim.is_unverified,
    });
  }
  return [...found.values()];
}

// One that has just begun is the claim already, whatever the clock here says.
const isClaim = (one: BookingView, until: number | null) =>
  isOpen(one) && (one.state === 'running' || one.end === until);

/** Runs of neighbours among the lanes that a booking has. */
function runsOf(booking: BookingView, lanes: readonly GpuRow[]): { first: number; count: number }[] {
  const runs: { first: number; count: number }[] = [];
  lanes.forEach(({ index, node }, place) => {
    if (!isOn(booking, node, index)) return;
    const last = runs.at(-1);
    if (last && last.first + last.count === place) last.count++;
    else runs.push({ first: place, count: 1 });
  });
  return runs;
}

// What holds stands before what does not.
const RANKS: Look[] = ['block', 'mine', 'others', 'no-show', 'past'];

/** The boxes of a node that have something of a span, by their begin. */
export function boxesOf(
  lanes: readonly GpuRow[],
  bookings: readonly LaneBooking[],
  span: Span,
  seen: Seen,
): LaneBox[] {
  const boxes: LaneBox[] = [];
  bookings.forEach((booking, order) => {
    const { end } = booking;
    // What begins nobody knows when is shown from now on.
    const start = booking.start || seen.now;
    if (end <= start || !touches({ start, end }, span)) return;
    const look = lookOf(booking, seen);
    for (const { first, count } of runsOf(booking, lanes))
      boxes.push({
        key: `${booking.id ?? `#${order}`} ${first}`,
        booking,
        look,
        first,
        count,
        start,
        end,
        depth: 0,
      });
  });
  boxes.sort((a, b) => RANKS.indexOf(a.look) - RANKS.indexOf(b.look) || a.start - b.start);
  boxes.forEach((box, place) => {
    const before = boxes.slice(0, place).filter((other) => shareLanes(box, other) && touches(box, other));
    box.depth = before.reduce((most, { depth }) => Math.max(most, depth + 1), 0);
  });
  return boxes.sort((a, b) => a.start - b.start || a.first - b.first);
}

const shareLanes = (one: LaneBox, other: LaneBox) =>
  one.first < other.first + other.count && one.first + one.count > other.first;

/** A stretch of a folded node: how many of its GPUs are booked, and by whoever looks. */
export interface BookedShare extends Span {
  count: number;
  mine: number;
  isPast: boolean;
}

/** A folded node, from change to change; stretches with nothing are left out, as are blocks. */
export function stretchesOf(boxes: readonly LaneBox[], span: Span, now: number): BookedShare[] {
  const booked = boxes.filter(({ look }) => look !== 'block');
  const edges = new Set<number>();
  for (const { start, end } of booked) edges.add(Math.max(start, span.start)).add(Math.min(end, span.end));
  if (edges.size && now > span.start && now < span.end) edges.add(now);
  const order = [...edges].sort((a, b) => a - b);
  const found: BookedShare[] = [];
  order.slice(0, -1).forEach((start, place) => {
    const end = order[place + 1]!;
    const here = booked.filter((box) => touches(box, { start, end }));
    const count = sum(here);
    if (!count) return;
    const mine = sum(here.filter(({ look, booking }) => look === 'mine' || (booking.is_mine && end > now)));
    found.push({ start, end, count, mine, isPast: end <= now });
  });
  return found;
}

const sum = (boxes: readonly LaneBox[]) => boxes.reduce((all, { count }) => all + count, 0);

/** The stretch around a moment in which nobody has a GPU; null: somebody has it then. */
export function gapAt(number: number, at: number, holds: readonly Hold[], now: number): Span | null {
  const here = holds.filter((hold) => hold.number === number);
  if (at < now || here.some(({ start, end }) => start <= at && end > at)) return null;
  const start = here.reduce((last, { end }) => (end <= at ? Math.max(last, end) : last), now);
  const end = here.reduce((first, hold) => (hold.start > at ? Math.min(first, hold.start) : first), Infinity);
  return { start, end };
}

/** What an empty place offers: the usual length from the start of its gap, or from there if that is far. */
export function offerAt(at: number, gap: Span, seconds: number): Span {
  const start = at - gap.start < seconds ? gap.start : at;
  return { start, end: Math.min(gap.end, start + seconds) };
}
