import type { Filter } from './filter';

const EVERYTHING: Filter = { terms: [], errors: [] };

type Grammar = typeof import('./grammar');
let read = $state.raw<Grammar | null>(null);
let coming: Promise<void> | null = null;

/** Fetch how filters are read; until it is here, none takes anything away. */
export function loadGrammar(): Promise<void> {
  coming ??= import('./grammar').then(
    (found) => {
      read = found;
    },
    () => {
      // The board may be away; the next filter asks again.
      coming = null;
    },
  );
  return coming;
}

/** How a text is read; null while that is on its way. Whoever reads a filter reads it again once it can be understood. */
export function grammar(text: string): Grammar | null {
  if (!read && text.trim()) void loadGrammar();
  return read;
}

export function parseFilter(text: string): Filter {
  return (text.trim() && grammar(text)?.parseFilter(text)) || EVERYTHING;
}
