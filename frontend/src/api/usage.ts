/** What the board answers about GPU-hours, word for word: whole milliseconds. */

import type { Client } from './client';
import type { UsageAnswer, UsageAveragesAnswer, UsageDaysAnswer, UsageHoursAnswer } from './generated';

export type {
  PersonMeans,
  UsageAnswer,
  UsageAveragesAnswer,
  UsageDay,
  UsageDaysAnswer,
  UsageHoursAnswer,
  UsageMean,
  UsageRow,
  UsageTotal,
} from './generated';

export type UsageBy = UsageAnswer['by'];

/** Of which time: a month of the board's calendar, or from when to when in Unix seconds. */
export type UsageSpan = { month: string } | { from: number; to: number };

const asked = (values: Record<string, string | number>) =>
  new URLSearchParams(Object.entries(values).map(([key, value]) => [key, String(value)])).toString();

/** Where the rows are; equal questions are spelled alike. */
export const usagePath = (by: UsageBy, span: UsageSpan, form = ''): string =>
  `usage${form}?${asked({ by, ...span })}`;
export const hoursPath = (span: UsageSpan): string => `usage/hours?${asked(span)}`;

export const usageHours = (client: Client, path: string) => client.get<UsageHoursAnswer>(path);
export const usageRows = (client: Client, path: string) => client.get<UsageAnswer>(path);
/** One person's days: the last thirty. */
export const usageDays = (client: Client, person: string) =>
  client.get<UsageDaysAnswer>(`usage/days?${asked({ person })}`);
export const usageAverages = (client: Client) => client.get<UsageAveragesAnswer>('usage/averages');
