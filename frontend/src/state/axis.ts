/** Days beside each other on the viewer's clocks: where a moment lies on them. Pure. */

import { fieldText, HOUR, type Span } from './booking';

/** How many days are shown; the first of these if nobody says. */
export const DAYS = [3, 1, 7, 14] as const;
export type Days = (typeof DAYS)[number];
/** What a step of an arrow is, and what people book by. */
export const QUARTER = HOUR / 4;
// So many hours lie between two lines.
const HOURS: Record<Days, number> = { 1: 2, 3: 6, 7: 12, 14: 24 };

export interface Axis extends Span {
  /** When each day begins. */
  days: number[];
  /** Where there are lines between them; a clock that changes moves these, and never the days. */
  hours: number[];
}

/** The begin of a day, so many days after that of a moment; days are 23 hours long where clocks change, or 25. */
export function dayStart(at: number, later = 0): number {
  const day = new Date(at * 1000);
  return new Date(day.getFullYear(), day.getMonth(), day.getDate() + later).getTime() / 1000;
}

export function axisOf(first: number, count: Days): Axis {
  const days = Array.from({ length: count }, (_, place) => dayStart(first, place));
  const hours = new Set<number>();
  for (const start of days) {
    const day = new Date(start * 1000);
    for (let hour = HOURS[count]; hour < 24; hour += HOURS[count])
      hours.add(new Date(day.getFullYear(), day.getMonth(), day.getDate(), hour).getTime() / 1000);
  }
  return { start: days[0]!, end: dayStart(first, count), days, hours: [...hours] };
}

/** A share of the axis, from 0 at its start. */
export const shareOf = ({ start, end }: Span, at: number): number => (at - start) / (end - start);

/** The quarter of an hour in which a share of the axis lies. */
export const momentAt = ({ start, end }: Span, share: number): number =>
  Math.floor((start + share * (end - start)) / QUARTER) * QUARTER;

/** 2026-11-17 */
export const dayName = (at: number): string => fieldText(at).slice(0, 10);

/** The day that an address names. */
export function dayOf(text: string | null): number | null {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text ?? '') ?? [];
  return year ? new Date(Number(year), Number(month) - 1, Number(day)).getTime() / 1000 : null;
}

export const daysOf = (text: string | null): Days => DAYS.find((days) => String(days) === text) ?? DAYS[0];
