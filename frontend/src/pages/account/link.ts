/** What a one-time link says by itself. Pure. */

import type { AccountError } from '../../api/accounts';

/** The code of a one-time link: behind the #, where no log sees it, or in the query. */
export function codeIn({ hash, search }: Pick<Location, 'hash' | 'search'>): string {
  const code = hash.slice(1) || new URLSearchParams(search).get('code') || '';
  return /^[\w-]+$/.test(code) ? code : '';
}

/** Why a link leads nowhere, if that is certain; a board that is away may still take it. */
export function linkTrouble(
  code: string,
  failure: Pick<AccountError, 'code' | 'status'> | null,
): 'Used' | 'Over' | 'Unknown' | 'Broken' | null {
  if (!code) return 'Broken';
  if (failure?.code === 'link-used') return 'Used';
  if (failure?.code === 'link-over' || failure?.status === 410) return 'Over';
  // What has a word of its own is about something else than the link.
  return failure && !failure.code && [400, 404].includes(failure.status) ? 'Unknown' : null;
}
