/** Moments of the past as people write them; the time of day is never left out, however far. */

const CLOCK = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
const KINDS = {
  clock: CLOCK,
  exact: { ...CLOCK, second: '2-digit' },
  near: { weekday: 'short', ...CLOCK },
  far: { day: 'numeric', month: 'short', ...CLOCK },
  other: { day: 'numeric', month: 'short', year: 'numeric', ...CLOCK },
  day: { weekday: 'short', day: 'numeric' },
  month: { month: 'short' },
  year: { year: 'numeric' },
  full: {
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    ...CLOCK,
    timeZoneName: 'short',
  },
  fullYear: {
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    ...CLOCK,
    timeZoneName: 'short',
  },
} satisfies Record<string, Intl.DateTimeFormatOptions>;

const written = new Map<string, Intl.DateTimeFormat>();

function write(kind: keyof typeof KINDS, at: number, tag: string): string {
  const key = `${kind} ${tag}`;
  const format = written.get(key) ?? new Intl.DateTimeFormat(tag, KINDS[kind]);
  written.set(key, format);
  return format.format(at * 1000);
}

const yearOf = (at: number) => new Date(at * 1000).getFullYear();

/** How a moment of another day is written: by its weekday, its date, or that with its year. */
function kindOf(at: number, now: number): 'near' | 'far' | 'other' {
  if (Math.abs(now - at) < 6 * 86_400) return 'near';
  return yearOf(at) === yearOf(now) ? 'far' : 'other';
}

/** 02:14, or Tue 02:14, or 3 Nov 02:14; today's also to the second. */
export function momentText(at: number, now: number, tag: string, seconds = false): string {
  if (new Date(at * 1000).toDateString() === new Date(now * 1000).toDateString())
    return write(seconds ? 'exact' : 'clock', at, tag);
  return write(kindOf(at, now), at, tag);
}

/** Tue 17 Nov, 02:14 CET; of another year, with that. */
export const fullText = (at: number, now: number, tag: string): string =>
  write(yearOf(at) === yearOf(now) ? 'full' : 'fullYear', at, tag);

/** Below a plot: the time of day, and at midnight the day. */
export function tickText(at: number, tag: string): string {
  const moment = new Date(at * 1000);
  return write(moment.getHours() || moment.getMinutes() ? 'clock' : 'day', at, tag);
}

/** Below a plot of months: the month, and in January the year. */
export const monthText = (at: number, tag: string): string =>
  write(new Date(at * 1000).getMonth() ? 'month' : 'year', at, tag);

/** Two moments, as short as they can be told apart: of two days both are named. */
export function spanText(from: number, to: number, now: number, tag: string): [string, string] {
  const same = new Date(from * 1000).toDateString() === new Date(to * 1000).toDateString();
  if (same) return [momentText(from, now, tag), write('clock', to, tag)];
  const kind = kindOf(from, now);
  return [write(kind, from, tag), write(kind, to, tag)];
}
