/** What the filter could say next, with how many GPUs that would leave. Pure: fleet in, choices out. */

import { VERDICTS, type VerdictWord } from '../api/wire';
import { chosenVerdicts, toggleVerdict, wordTerm, type Filter } from './filter';
import { parseFilter } from './grammar';
import { BOX_SHARE } from './models';
import { factsFor } from './passing';
import { namesOn, speller } from './people';
import { split, splitAt, verdictOf } from './pieces';
import { natural, type FleetNode, type Gpu } from './fleet.svelte';

export const FACETS = ['is', 'memory', 'model', 'group', 'node', 'user', 'word'] as const;
export type FacetKey = (typeof FACETS)[number];

export interface Choice {
  /** What it is: a verdict, gigabytes, a name, a word of the grammar. */
  value: string;
  /** GPUs that pass then; null where that makes no sense. */
  count: number | null;
  chosen: boolean;
  /** The filter once it is chosen, or taken out again. */
  text: string;
}

export interface Facet {
  key: FacetKey;
  choices: Choice[];
}

/** Sizes that stand on boxes; what is between two is the smaller one's. */
const BOXES = [4, 6, 8, 10, 11, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 141, 180, 192, 256, 288];
const WORDS = [
  'memory>=',
  'memory_free>=',
  'free>=',
  'since>',
  'use<',
  'temperature>',
  'is:',
  'node:',
  'model:',
  'user:',
  'group:',
];
const MOST = 6;

interface Asked {
  text: string;
  nodes: Iterable<FleetNode>;
  now: number;
  me: string | null;
  /** Whether the viewer may see names. */
  named: boolean;
  /** A text that was chosen here: its last word is whole. */
  whole?: string | undefined;
}

export function facets({ text, nodes, now, me, named, whole }: Asked): Facet[] {
  const fleet = [...nodes];
  const typed = whole === text ? { ...NOTHING, base: text } : fragment(text);
  const filter = parseFilter(typed.base);
  const counts = count(fleet, filter, now, me);
  const found: Facet[] = [];
  for (const key of FACETS) {
    if ((key === 'user' && !named) || (typed.key && typed.key !== key)) continue;
    const values = key === 'word' ? wordsFor(typed, named) : valuesOf(key, counts[key], typed);
    const choices = values.map((value) =>
      choice(key, value, typed.base, key === 'word' ? null : counts[key].get(value)!),
    );
    if (choices.length) found.push({ key, choices });
  }
  // Nothing goes on as was begun: then what the whole filter leaves.
  if (!found.length && whole !== text) return facets({ text, nodes: fleet, now, me, named, whole: text });
  return found;
}

interface Fragment {
  base: string;
  key: FacetKey | null;
  word: string;
}
const NOTHING: Fragment = { base: '', key: null, word: '' };

/** The word that is being typed, and what stands before it. */
function fragment(text: string): Fragment {
  const pieces = split(text);
  const last = pieces.at(-1);
  if (last === undefined || /\s$/.test(text)) return { ...NOTHING, base: text.trim() };
  const [, name, value] = /^([\p{L}_]+)[:=](.*)$/su.exec(last) ?? [];
  const key = FACETS.find((each) => each === name?.toLowerCase()) ?? null;
  const isWhole = verdictOf(last) !== null || /[<>]=?[^=]/.test(last) || /^[-!]|,/.test(last);
  if (isWhole || (name && !key)) return { ...NOTHING, base: text };
  const base = pieces.slice(0, -1).join(' ');
  // `memory>=` offers sizes.
  if (/^mem(ory)?[<>=:]+$/i.test(last)) return { base, key: 'memory', word: '' };
  return { base, key, word: (key ? value! : last).replaceAll('"', '').toLowerCase() };
}

/** More than one facet's terms fail. */
const NONE = '-';

type FacetCounts = Record<Exclude<FacetKey, 'word'>, Map<string, number>>;

/** One pass over the fleet. A facet counts by the terms of all others, so that its own choice leaves the rest to see. */
function count(nodes: FleetNode[], filter: Filter, now: number, me: string | null): FacetCounts {
  const counts: FacetCounts = {
    is: new Map(VERDICTS.map((verdict) => [verdict, 0])),
    memory: new Map(),
    model: new Map(),
    group: new Map(),
    node: new Map(),
    user: new Map(),
  };
  const factsOf = factsFor(filter, now, me);
  const sizes = new Map<number, number>();
  const families = new Map<string, number>();
  const spelt = speller();
  const familyNames = nodes.map(familyOf);
  for (const family of familyNames) raise(families, family, 1);
  for (const [place, node] of nodes.entries()) {
    const family = familyNames[place]!;
    const names = [node.record.name, ...(family.length > 1 && families.get(family)! > 1 ? [family] : [])];
    let passing = 0;
    for (const gpu of node.gpus) {
      if (!gpu.record.counted) continue;
      // Which facet's terms it fails, if it is one alone.
      let failed: string | null = null;
      const facts = factsOf(gpu, node);
      for (const term of filter.terms) {
        if (term.test(facts)) continue;
        failed = failed === null || failed === term.key ? term.key : NONE;
        if (failed === NONE) break;
      }
      add(counts, sizes, node, gpu, failed, spelt);
      if (failed === null || failed === 'node') passing++;
    }
    for (const name of names) counts.node.set(name, (counts.node.get(name) ?? 0) + passing);
  }
  for (const box of BOXES) {
    let most = 0;
    let has = false;
    for (const [bytes, number] of sizes) {
      const size = boxOf(bytes);
      if (size >= box) most += number;
      has ||= size === box;
    }
    if (has) counts.memory.set(String(box), most);
  }
  return counts;
}

function add(
  counts: FacetCounts,
  sizes: Map<number, number>,
  node: FleetNode,
  gpu: Gpu,
  only: string | null,
  spelt: (name: string) => string,
): void {
  const { record } = gpu;
  const passes = (key: FacetKey) => (only === null || only === key ? 1 : 0);
  raise(counts.is, record.verdict, passes('is'));
  if (record.model !== null) raise(counts.model, gpu.model, passes('model'));
  for (const group of node.record.groups) raise(counts.group, group, passes('group'));
  for (const name of namesOn(record)) raise(counts.user, spelt(name), passes('user'));
  if (record.memory_total_bytes !== null && passes('memory')) raise(sizes, record.memory_total_bytes, 1);
}

/** What nodes that are numbered through have in common: `dgx-*`. */
function familyOf({ record }: FleetNode): string {
  return record.name.replace(/\d+\D*$/, '*');
}

function boxOf(bytes: number): number {
  return BOXES.findLast((box) => bytes / 2 ** 30 >= BOX_SHARE * box) ?? 0;
}

function raise<Key>(counts: Map<Key, number>, key: Key, by: number): void {
  counts.set(key, (counts.get(key) ?? 0) + by);
}

function valuesOf(
  key: keyof FacetCounts,
  counts: Map<string, number>,
  { base, key: only, word }: Fragment,
): string[] {
  const isSought = (value: string) => {
    // A name that is begun is offered whatever it finds; of all others those that find something.
    if (word) return (only !== null || key !== 'memory') && value.toLowerCase().includes(word);
    if (only !== null) return true;
    if (key === 'node' && !value.endsWith('*')) return false;
    return counts.get(value)! > 0 || choice(key, value, base, 0).chosen;
  };
  const values = [...counts.keys()].filter(isSought);
  if (key === 'is' || key === 'memory') return values;
  const isFamily = (name: string) => Number(key === 'node' && name.endsWith('*'));
  const order = (a: string, b: string) =>
    isFamily(b) - isFamily(a) ||
    (key === 'group' ? 0 : counts.get(b)! - counts.get(a)!) ||
    natural.compare(a, b);
  return foremost(values, order);
}

/** The first few of an order. Thousands of names need not be put into it for six. */
function foremost(values: string[], order: (a: string, b: string) => number): string[] {
  const first: string[] = [];
  for (const value of values) {
    if (first.length === MOST && order(value, first[MOST - 1]!) >= 0) continue;
    const place = first.findIndex((each) => order(value, each) < 0);
    first.splice(place < 0 ? first.length : place, 0, value);
    first.length = Math.min(first.length, MOST);
  }
  return first;
}

function wordsFor({ key, word }: Fragment, named: boolean): string[] {
  if (key) return [];
  return WORDS.filter((each) => (named || each !== 'user:') && each.startsWith(word)).slice(0, MOST);
}

function choice(key: FacetKey, value: string, base: string, count: number | null): Choice {
  if (key === 'is') {
    const verdict = value as VerdictWord;
    return { value, count, chosen: chosenVerdicts(base).has(verdict), text: toggleVerdict(base, verdict) };
  }
  if (key === 'word') return { value, count, chosen: false, text: `${base} ${value}`.trim() };
  if (key === 'memory') {
    const term = `memory>=${value}G`;
    const pieces = split(base);
    const chosen = pieces.includes(term);
    const rest = pieces.filter((piece) => !/^mem(ory)?[<>=:]/i.test(piece));
    return { value, count, chosen, text: [...rest, ...(chosen ? [] : [term])].join(' ') };
  }
  return { value, count, ...toggleValue(base, key, value) };
}

/** The same text with one more value of a key, or one less: `model:a100,h100` finds either. */
function toggleValue(text: string, key: string, value: string): { text: string; chosen: boolean } {
  const written = wordTerm(key, value).slice(key.length + 1);
  const pieces = split(text);
  const place = pieces.findIndex((piece) => piece.toLowerCase().startsWith(`${key}:`));
  const values = place < 0 ? [] : splitAt(pieces[place]!.slice(key.length + 1), ',');
  const chosen = values.includes(written);
  const now = chosen ? values.filter((each) => each !== written) : [...values, written];
  const term = now.length ? `${key}:${now.join(',')}` : '';
  if (place < 0) pieces.push(term);
  else pieces[place] = term;
  return { text: pieces.filter(Boolean).join(' '), chosen };
}
