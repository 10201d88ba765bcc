/** What can be booked when: bookings and GPUs in, gaps and clashes out. Pure; the board decides. */

import type { BookedPlaces, BookingList, BookingView } from '../api/bookings';
import type { GpuRow } from '../api/wire';
import { folded, isSamePerson, usersOf } from './people';

export const HOUR = 3600;
/** So far the page looks. */
export const AHEAD_SECONDS = 14 * 86_400;

/** What begins sooner begins now, on a GPU where somebody else is; as the board has it. */
export const SOON_SECONDS = HOUR / 4;

/** Somebody has a GPU from a start until an end. */
export interface Hold {
  number: number;
  who: string | null;
  /** Anybody may have typed the name. */
  is_unverified?: boolean;
  start: number;
  end: number;
}

export interface Span {
  start: number;
  end: number;
}

/** How long two spans are both there. */
export const shared = (one: Span, other: Span): number =>
  Math.max(0, Math.min(one.end, other.end) - Math.max(one.start, other.start));

/** Whether it is to come, or runs. */
export const isOpen = ({ state }: BookingView) => state === 'upcoming' || state === 'running';

/** GPUs as places to book: an instance of a card goes with its card. */
export const cardsOf = (gpus: readonly GpuRow[]): GpuRow[] =>
  gpus.filter((gpu) => gpu.mig_parent_uuid === null);

/** Who has what of a node: what is booked, and what the live rows say beyond that; `except` is not counted. */
export function holdsOf(
  node: string,
  bookings: readonly BookingView[],
  gpus: readonly GpuRow[],
  now: number,
  except: BookingView | null = null,
): Hold[] {
  const cards = cardsOf(gpus);
  const holdsBy = ({ places, who, start, end }: BookingView): Hold[] =>
    places
      .filter((place) => place.node === node)
      .flatMap((place) => place.gpus ?? cards.map(({ index }) => index))
      .map((number) => ({ number, who, start, end }));
  const isExcept = ({ id }: BookingView) => except !== null && id === except.id;
  const open = bookings.filter(isOpen);
  const found = open.filter((one) => !isExcept(one)).flatMap(holdsBy);
  // As it is now, and as it was when it was opened: the rows may know either. By the board's word it runs, for
  // `now` may be of the minute before.
  const versions = except ? [except, ...open.filter(isExcept)] : [];
  const own = versions.filter(({ state }) => state === 'running').flatMap(holdsBy);
  const isTold = (number: number, end: number) =>
    found.some((hold) => hold.number === number && hold.start <= now && hold.end >= end) ||
    own.some((hold) => hold.number === number && hold.end === end);
  for (const { claim, index } of cards)
    for (const { who, until, is_unverified } of claim ? [claim, ...claim.behind] : []) {
      const end = until ?? Infinity;
      if (!isTold(index, end)) found.push({ number: index, who, is_unverified, start: 0, end });
    }
  return found;
}

// So a list that is asked for again and again is the same question for a while.
const STEP_SECONDS = 300;

/** What is listed of everybody's bookings: what has just ended is seen for a while. */
export function listedSpan(now: number): Span {
  const start = Math.floor(now / STEP_SECONDS) * STEP_SECONDS - HOUR;
  return { start, end: start + HOUR + AHEAD_SECONDS };
}

// So far ahead anybody may book; as the board has it.
const FARTHEST_SECONDS = 5 * 366 * 86_400;

/** What is listed of one's own bookings: all that is to come. */
export function ownSpan(now: number): Span {
  const { start } = listedSpan(now);
  return { start, end: start + HOUR + FARTHEST_SECONDS };
}

/** From when on a list that was cut tells nothing; null: it is whole. */
export const toldUntil = ({ bookings, is_cut }: Pick<BookingList, 'bookings' | 'is_cut'>): number | null =>
  is_cut ? Math.max(...bookings.map(({ start }) => start)) : null;

/** What is known of bookings, with what the board has just answered to a change: nobody waits for the next list. */
export function withChanged(known: readonly BookingView[], changed: readonly BookingView[]): BookingView[] {
  const news = new Map(changed.map((one) => [one.id, one]));
  const kept = known.map((one) => {
    const now = one.id === null ? undefined : news.get(one.id);
    return now ? { ...one, ...now } : one;
  });
  const ids = new Set(known.map(({ id }) => id));
  return [...kept, ...changed.filter(({ id }) => !ids.has(id))];
}

/** What is in the way of a span on one GPU, the first first. */
export function clashOn(number: number, { start, end }: Span, holds: readonly Hold[]): Hold | null {
  const found = holds.filter((hold) => hold.number === number && hold.start < end && hold.end > start);
  return found.sort((a, b) => a.start - b.start)[0] ?? null;
}

/** Why a GPU cannot be had for a span. */
export type Obstacle =
  | { kind: 'clash'; hold: Hold }
  | { kind: 'in-use'; who: string | null }
  | { kind: 'away'; word: 'stale' | 'broken' };

/** Who looks when. */
export interface About {
  me: string | null;
  now: number;
  /** When the next day begins for the board, which refuses by that; Infinity: it has not said yet. */
  tomorrow: number;
}

/** The start of the next day on the viewer's clocks. */
export function tomorrow(now: number): number {
  const day = new Date(now * 1000);
  return new Date(day.getFullYear(), day.getMonth(), day.getDate() + 1).getTime() / 1000;
}

/** What is the matter with a GPU that may not be there now, nor then; null: nothing. */
export const awayWord = ({ verdict }: GpuRow): 'stale' | 'broken' | null =>
  verdict === 'stale' || verdict === 'broken' ? verdict : null;

/** GPUs of one node of which one thing is true; null: of a node that has told nothing all of it. */
export interface Away {
  node: string;
  gpus: readonly number[] | null;
  word: 'stale' | 'broken';
}

/** What may not be there of these places, of each node once. */
export function awayOn(
  places: readonly { node: string; gpus: readonly number[] }[],
  rowsOf: (node: string) => readonly GpuRow[],
): Away[] {
  return places.flatMap(({ node, gpus }) =>
    (['stale', 'broken'] as const).flatMap((word) => {
      const rows = cardsOf(rowsOf(node)).filter((gpu) => gpus.includes(gpu.index) && awayWord(gpu) === word);
      return rows.length ? [{ node, gpus: rows.map(({ index }) => index), word }] : [];
    }),
  );
}

export function obstacleOf(
  gpu: GpuRow,
  span: Span,
  holds: readonly Hold[],
  { me, now, tomorrow }: About,
): Obstacle | null {
  const hold = clashOn(gpu.index, span, holds);
  if (hold) return { kind: 'clash', hold };
  const { verdict, users } = gpu;
  const word = awayWord(gpu);
  if (word && span.start < tomorrow) return { kind: 'away', word };
  if (span.start >= now + SOON_SECONDS || (verdict !== 'busy' && verdict !== 'idle')) return null;
  // Whoever has it until then will have left.
  const leaving = holds.filter((one) => one.number === gpu.index && one.start <= now && one.end > now);
  const others = users?.filter(
    ({ name }) =>
      !isSamePerson(name, me) && !leaving.some(({ who }) => who !== null && isSamePerson(name, who)),
  );
  if (others && !others.length) return null;
  return { kind: 'in-use', who: others?.[0]?.name ?? null };
}

/** From when on nothing is in the way of all of these for so long. */
export function nextGap(
  gpus: readonly GpuRow[],
  { start: from, end }: Span,
  holds: readonly Hold[],
  about: About,
): number | null {
  const seconds = end - from;
  const fits = (start: number) =>
    gpus.every((gpu) => !obstacleOf(gpu, { start, end: start + seconds }, holds, about));
  return startsFrom(from, holds, about).find((start) => start < from + AHEAD_SECONDS && fits(start)) ?? null;
}

/** From when on a GPU can be booked that somebody is on, with time to read that and to press. */
const unhurried = (now: number) =>
  Math.ceil((now + SOON_SECONDS + STEP_SECONDS) / STEP_SECONDS) * STEP_SECONDS;

/** When something in the way may be over, the first first. */
export function startsFrom(
  from: number,
  holds: readonly Hold[],
  { now, tomorrow }: { now: number; tomorrow: number },
): number[] {
  // Who is on it now may leave at any time: nobody can tell, so such a GPU is offered once a booking would hold.
  const starts = [from, unhurried(now), tomorrow, ...holds.map(({ end }) => end)];
  return [...new Set(starts)].filter((start) => start >= from).sort((a, b) => a - b);
}

/** A GPU like this one that nothing is in the way of. */
export function spareFor(
  gpu: GpuRow,
  others: readonly GpuRow[],
  span: Span,
  holds: readonly Hold[],
  about: About,
): GpuRow | null {
  const memory = gpu.memory_total_bytes ?? 0;
  const isLike = (other: GpuRow) => other.counted && (other.memory_total_bytes ?? 0) >= memory;
  return others.find((other) => isLike(other) && !obstacleOf(other, span, holds, about)) ?? null;
}

/** Usual ends: what they are called, and when they are. */
export interface Length {
  key: '2h' | '4h' | 'tonight' | 'tomorrow';
  end: number;
}

export function lengthsFrom(start: number): Length[] {
  const day = new Date(start * 1000);
  const at = (days: number, hour: number) =>
    new Date(day.getFullYear(), day.getMonth(), day.getDate() + days, hour).getTime() / 1000;
  const evening = at(0, 18);
  return [
    { key: '2h', end: start + 2 * HOUR },
    { key: '4h', end: start + 4 * HOUR },
    // Not when it is about to begin, or over.
    ...(evening - start >= HOUR / 2 ? [{ key: 'tonight', end: evening } as const] : []),
    { key: 'tomorrow', end: at(1, 9) },
  ];
}

const pad = (figure: number) => String(figure).padStart(2, '0');

/** A moment as a field for day and time has it, on the viewer's clocks. */
export function fieldText(at: number): string {
  const day = new Date(at * 1000);
  const date = [day.getFullYear(), pad(day.getMonth() + 1), pad(day.getDate())].join('-');
  return `${date}T${pad(day.getHours())}:${pad(day.getMinutes())}`;
}

export function fieldMoment(text: string): number | null {
  const at = new Date(text).getTime() / 1000;
  return text && Number.isFinite(at) ? at : null;
}

/** "gpu01 · 0, 1", or only the node where all of it is booked. */
export const placesText = (places: readonly BookedPlaces[], whole: string): string =>
  places.map(({ node, gpus }) => `${node} · ${gpus ? gpus.join(', ') : whole}`).join('; ');

/** Who is on these places now, each once; whoever looks is no news. Nobody where names are hidden. */
export function peopleOn(
  places: readonly BookedPlaces[],
  rowsOf: (node: string) => readonly GpuRow[],
  me: string | null,
): string[] {
  const names = places.flatMap((place) => bookedRows(place, rowsOf(place.node)).flatMap(usersOf));
  const found = new Map(names.map((name) => [folded(name), name]));
  return [...found.values()].filter((name) => !isSamePerson(name, me));
}

/** The GPUs of a node that are booked: cards, and the instances of those that are cut. */
export function bookedRows({ gpus }: BookedPlaces, rows: readonly GpuRow[]): GpuRow[] {
  const cards = cardsOf(rows).filter(({ index }) => gpus?.includes(index) ?? true);
  const uuids = new Set(cards.map(({ uuid }) => uuid));
  return rows.filter(({ uuid, mig_parent_uuid }) => uuids.has(mig_parent_uuid ?? uuid));
}
