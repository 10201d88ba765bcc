/** Which columns a board has beside those that all have, and which rows a sheet of paper has room for. */

import type { UsageAnswer, UsageRow, UsageTotal } from '../../api/usage';
import {
  HOUR_MS,
  roundedWeighted,
  roundedWorth,
  unitOf,
  type UsageLine,
  type WorthColumnName,
} from '../../state/usage';
import type { Language } from '../../text/language.svelte';
import { fixed } from './spans';

type Worth = UsageRow | UsageTotal;

export interface WorthColumn {
  title: string;
  write: (row: Worth) => string;
  /** Whether that says of a row that there was something. */
  says: (row: Worth) => boolean;
  /** Several rows as one. */
  together: (rows: UsageRow[]) => string;
}

/** What was booked, weighted hours, prices and memory, where there are any; a sheet of paper has no room for memory. */
export function columnsOf(answer: UsageAnswer, language: Language, paper: boolean): WorthColumn[] {
  const { currency, total, rows } = answer;
  const has = (key: WorthColumnName) => [total, ...rows].some((row) => row[key] !== null);
  const { say, tag } = language;
  const found: WorthColumn[] = [];
  const add = (title: string, digits: number, units: Map<Worth, number>) => {
    const text = (count: number | null) => (count === null ? '—' : fixed(count / 10 ** digits, digits, tag));
    found.push({
      title,
      write: (row) => text(units.get(row) ?? null),
      says: (row) => Boolean(units.get(row)),
      together: (some) => {
        const known = some.flatMap((row) => units.get(row) ?? []);
        return text(known.length ? known.reduce((sum, count) => sum + count, 0) : null);
      },
    });
  };
  const worth = (title: string, key: WorthColumnName, one: number, digits: number) =>
    add(title, digits, roundedWorth(answer, key, one / 10 ** digits));
  // All hours are told as finely as those that were used.
  const digits = unitOf(total) < HOUR_MS ? 1 : 0;
  if ([total, ...rows].some(({ reserved_ms }) => reserved_ms)) {
    worth(say('usage_reservedHours'), 'reserved_ms', HOUR_MS, digits);
    worth(say('usage_reservedUsed'), 'reserved_used_ms', HOUR_MS, digits);
  }
  if (has('weighted_ms')) add(say('usage_weighted'), digits, roundedWeighted(answer));
  if (has('price'))
    worth(currency === null ? say('usage_price') : `${say('usage_price')} (${currency})`, 'price', 1, 2);
  if (!paper && has('memory_gib_hours')) worth(say('usage_memoryHours'), 'memory_gib_hours', 1, digits);
  return found;
}

/** Rows, and people within them, that say something in any column: of nothing but zeros there is no row. */
export function telling(lines: UsageLine[], columns: WorthColumn[]): UsageLine[] {
  return lines
    .filter(
      ({ row, used, idle, booked, share }) =>
        used || idle || booked || share || columns.some(({ says }) => says(row)),
    )
    .map((line) => ({ ...line, people: telling(line.people, columns) }));
}

/** As many rows as fit: groups without their people where those are too many, then those with most. */
export function fitting(lines: UsageLine[], most: number): { lines: UsageLine[]; left: UsageLine[] } {
  const all = lines.reduce((sum, line) => sum + 1 + line.people.length, 0);
  if (all <= most) return { lines, left: [] };
  const closed = lines.map((line) => ({ ...line, people: [] }));
  if (closed.length <= most) return { lines: closed, left: [] };
  return { lines: closed.slice(0, most - 1), left: closed.slice(most - 1) };
}
