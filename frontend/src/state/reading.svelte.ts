import type { Filter } from './filter';

const EVERYTHING: Filter = { terms: [], errors: [] };

let grammar = $state.raw<typeof import('./grammar') | null>(null);
let coming: Promise<void> | null = null;

/** Fetch how filters are read; until it is here, none takes anything away. */
export function loadGrammar(): Promise<void> {
  coming ??= import('./grammar').then(
    (found) => {
      grammar = found;
    },
    () => {
      // The board may be away; the next filter asks again.
      coming = null;
    },
  );
  return coming;
}

/** Whoever reads a filter reads it again once it can be understood. */
export function parseFilter(text: string): Filter {
  if (!text.trim()) return EVERYTHING;
  if (!grammar) void loadGrammar();
  return grammar?.parseFilter(text) ?? EVERYTHING;
}
