/**
 * The filter's small grammar: space = and, comma or `or` = or, `-` or `not` = not, quotes keep spaces together.
 *
 *     free model:a100 memory>=40G -node:gpu[01-04] user:ana,bob memory:24..48 idle>1h free>=4
 *
 * The same words as `gpuboard free`. Parsing never throws: what it cannot read is named in `errors`.
 */

import { VERDICTS, type GpuRow, type NodeRow, type VerdictWord } from '../api/wire';

import { grammar } from './reading.svelte';

export { grammar, loadGrammar, parseFilter } from './reading.svelte';

export interface Facts {
  gpu: GpuRow;
  node: NodeRow | undefined;
  /** Free GPUs on the same node that fit the rest of the filter. */
  nodeFree: number;
  now: number;
  me: string | null;
}

export type ErrorCode =
  'unknownKey' | 'badNumber' | 'badWord' | 'badSign' | 'badRange' | 'openQuote' | 'noWord';
export interface FilterError {
  code: ErrorCode;
  text: string;
  /** The part of the filter that it stands in. */
  part: string;
}

export type Test = (facts: Facts) => boolean;

export interface Term {
  /** As written, so that a chip can take it out again. */
  text: string;
  /** What it is about: `memory`, `user`, `is`; empty for any word. */
  key: string;
  test: Test;
}

export interface Filter {
  terms: Term[];
  errors: FilterError[];
}

/** The terms of a filter. Until it can be read, each word is one. */
function split(text: string): string[] {
  return grammar(text)?.split(text) ?? text.split(' ').filter(Boolean);
}

/** The verdicts a filter text asks for by plain words, as the chips show them. */
export function chosenVerdicts(text: string): Set<VerdictWord> {
  for (const piece of split(text)) {
    const verdicts = listed(piece);
    if (verdicts) return new Set(verdicts);
  }
  return new Set();
}

/** The same text with one verdict switched on or off; null switches all off. */
export function toggleVerdict(text: string, verdict: VerdictWord | null): string {
  const chosen = chosenVerdicts(text);
  if (verdict === null) chosen.clear();
  else if (!chosen.delete(verdict)) chosen.add(verdict);
  const rest = split(text).filter((piece) => !listed(piece));
  const list = VERDICTS.filter((known) => chosen.has(known)).join(',');
  return [list, ...rest].filter(Boolean).join(' ');
}

/** The same text with a term added, or taken out if it is there. */
export function toggleTerm(text: string, term: string): string {
  const pieces = split(text);
  const rest = pieces.filter((piece) => piece !== term);
  return (rest.length < pieces.length ? rest : [...pieces, term]).join(' ');
}

export function hasTerm(text: string, term: string): boolean {
  return split(text).includes(term);
}

/** The verdicts that a term is made of; null: it is another. */
function listed(piece: string): VerdictWord[] | null {
  const words = piece
    .replace(/^is[:=]/i, '')
    .split(',')
    .filter(Boolean);
  const found = words.flatMap(
    (word) => grammar(word)?.verdictOf(word) ?? VERDICTS.filter((verdict) => verdict === word),
  );
  return found.length && found.length === words.length ? found : null;
}

/** `key:value`, quoted where the grammar needs it, or where only this very person is meant. */
export function wordTerm(key: string, value: string): string {
  return key === 'user' || /[\s,<>=:[\]]/.test(value)
    ? `${key}:"${value.replaceAll('"', '')}"`
    : `${key}:${value}`;
}
