/** Weeks, months, quarters and years of the board's own calendar, as spans of time. Pure. */

import type { PastSpan } from '../api/history';

const DAY_MS = 86_400_000;
// The board counts no more weeks at once.
const MOST_DAYS = 732;

/** A day of a calendar; its month counts from 1. */
export interface Day {
  year: number;
  month: number;
  day: number;
}

export const PERIODS = ['week', 'month', 'quarter', 'year'] as const;
export type Period = (typeof PERIODS)[number];

/** A stretch of the calendar: from its first day to before the day that follows it. */
export interface Stretch {
  /** `dates`: from one day to another, as somebody chose. */
  period: Period | 'dates';
  first: Day;
  /** The day after the last. */
  next: Day;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known) return known;
  const parts = { year: 'numeric', month: 'numeric', day: 'numeric' } as const;
  const clock = { hour: 'numeric', minute: 'numeric', second: 'numeric', hourCycle: 'h23' } as const;
  const made = new Intl.DateTimeFormat('en-u-ca-iso8601', { ...parts, ...clock, timeZone: zone });
  // There are a handful: the viewer's and the board's.
  if (formats.size < 8) formats.set(zone, made);
  return made;
}

/** Whether this browser knows a zone by this name; a board may have one that it does not. */
export function isZone(zone: string | null | undefined): zone is string {
  try {
    return !!zone && !!formatOf(zone);
  } catch {
    return false;
  }
}

/** What the calendar and the clock on the wall say at a moment, as if that were UTC. */
function wall(at: number, zone: string): number {
  const found: Record<string, number> = {};
  for (const { type, value } of formatOf(zone).formatToParts(at)) found[type] = Number(value);
  const { year, month, day, hour, minute, second } = found as Record<string, number>;
  return Date.UTC(year!, month! - 1, day, hour, minute, second);
}

const offset = (at: number, zone: string) => wall(at, zone) - Math.floor(at / 1000) * 1000;

/** Whether the clocks of two zones show the same all through a span. */
export function isSameClock(one: string, other: string, { from, to }: PastSpan): boolean {
  return (
    one === other ||
    [from, (from + to) / 2, to].every((at) => offset(at * 1000, one) === offset(at * 1000, other))
  );
}

/** When a day begins, in Unix seconds; where that midnight is left out or comes twice, as the board reckons it. */
export function beginOf({ year, month, day }: Day, zone: string): number {
  const guess = Date.UTC(year, month - 1, day);
  const [before, after] = [offset(guess - DAY_MS, zone), offset(guess + DAY_MS, zone)];
  const isAfter = offset(guess - before, zone) !== before && offset(guess - after, zone) === after;
  return (guess - (isAfter ? after : before)) / 1000;
}

export function dayOf(at: number, zone: string): Day {
  return fromUtc(wall(at * 1000, zone));
}

function fromUtc(ms: number): Day {
  const date = new Date(ms);
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() };
}

const utcOf = ({ year, month, day }: Day) => Date.UTC(year, month - 1, day);

/** Days later, or earlier; months beyond the year are the next one's. */
export const shifted = (day: Day, days: number): Day => fromUtc(utcOf(day) + days * DAY_MS);
const firstOf = (year: number, month: number): Day => fromUtc(Date.UTC(year, month - 1, 1));
export const daysBetween = (one: Day, other: Day): number => (utcOf(other) - utcOf(one)) / DAY_MS;

/** The week (from Monday), month, quarter or year that a day is in. */
export function stretchOf(period: Period, day: Day): Stretch {
  if (period === 'week') {
    const first = shifted(day, -((new Date(utcOf(day)).getUTCDay() + 6) % 7));
    return { period, first, next: shifted(first, 7) };
  }
  const months = { month: 1, quarter: 3, year: 12 }[period];
  const month = Math.floor((day.month - 1) / months) * months + 1;
  return { period, first: firstOf(day.year, month), next: firstOf(day.year, month + months) };
}

/** The one before (-1) or behind (1); chosen dates move by as many days as they are. */
export function neighbour({ period, first, next }: Stretch, step: -1 | 1): Stretch {
  if (period !== 'dates') return stretchOf(period, step < 0 ? shifted(first, -1) : next);
  const days = daysBetween(first, next) * step;
  return { period, first: shifted(first, days), next: shifted(next, days) };
}

export const spanOfStretch = ({ first, next }: Stretch, zone: string): PastSpan => ({
  from: beginOf(first, zone),
  to: beginOf(next, zone),
});

/** Days on which the clocks of a zone change within a span, and by how many seconds they go forward. */
export function clockChanges({ from, to }: PastSpan, zone: string): { day: Day; seconds: number }[] {
  const found = [];
  for (let day = dayOf(from, zone); beginOf(day, zone) < to; day = shifted(day, 1)) {
    const begin = Math.max(from, beginOf(day, zone));
    const end = Math.min(to, beginOf(shifted(day, 1), zone));
    const seconds = (offset(end * 1000, zone) - offset(begin * 1000, zone)) / 1000;
    if (seconds) found.push({ day, seconds });
  }
  return found;
}

/** Of a stretch that goes on: the day of it that today is, of how many. Of one that is over or to come, null. */
export function soFar({ first, next }: Stretch, today: Day): { day: number; days: number } | null {
  const [days, day] = [daysBetween(first, next), daysBetween(first, today) + 1];
  return day >= 1 && day <= days ? { day, days } : null;
}

/** The number of a week by ISO 8601, with the year that it is of. */
export function weekOf(monday: Day): { year: number; week: number } {
  const thursday = shifted(monday, 3);
  const january = { year: thursday.year, month: 1, day: 1 };
  return { year: thursday.year, week: Math.floor(daysBetween(january, thursday) / 7) + 1 };
}

const two = (number: number) => String(number).padStart(2, '0');
export const dayText = ({ year, month, day }: Day) =>
  `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}`;

/** A day like 2026-10-25; null: it is none. */
export function parseDay(text: string | null): Day | null {
  const [, year, month, day] = (/^(\d{4})-(\d\d)-(\d\d)$/.exec(text ?? '') ?? []).map(Number);
  const found = year ? fromUtc(Date.UTC(year, month! - 1, day)) : null;
  return found && found.month === month && found.day === day ? found : null;
}

/** What stands in the address for it. */
export function queryOf(stretch: Stretch): Record<Period | 'from' | 'to', string | null> {
  const { period, first, next } = stretch;
  const none = { week: null, month: null, quarter: null, year: null, from: null, to: null };
  if (period === 'dates') return { ...none, from: dayText(first), to: dayText(shifted(next, -1)) };
  return { ...none, [period]: nameOf(stretch) };
}

/** Its short name: 2026-W42, 2026-10, 2026-Q4, 2026. */
export function nameOf({ period, first }: Stretch): string {
  if (period === 'month') return dayText(first).slice(0, 7);
  if (period === 'quarter') return `${first.year}-Q${(first.month + 2) / 3}`;
  if (period === 'year') return String(first.year);
  const { year, week } = weekOf(first);
  return `${year}-W${two(week)}`;
}

/** Two days of an address of which the last is before the first: no stretch is that. Else null. */
export function reversedDays(query: URLSearchParams): { from: Day; to: Day } | null {
  const [from, to] = [parseDay(query.get('from')), parseDay(query.get('to'))];
  return from && to && daysBetween(from, to) < 0 ? { from, to } : null;
}

/** What an address asks for; without a word (or with one that is none) the month that today is in. */
export function readStretch(query: URLSearchParams, today: Day): Stretch {
  const [from, to] = [parseDay(query.get('from')), parseDay(query.get('to'))];
  if (from && to && daysBetween(from, to) >= 0) {
    const days = Math.min(daysBetween(from, to) + 1, MOST_DAYS);
    return { period: 'dates', first: from, next: shifted(from, days) };
  }
  for (const period of PERIODS) {
    const found = parsePeriod(period, query.get(period) ?? '');
    if (found) return stretchOf(period, found);
  }
  return stretchOf('month', today);
}

function parsePeriod(period: Period, text: string): Day | null {
  const form = {
    week: /^(\d{4})-W(\d\d)$/,
    month: /^(\d{4})-(\d\d)$/,
    quarter: /^(\d{4})-Q(\d)$/,
    year: /^(\d{4})$/,
  };
  const [, year, number = 1] = (form[period].exec(text) ?? []).map(Number);
  const most = { week: 53, month: 12, quarter: 4, year: 1 }[period];
  if (!year || number < 1 || number > most) return null;
  // The fourth of January is always in the first week.
  if (period === 'week') return shifted({ year, month: 1, day: 4 }, (number - 1) * 7);
  return firstOf(year, period === 'quarter' ? number * 3 - 2 : number);
}
