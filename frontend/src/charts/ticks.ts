/** Where a scale has its lines. Pure. */

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86_400;
const STEPS = [
  5 * MINUTE,
  10 * MINUTE,
  15 * MINUTE,
  30 * MINUTE,
  HOUR,
  2 * HOUR,
  3 * HOUR,
  6 * HOUR,
  12 * HOUR,
];
const DAYS = [1, 2, 3, 7, 14];
const MONTHS = [1, 2, 3, 6, 12];
const MONTH = 31 * DAY;

/** Round moments between two, as many as have room; days begin at the viewer's midnight, also when clocks change. */
export function moments(from: number, to: number, most: number): number[] {
  const length = to - from;
  if (length / (DAYS.at(-1)! * DAY) > most) return months(from, to, most);
  const step = STEPS.find((each) => length / each <= most) ?? DAY;
  const days = step < DAY ? 1 : (DAYS.find((each) => length / (each * DAY) <= most) ?? DAYS.at(-1)!);
  const first = new Date(from * 1000);
  const found: number[] = [];
  for (let day = 0; ; day += days) {
    const midnight = new Date(first.getFullYear(), first.getMonth(), first.getDate() + day);
    if (midnight.getTime() / 1000 > to) return found;
    for (let second = 0; second < DAY; second += step) {
      const at = new Date(
        midnight.getFullYear(),
        midnight.getMonth(),
        midnight.getDate(),
        0,
        second / MINUTE,
      );
      const seconds = at.getTime() / 1000;
      if (seconds >= from && seconds <= to && seconds > (found.at(-1) ?? -1)) found.push(seconds);
    }
  }
}

/** From so many on nothing but months are marked. */
export const isByMonths = (found: number[]): boolean => found.length > 1 && found[1]! - found[0]! > 20 * DAY;

function months(from: number, to: number, most: number): number[] {
  const step = MONTHS.find((each) => (to - from) / (each * MONTH) <= most) ?? MONTHS.at(-1)!;
  const first = new Date(from * 1000);
  const found: number[] = [];
  for (let month = Math.ceil(first.getMonth() / step) * step; ; month += step) {
    const at = new Date(first.getFullYear(), month).getTime() / 1000;
    if (at > to) return found;
    if (at >= from) found.push(at);
  }
}

/** The next round number above all values: 1, 2 or 5 with zeros. */
export function roundAbove(most: number): number {
  if (!(most > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 5, 10].map((each) => each * power).find((each) => each >= most) ?? 10 * power;
}
