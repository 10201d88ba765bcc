import { parseRoute, type Router } from './router.svelte';

/** Where to go after signing in: what the address says, if that is a page of this board, else the board as it was last. */
export function nextAddress({ base, board, query }: Pick<Router, 'base' | 'board' | 'query'>): string {
  const asked = query.get('next');
  if (!asked) return board;
  try {
    const url = new URL(asked, base);
    const path = url.pathname.slice(base.pathname.length);
    const isOurs = url.origin === base.origin && url.pathname.startsWith(base.pathname);
    if (isOurs && !['missing', 'account'].includes(parseRoute(path).page)) return url.pathname + url.search;
    if (isOurs && /^(account|audit)$/.test(path)) return url.pathname;
  } catch {
    // Whatever stands there, it is no address.
  }
  return board;
}

/** Whether the step before in the history is a page of this board. */
export function isBelowUs(): boolean {
  return ((history.state as { place?: number } | null)?.place ?? 0) > 0;
}
