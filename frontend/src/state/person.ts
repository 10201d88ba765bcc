/** Where the page of a person is. Names are what nodes say: anything. */

import { wordTerm } from './filter';

/** The path, and what is asked for there; dots alone would lead elsewhere, so these show their GPUs on the board. */
export function personPath(name: string): [path: string, query: Record<string, string>] {
  return /^\.{0,2}$/.test(name)
    ? ['', { q: wordTerm('user', name) }]
    : [`people/${encodeURIComponent(name)}`, {}];
}
