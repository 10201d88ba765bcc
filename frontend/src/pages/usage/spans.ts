/** Stretches of the calendar and figures, as people write them. */

import type { UsageAnswer, UsageBy } from '../../api/usage';
import { clockChanges, neighbour, weekOf, type Day, type Stretch } from '../../state/calendar';
import type { Language } from '../../text/language.svelte';

type Options = Intl.DateTimeFormatOptions;

const utc = ({ year, month, day }: Day) => Date.UTC(year, month - 1, day);
const DAY_MS = 86_400_000;

/** A day of the board's calendar, whatever zone the viewer is in. */
function write(day: Day, tag: string, options: Options): string {
  return new Intl.DateTimeFormat(tag, { ...options, timeZone: 'UTC' }).format(utc(day));
}

/** From the first day to the last, as short as that language writes it. */
function writeRange({ first, next }: Stretch, tag: string, options: Options): string {
  const format = new Intl.DateTimeFormat(tag, { ...options, timeZone: 'UTC' });
  return format.formatRange(utc(first), utc(next) - DAY_MS);
}

const DATED = { day: 'numeric', month: 'short', year: 'numeric' } as const;

/** "October 2026", "Week 42 · 12–18 Oct 2026", "Q4 2026", "2026". */
export function stretchText(stretch: Stretch, { say, tag }: Language): string {
  const { period, first } = stretch;
  if (period === 'month') return write(first, tag, { month: 'long', year: 'numeric' });
  if (period === 'year') return write(first, tag, { year: 'numeric' });
  if (period === 'quarter')
    return say('usage_quarterName', { quarter: (first.month + 2) / 3, year: String(first.year) });
  const range = writeRange(stretch, tag, DATED);
  return period === 'week' ? `${say('usage_weekName', { week: weekOf(first).week })} · ${range}` : range;
}

/** "Sep", "W41", "Q3", "2025": in the head of a column. */
function shortText({ period, first }: Stretch, { say, tag }: Language): string {
  if (period === 'month') return write(first, tag, { month: 'short' });
  if (period === 'year') return String(first.year);
  if (period === 'quarter') return say('usage_quarterShort', { quarter: (first.month + 2) / 3 });
  return period === 'week' ? say('usage_weekShort', { week: weekOf(first).week }) : say('usage_before');
}

/** What rows are compared with, in the head of their column: a week with the one before it, what goes on with as many days. */
export function comparedText(
  by: UsageBy,
  { soFar, stretch }: { soFar: { day: number } | null; stretch: Stretch },
  language: Language,
): string {
  if (by === 'week') return language.say('usage_changeWeek');
  return soFar
    ? language.say('usage_changeDays', { count: soFar.day })
    : language.say('usage_change', { span: shortText(neighbour(stretch, -1), language) });
}

/** A week as the API names it, `2026-W42`, with those of its days that were asked for; less than all is said. */
export function weekText(name: string, week: Stretch, asked: Stretch, { say, tag }: Language): string {
  const first = utc(asked.first) > utc(week.first) ? asked.first : week.first;
  const next = utc(asked.next) < utc(week.next) ? asked.next : week.next;
  const range = writeRange({ ...week, first, next }, tag, { day: 'numeric', month: 'short' });
  const isPart = first !== week.first || next !== week.next;
  return [
    say('usage_weekShort', { week: Number(name.slice(-2)) }),
    range,
    ...(isPart ? [say('usage_partOfWeek')] : []),
  ].join(' · ');
}

/** "the clock went back on 25 Oct"; nothing where it did not. */
export function clockText(span: { from: number; to: number }, zone: string, language: Language): string {
  return clockChanges(span, zone)
    .map(({ day, seconds }) =>
      language.say(seconds > 0 ? 'usage_clockOn' : 'usage_clockBack', {
        day: write(day, language.tag, { day: 'numeric', month: 'short' }),
      }),
    )
    .join(', ');
}

/** From when on it was counted, where that is not what was asked for: data begin later, or an hour before. */
export function countedSince({ from, asked_from }: Pick<UsageAnswer, 'from' | 'asked_from'>): number | null {
  return asked_from === null || Math.abs(from - asked_from) < 1 ? null : from;
}

/** With so many digits behind the point, always: figures below each other stay below each other. */
export function fixed(value: number, digits: number, tag: string): string {
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return new Intl.NumberFormat(tag, options).format(value);
}

/** To a tenth; less than that is not nothing. */
export function tenthText(value: number, { decimal }: Language): string {
  return value > 0 && value < 0.05 ? `< ${decimal(0.1)}` : decimal(value);
}

/** "+9 %", "−11 %", "0 %". */
export function changeText(percent: number, tag: string): string {
  const format = new Intl.NumberFormat(tag, { signDisplay: 'exceptZero', maximumFractionDigits: 0 });
  return `${format.format(percent).replace('-', '−')} %`;
}

/** The days of the week from Monday on. */
export function weekdays(tag: string, form: 'short' | 'long' = 'short'): string[] {
  // The fifth of January 1970 was a Monday.
  return [5, 6, 7, 8, 9, 10, 11].map((day) => write({ year: 1970, month: 1, day }, tag, { weekday: form }));
}

/** A moment by the board's clock: "12 Oct, 14:00". */
export function momentIn(at: number, now: number, zone: string, tag: string): string {
  const year = new Date(at * 1000).getFullYear() === new Date(now * 1000).getFullYear() ? {} : DATED;
  return new Intl.DateTimeFormat(tag, {
    day: 'numeric',
    month: 'short',
    ...year,
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    timeZone: zone,
  }).format(at * 1000);
}

/** A day of any year, like "Oct 25, 2026". */
export const writtenDay = (day: Day, tag: string): string => write(day, tag, DATED);

/** A day, like "Sun 25 Oct". */
export const dateText = (day: Day, tag: string): string =>
  write(day, tag, { weekday: 'short', day: 'numeric', month: 'short' });
