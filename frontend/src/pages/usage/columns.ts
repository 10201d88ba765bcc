/** Which columns a board has beside those that all have, and which rows a sheet of paper has room for. */

import type { UsageAnswer, UsageRow, UsageTotal } from '../../api/usage';
import { HOUR_MS, type UsageLine } from '../../state/usage';
import type { Language } from '../../text/language.svelte';

type Worth = UsageRow | UsageTotal;

export interface WorthColumn {
  title: string;
  write: (row: Worth) => string;
}

/** Weighted hours, prices and memory, where the board tells them; a sheet of paper has no room for memory. */
export function columnsOf(
  { currency, total, rows }: UsageAnswer,
  language: Language,
  paper: boolean,
): WorthColumn[] {
  const has = (key: 'weighted_ms' | 'price' | 'memory_gib_hours') =>
    [total, ...rows].some((row) => row[key] !== null);
  const { say, tag } = language;
  const found: WorthColumn[] = [];
  if (has('weighted_ms'))
    found.push({
      title: say('usage_weighted'),
      write: ({ weighted_ms }) => language.number(weighted_ms === null ? null : weighted_ms / HOUR_MS),
    });
  if (has('price'))
    found.push({
      title: currency === null ? say('usage_price') : `${say('usage_price')} (${currency})`,
      write: ({ price }) => (price === null ? '—' : new Intl.NumberFormat(tag, MONEY).format(price)),
    });
  if (!paper && has('memory_gib_hours'))
    found.push({
      title: say('usage_memoryHours'),
      write: ({ memory_gib_hours }) => language.number(memory_gib_hours),
    });
  return found;
}

const MONEY = { minimumFractionDigits: 2, maximumFractionDigits: 2 } as const;

/** As many rows as fit: groups without their people where those are too many, then those with most. */
export function fitting(lines: UsageLine[], most: number): { lines: UsageLine[]; left: UsageLine[] } {
  const all = lines.reduce((sum, line) => sum + 1 + line.people.length, 0);
  if (all <= most) return { lines, left: [] };
  const closed = lines.map((line) => ({ ...line, people: [] }));
  if (closed.length <= most) return { lines: closed, left: [] };
  return { lines: closed.slice(0, most - 1), left: closed.slice(most - 1) };
}
