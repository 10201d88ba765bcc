/** Stretches of time on a plot: which, how finely, and where nobody looked. Pure. */

import type { PastSpan, StateView } from '../api/history';
import type { VerdictWord } from '../api/wire';

export const RANGES = {
  '1h': 3600,
  '24h': 86_400,
  '7d': 604_800,
  '30d': 2_592_000,
  '1y': 31_536_000,
} as const;
export type RangeName = keyof typeof RANGES;

// Ten seconds are the finest that is kept: below this a plot is a handful of points.
const SHORTEST_SECONDS = 300;
const PIXELS_A_POINT = 3;

export function rangeOf(text: string | null): RangeName {
  return text !== null && Object.hasOwn(RANGES, text) ? (text as RangeName) : '24h';
}

/** The range that ends now; or that has a moment of the past in its middle, as far as now allows. */
export function spanOf(range: RangeName, now: number, around: number | null = null): PastSpan {
  const length = RANGES[range];
  const to = around === null ? now : Math.min(now, around + length / 2);
  return { from: to - length, to };
}

/** So long and no longer, not before the first moment and not after the last. */
export function within({ from, to }: PastSpan, limits: PastSpan): PastSpan {
  const length = Math.min(
    Math.max(to - from, SHORTEST_SECONDS),
    Math.max(SHORTEST_SECONDS, limits.to - limits.from),
  );
  const middle = (from + to) / 2;
  const end = Math.min(limits.to, Math.max(middle + length / 2, limits.from + length));
  return { from: end - length, to: end };
}

/** `factor` below 1 looks closer; what is at `around` stays where it is. */
export function zoomed({ from, to }: PastSpan, factor: number, around: number, limits: PastSpan): PastSpan {
  return within({ from: around - (around - from) * factor, to: around + (to - around) * factor }, limits);
}

/** A share of what is shown to the left (below 0) or right. */
export function panned({ from, to }: PastSpan, share: number, limits: PastSpan): PastSpan {
  const by = (to - from) * share;
  return within({ from: from + by, to: to + by }, limits);
}

/** As many points as the eye can tell apart. */
export function pointsFor(width: number): number {
  return Math.max(60, Math.min(600, Math.round(width / PIXELS_A_POINT)));
}

/** How often it is worth asking again for what ends now. */
export function refreshSeconds({ from, to }: PastSpan): number {
  return Math.max(10, Math.min(600, (to - from) / 360));
}

/** Where nobody looked: runs of points without a value. */
export function gapsIn(times: number[], step: number, values: (number | null)[]): PastSpan[] {
  const gaps: PastSpan[] = [];
  times.forEach((time, place) => {
    if (values[place] !== null && values[place] !== undefined) return;
    const last = gaps.at(-1);
    if (last && time - last.to < step / 2) last.to = time + step;
    else gaps.push({ from: time, to: time + step });
  });
  return gaps;
}

/**
 * What of the gaps lies in a span. Before the first record nobody looked, to its very moment: the point in which it
 * lies begins earlier.
 */
export function gapsOf(gaps: PastSpan[], step: number, span: PastSpan, since: number | null): PastSpan[] {
  return gaps
    .map((gap) => {
      const isBefore = since !== null && gap.to <= since && since - gap.to < step;
      return overlap(isBefore ? { from: gap.from, to: since } : gap, span);
    })
    .filter(({ from, to }) => to > from);
}

/** The place of the point in which a moment lies; -1 if in none. */
export function pointAt(times: number[], step: number, at: number): number {
  const place = times.findLastIndex((time) => time <= at);
  // The very end belongs to the last one.
  return place >= 0 && at <= times[place]! + step ? place : -1;
}

/** What was so at a moment; the very end of what is known belongs to the last. */
export function stateAt(states: StateView[], at: number): StateView | null {
  const last = states.at(-1);
  return states.find(({ from, to }) => from <= at && at < to) ?? (last?.to === at ? last : null);
}

/** What was so in a stretch, each state once, the longest first. */
export function statesIn(states: StateView[], { from, to }: PastSpan): StateView[] {
  const sums = new Map<string, { state: StateView; seconds: number }>();
  for (const state of states) {
    const seconds = Math.min(state.to, to) - Math.max(state.from, from);
    if (seconds <= 0) continue;
    const key = `${state.verdict} ${(state.users ?? ['?']).join()}`;
    sums.set(key, { state, seconds: seconds + (sums.get(key)?.seconds ?? 0) });
  }
  return [...sums.values()].sort((a, b) => b.seconds - a.seconds).map(({ state }) => state);
}

// Of what goes on, the last moments are always on their way still.
const LAG_SHARE = 0.05;

/** Whether an answer is about what is shown, or about what was shown before. */
export function covers(answer: PastSpan | null, { from, to }: PastSpan): boolean {
  const lag = Math.max(90, (to - from) * LAG_SHARE);
  return answer !== null && answer.from <= from + lag && answer.to >= to - lag;
}

export function overlap(one: PastSpan, other: PastSpan): PastSpan {
  const from = Math.max(one.from, other.from);
  return { from, to: Math.max(from, Math.min(one.to, other.to)) };
}

/** Whether most of a stretch lies in others, which do not overlap. */
export function isMostlyIn(stretch: PastSpan, others: PastSpan[]): boolean {
  const inside = others.reduce((sum, each) => {
    const { from, to } = overlap(stretch, each);
    return sum + to - from;
  }, 0);
  return inside > 0 && 2 * inside >= stretch.to - stretch.from;
}

/** Parts of a whole in whole units, which add up to it: what is cut off goes to those that lose most. */
export function wholeUnits(parts: number[], all: number): number[] {
  const units = parts.map(Math.floor);
  const order = parts
    .map((part, place) => ({ place, rest: part - Math.floor(part) }))
    .sort((a, b) => b.rest - a.rest);
  let left = Math.round(all) - units.reduce((sum, unit) => sum + unit, 0);
  for (const { place } of order) if (left-- > 0) units[place]!++;
  return units;
}

/** Kinds of time; whatever is left was not observed. */
export type Kind = 'used' | 'idle' | 'booked' | 'free' | 'broken' | 'unobserved';
const KINDS: Partial<Record<VerdictWord, Kind>> = {
  busy: 'used',
  idle: 'idle',
  booked: 'booked',
  free: 'free',
  broken: 'broken',
};

export function kindOf(verdict: VerdictWord | null): Kind {
  return (verdict && KINDS[verdict]) ?? 'unobserved';
}

/** How long of each kind; they add up to the span. */
export function secondsByKind(states: StateView[], span: PastSpan): Record<Kind, number> {
  const sums: Record<Kind, number> = { used: 0, idle: 0, booked: 0, free: 0, broken: 0, unobserved: 0 };
  let left = span.to - span.from;
  for (const { from, to, verdict } of states) {
    const seconds = Math.max(0, Math.min(to, span.to) - Math.max(from, span.from));
    const kind = kindOf(verdict);
    if (kind === 'unobserved') continue;
    sums[kind] += seconds;
    left -= seconds;
  }
  sums.unobserved = Math.max(0, left);
  return sums;
}

/** A piece of the lane: its place and width as shares of the span. */
export interface Box {
  left: number;
  width: number;
  kind: Kind;
  users: string[];
  from: number;
  to: number;
}

/**
 * The lane of who was on a GPU. Pieces that nobody could see are one, called by what was so longest in it: a month of
 * short jobs is no more boxes than there are pixels.
 */
export function lane(states: StateView[], span: PastSpan, width: number): Box[] {
  const length = span.to - span.from;
  const least = (1.5 * length) / Math.max(1, width);
  const boxes: Box[] = [];
  for (const pieces of groups(states, span, least)) {
    const [from, to] = [pieces[0]!.from, pieces.at(-1)!.to];
    const { verdict, users } = statesIn(pieces, span)[0]!;
    const box = { left: 0, width: 0, kind: kindOf(verdict), users: users ?? [], from, to };
    const last = boxes.at(-1);
    const same = last?.kind === box.kind && last.users.join() === box.users.join();
    if (last && same && from - last.to < least) last.to = to;
    else boxes.push(box);
  }
  for (const box of boxes) {
    box.left = (box.from - span.from) / length;
    box.width = (box.to - box.from) / length;
  }
  return boxes;
}

/** What is seen within a span, piece by piece; those that follow each other until they are long enough to be seen. */
function groups(states: StateView[], span: PastSpan, least: number): StateView[][] {
  const found: StateView[][] = [];
  for (const state of states) {
    const piece = { ...state, from: Math.max(state.from, span.from), to: Math.min(state.to, span.to) };
    if (piece.to <= piece.from || kindOf(piece.verdict) === 'unobserved') continue;
    const group = found.at(-1);
    const end = group?.at(-1)!.to ?? -Infinity;
    if (group && piece.from - end < least && end - group[0]!.from < least) group.push(piece);
    else found.push([piece]);
  }
  return found;
}
