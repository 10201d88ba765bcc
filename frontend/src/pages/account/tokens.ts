/** What a new token may be. Pure. */

import type { TokenOrder } from '../../api/accounts';
import type { Role, Scope } from '../../api/people';

/** After how many days it ends; nothing: never. */
export const END_DAYS = ['30', '90', '365', ''] as const;
export type EndDays = (typeof END_DAYS)[number];
const DAY_SECONDS = 86_400;

/** What somebody can let a token do: no more than they may themselves. */
export function scopesFor(role: Role | undefined): Scope[] {
  const mine: Scope[] = ['read', 'metrics'];
  if (role === 'user' || role === 'admin') mine.push('book');
  if (role === 'admin') mine.push('admin');
  return mine;
}

/** What the board is asked for, or what is missing in it. */
export function orderOf(name: string, scopes: Scope[], end: EndDays): TokenOrder | 'Name' | 'Scope' {
  if (!name.trim()) return 'Name';
  if (!scopes.length) return 'Scope';
  return { name: name.trim(), scopes, expires_in_seconds: end ? Number(end) * DAY_SECONDS : null };
}
