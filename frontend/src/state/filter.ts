/**
 * The filter's small grammar: space = and, comma or `or` = or, `-` or `not` = not, quotes keep spaces together.
 *
 *     free model:a100 memory>=40G -node:gpu[01-04] user:ana,bob memory:24..48 idle>1h free>=4
 *
 * The same words as `gpuboard free`. Parsing never throws: what it cannot read is named in `errors`.
 */

import { isOffered } from './answers';
import { VERDICTS, type GpuRow, type NodeRow, type Verdict } from '../api/wire';

export { loadGrammar, parseFilter } from './reading.svelte';

export interface Facts {
  gpu: GpuRow;
  node: NodeRow | undefined;
  /** Free GPUs on the same node that fit the rest of the filter. */
  nodeFree: number;
  now: number;
  me: string | null;
}

export type ErrorCode = 'unknownKey' | 'badNumber' | 'badWord' | 'badSign' | 'badRange' | 'openQuote';
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

// The verdicts as people say them, in their order and in every language of the page: a link works in all of them.
const SPOKEN = new Map<string, Verdict>(
  [
    'free frei libre 可用 空闲',
    'busy belegt occupe 使用中',
    'idle untatig inactif 閒置 闲置',
    'booked gebucht reserve 已預約 已预约',
    'stale veraltet perime 過時 过时',
    'broken defekt panne 故障',
    'unknown unbekannt inconnu 不明 未知',
  ].flatMap((words, place) => words.split(' ').map((word) => [word, VERDICTS[place]!] as const)),
);

export function isMine({ gpu, me }: Pick<Facts, 'gpu' | 'me'>): boolean {
  return me !== null && (!!gpu.users?.some((use) => use.name === me) || gpu.claim?.who === me);
}

export function matches(filter: Filter, facts: Facts): boolean {
  return filter.terms.every((term) => term.test(facts));
}

/** Whether a GPU is of the kind that is looked for, whoever is on it: of these, nodes with enough free ones are sought. */
export function fits(filter: Filter, facts: Facts): boolean {
  return filter.terms.every(({ key, test }) => ['is', 'user', 'free'].includes(key) || test(facts));
}

interface NodeOf {
  record: NodeRow;
  gpus: readonly { record: GpuRow }[];
}

/** What the tests are about, GPU by GPU; the free ones of a node are counted once, and only if somebody asks. */
export function factsFor(
  filter: Filter,
  now: number,
  me: string | null,
): (gpu: { record: GpuRow }, node: NodeOf) => Facts {
  const isCounted = filter.terms.some(({ key }) => key === 'free');
  const free = new Map<NodeOf, number>();
  // One for all: whoever asks is done with it before the next comes.
  let facts: Facts | undefined;
  return ({ record: gpu }, node) => {
    facts ??= { gpu, node: node.record, nodeFree: 0, now, me };
    facts.node = node.record;
    if (isCounted) {
      let nodeFree = free.get(node);
      if (nodeFree === undefined) {
        nodeFree = 0;
        for (const { record } of node.gpus) {
          facts.gpu = record;
          if (isOffered(record) && fits(filter, facts)) nodeFree++;
        }
        free.set(node, nodeFree);
      }
      facts.nodeFree = nodeFree;
    }
    facts.gpu = gpu;
    return facts;
  };
}

/** The verdict that a word means, in any language of the page; accents may be left out. */
export function verdictOf(word: string): Verdict | null {
  return SPOKEN.get(word.toLowerCase().normalize('NFD').replace(/\p{M}/gu, '')) ?? null;
}

const AND = /^(and|und|et|&+)$/i;
const OR = /^(or|oder|ou|或|\|+)$/i;
const NOT = /^(not|nicht|pas|非|不是)$/i;

/** The terms of a filter, each written one way: `memory >= 40 GB` is `memory>=40GB`, `free or idle` is `free,idle`. */
export function split(text: string): string[] {
  const found = splitAt(tidy(text), ' ');
  if (found.length < 2) return found;
  const pieces: string[] = [];
  let negated = false;
  let joined = false;
  for (const piece of found) {
    if (AND.test(piece)) continue;
    if (OR.test(piece)) joined = pieces.length > 0;
    else if (NOT.test(piece)) negated = true;
    else {
      const before = joined ? pieces.pop()! : '';
      // Whoever says `node:a or idle` means no node of that name.
      const key = /^[-!]?[\p{L}_]+[:=]/u.test(before) && verdictOf(piece) ? 'is:' : '';
      pieces.push(`${before}${joined ? ',' : ''}${negated ? '-' : ''}${key}${piece}`);
      negated = joined = false;
    }
  }
  return pieces;
}

const LOOSE =
  /"[^"]*"?|(?<![\p{L}_])([\p{L}_]+)\s*!=\s*|(?<!\s)\s*([<>=]=|[<>=:,≥≤])\s*|(?<=[<>=:≥≤]\s*[\d.]+)\s+(?=(?:[kmgt]i?b?|min|h|d)(?:\s|$))|\ben panne\b/giu;
const SIGNS: Record<string, string> = { '≥': '>=', '≤': '<=', '==': '=' };

/** No spaces around signs and commas, or before a unit; what is quoted stays. */
function tidy(text: string): string {
  return text.replace(LOOSE, (whole, name?: string, sign?: string) => {
    if (name) return `-${name}=`;
    if (sign) return SIGNS[sign] ?? sign;
    return whole.startsWith('"') ? whole : whole.trim() && 'broken';
  });
}

/** Split at a space or a comma, but inside neither quotes nor brackets. */
export function splitAt(text: string, separator: ' ' | ','): string[] {
  const part = separator === ' ' ? /(?:"[^"]*"?|\[[^[\]"]*\]|[^\s])+/g : /(?:"[^"]*"?|\[[^[\]"]*\]|[^,])+/g;
  return text.match(part) ?? [];
}

/** The verdicts a filter text asks for by plain words, as the chips show them. */
export function chosenVerdicts(text: string): Set<Verdict> {
  const piece = split(text).find(isVerdictList) ?? '';
  return new Set(listed(piece).map((word) => verdictOf(word)!));
}

/** The same text with one verdict switched on or off; null switches all off. */
export function toggleVerdict(text: string, verdict: Verdict | null): string {
  const chosen = chosenVerdicts(text);
  if (verdict === null) chosen.clear();
  else if (!chosen.delete(verdict)) chosen.add(verdict);
  const rest = split(text).filter((piece) => !isVerdictList(piece));
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

function isVerdictList(piece: string): boolean {
  const words = listed(piece);
  return words.length > 0 && words.every(verdictOf);
}

function listed(piece: string): string[] {
  return splitAt(piece.replace(/^is[:=]/i, ''), ',');
}

/** `key:value`, quoted where the grammar needs it, or where only this very person is meant. */
export function wordTerm(key: string, value: string): string {
  return key === 'user' || /[\s,<>=:[\]]/.test(value)
    ? `${key}:"${value.replaceAll('"', '')}"`
    : `${key}:${value}`;
}
