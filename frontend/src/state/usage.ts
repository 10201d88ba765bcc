/** GPU-hours as they are written: in whole units that add up. Pure. */

import type { UsageAnswer, UsageRow, UsageTotal } from '../api/usage';
import { wholeUnits, type Kind } from './span';

export const HOUR_MS = 3_600_000;
// Of fewer hours than these, tenths are told.
const MANY_HOURS = 1000;

/** All six, in the order in which they are drawn. */
export const KINDS: readonly Kind[] = ['used', 'idle', 'booked', 'free', 'broken', 'unobserved'];

export const timesOf = (total: UsageTotal): Record<Kind, number> => ({
  used: total.used_ms,
  idle: total.idle_ms,
  booked: total.booked_ms,
  free: total.free_ms,
  broken: total.broken_ms,
  unobserved: total.unobserved_ms,
});

/** In how many milliseconds one counts: hours, or tenths of them where those are few. */
export const unitOf = ({ span_ms }: UsageTotal): number =>
  span_ms < MANY_HOURS * HOUR_MS ? HOUR_MS / 10 : HOUR_MS;

/** Parts of a whole that is `all`, each in whole units; what is cut off goes to those that lose most. */
export function shared(parts: number[], all: number): number[] {
  const sum = parts.reduce((one, other) => one + other, 0);
  return sum > 0
    ? wholeUnits(
        parts.map((part) => (part / sum) * all),
        all,
      )
    : parts.map(() => 0);
}

export interface KindLine {
  kind: Kind;
  ms: number;
  /** Tenths of a percent; of all six together they are 1,000. */
  tenths: number;
  hours: number;
}

/** How much of the time was observed, in tenths of a percent: rounded down, as the board does in words, so that 100.0 % is all. */
export const observedTenths = ({ span_ms, unobserved_ms }: UsageTotal): number =>
  span_ms ? Math.floor((1000 * (span_ms - unobserved_ms)) / span_ms) : 0;

/** What the time was, kind by kind; percent and hours add up to 100.0 and to the whole. */
export function kindLines(total: UsageTotal): KindLine[] {
  const times = timesOf(total);
  const parts = KINDS.map((kind) => times[kind]);
  const unit = unitOf(total);
  // The last is what was not observed: it has what the share that was observed leaves.
  const seen = observedTenths(total);
  const tenths = [...shared(parts.slice(0, -1), seen), total.span_ms ? 1000 - seen : 0];
  const units = shared(parts, Math.round(total.span_ms / unit));
  return KINDS.map((kind, place) => ({
    kind,
    ms: times[kind],
    tenths: tenths[place]!,
    hours: (units[place]! * unit) / HOUR_MS,
  }));
}

/** One line of the table. */
export interface UsageLine {
  row: UsageRow;
  /** Hours as they are written. */
  used: number;
  idle: number;
  booked: number;
  /** Tenths of a percent of all that was used. */
  share: number;
  /** Whether so much was held idle, or booked and left unused, that somebody should ask. */
  isIdle: boolean;
  isUnused: boolean;
  /** Against the span before: percent, or null where nothing can be compared. */
  change: number | null;
  people: UsageLine[];
}

const IDLE_SHARE = 1 / 4;
const UNUSED_SHARE = 1 / 10;

export interface UsageLines {
  lines: UsageLine[];
  /** All together, as written in the last line and above the bar. */
  used: number;
  idle: number;
  booked: number;
}

/** Lines whose hours add up to the last one's, each with those of its people, which add up to it. */
export function usageLines(rows: UsageRow[], total: UsageTotal): UsageLines {
  const unit = unitOf(total);
  const told = Object.fromEntries(kindLines(total).map(({ kind, hours }) => [kind, hours]));
  const whole = (kind: 'used' | 'idle' | 'booked') => {
    const sum = rows.reduce((all, row) => all + row[`${kind}_ms`], 0);
    return Math.round(sum === total[`${kind}_ms`] ? (told[kind]! * HOUR_MS) / unit : sum / unit);
  };
  const used = rows.reduce((sum, row) => sum + row.used_ms, 0);
  const share = total.used_ms ? Math.round((1000 * used) / total.used_ms) : 0;
  const all = { used: whole('used'), idle: whole('idle'), booked: whole('booked'), share };
  return { lines: linesWithin(rows, unit, all), used: told.used!, idle: told.idle!, booked: told.booked! };
}

export type WorthColumnName =
  'reserved_ms' | 'reserved_used_ms' | 'weighted_ms' | 'price' | 'memory_gib_hours';
type Worth = UsageRow | UsageTotal;

/** Weighted time in whole units: what is written of the time that is weighed, with what the weights add to it; so a
 * weight of 1 changes no figure. */
export function roundedWeighted(answer: UsageAnswer): Map<Worth, number> {
  const { rows, total } = answer;
  const added = (row: Worth) =>
    row.weighted_ms === null ? null : row.weighted_ms - row.used_ms - row.idle_ms - row.booked_ms;
  const unit = unitOf(total);
  const found = roundedBy(answer, added, unit);
  const plain = ({ used, idle, booked }: Pick<UsageLine, 'used' | 'idle' | 'booked'>) =>
    Math.round(((used + idle + booked) * HOUR_MS) / unit);
  const sums = usageLines(rows, total);
  const write = (row: Worth, count: number) => {
    const more = found.get(row);
    if (more !== undefined) found.set(row, count + more);
  };
  write(total, plain(sums));
  for (const line of sums.lines) for (const one of [line, ...line.people]) write(one.row, plain(one));
  return found;
}

/** One figure of every row and of all together in whole units: rows add up to the last line, people to their group. */
export const roundedWorth = (answer: UsageAnswer, key: WorthColumnName, unit: number): Map<Worth, number> =>
  roundedBy(answer, (row) => row[key], unit);

function roundedBy(
  { rows, total }: UsageAnswer,
  read: (row: Worth) => number | null,
  unit: number,
): Map<Worth, number> {
  const found = new Map<Worth, number>();
  const divide = (some: UsageRow[], whole: number | null, units: number) => {
    const known = some.filter((row) => read(row) !== null);
    // A half is one, also of floats that are next to nothing below it.
    const parts = known.map((row) => Number((read(row)! / unit).toFixed(6)));
    const sum = parts.reduce((one, other) => one + other, 0);
    // Where these are not all there is, there is nothing to add up; floats are added up to next to nothing.
    const isAll = whole !== null && Math.abs(sum - whole / unit) < 1e-3;
    const counts = wholeUnits(parts, isAll ? units : Math.round(sum));
    known.forEach((row, place) => {
      found.set(row, counts[place]!);
      divide(row.people ?? [], read(row), counts[place]!);
    });
  };
  const whole = read(total);
  const units = Math.round(Number(((whole ?? 0) / unit).toFixed(6)));
  if (whole !== null) found.set(total, units);
  divide(rows, whole, units);
  return found;
}

type Units = Record<'used' | 'idle' | 'booked' | 'share', number>;

function linesWithin(rows: UsageRow[], unit: number, all: Units): UsageLine[] {
  const columns = {
    used: shared(
      rows.map((row) => row.used_ms),
      all.used,
    ),
    idle: shared(
      rows.map((row) => row.idle_ms),
      all.idle,
    ),
    booked: shared(
      rows.map((row) => row.booked_ms),
      all.booked,
    ),
    share: shared(
      rows.map((row) => row.used_ms),
      all.share,
    ),
  };
  return rows.map((row, place) => {
    const [used, idle] = [columns.used[place]!, columns.idle[place]!];
    const units = { used, idle, booked: columns.booked[place]!, share: columns.share[place]! };
    return {
      row,
      used: (units.used * unit) / HOUR_MS,
      idle: (units.idle * unit) / HOUR_MS,
      booked: (units.booked * unit) / HOUR_MS,
      share: units.share,
      isIdle: units.idle > 0 && row.idle_ms > row.used_ms * IDLE_SHARE,
      isUnused: units.booked > 0 && row.booked_ms > row.used_ms * UNUSED_SHARE,
      change: changeOf(row.used_ms, row.previous_used_ms ?? null),
      people: linesWithin(row.people ?? [], unit, units),
    };
  });
}

/** By how many percent more or less than before; null: there was nothing, or nobody knows. */
export function changeOf(now: number, before: number | null): number | null {
  return before ? Math.round((100 * now) / before - 100) : null;
}
