/**
 * The filter's small grammar: space = and, comma or `or` = or, `-` or `not` = not, quotes keep spaces together.
 *
 *     free model:a100 memory>=40G -node:gpu[01-04] user:ana,bob memory:24..48 idle>1h free>=4
 *
 * The same words as `gpuboard free`. Parsing never throws: what it cannot read is named in `errors`.
 */

import { isOffered } from './answers';
import { BOX_SHARE, nominalModel } from './models';
import { expand } from './ranges';
import { VERDICTS, type GpuRow, type NodeRow, type Verdict } from '../api/wire';

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

type Test = (facts: Facts) => boolean;

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

const FLAGS = ['trespass', 'hot', 'throttled', 'orphaned_memory'];
const SHORT: Record<string, string> = { mem: 'memory', temp: 'temperature', util: 'use' };

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

interface Figure {
  of: (facts: Facts) => number | null;
  read: (text: string) => number | null;
  /** From which value on it counts as the one asked for; the value itself where there is no such rule. */
  from?: (asked: number) => number;
}

const NUMBERS: Record<string, Figure> = {
  // The card's size, as it stands on its box.
  memory: {
    of: ({ gpu }) => gpu.memory_total_bytes,
    read: readBytes,
    from: (asked) => BOX_SHARE * asked,
  },
  memory_free: {
    of: ({ gpu }) =>
      gpu.memory_total_bytes === null || gpu.memory_used_bytes === null
        ? null
        : gpu.memory_total_bytes - gpu.memory_used_bytes,
    read: readBytes,
  },
  use: { of: ({ gpu }) => gpu.utilization_percent, read: readNumber },
  temperature: { of: ({ gpu }) => gpu.temperature_celsius, read: readNumber },
  power: { of: ({ gpu }) => gpu.power_watts, read: readNumber },
  since: { of: ({ gpu, now }) => (gpu.since === null ? null : now - gpu.since), read: readSeconds },
  free: { of: ({ nodeFree }) => nodeFree, read: readNumber },
};

const WORDS: Record<string, (value: string, quoted: boolean) => Test | null> = {
  is: (value) => {
    const verdict = verdictOf(value);
    if (verdict) return ({ gpu }) => gpu.verdict === verdict;
    const flag = value.replace('-', '_');
    if (FLAGS.includes(flag)) return ({ gpu }) => (gpu.flags as string[]).includes(flag);
    if (value === 'mine') return isMine;
    return null;
  },
  node: (value, quoted) => {
    const match = exactly(value, quoted);
    return match && (({ gpu, node }) => match(gpu.node) || match(node?.display_name));
  },
  group: (value, quoted) => {
    const match = exactly(value, quoted);
    return match && (({ node }) => !!node?.groups.some(match));
  },
  model: (value) => {
    const match = isModel(value);
    return ({ gpu }) => match(gpu) || containing(value)(gpu.mig_profile);
  },
  user: (value, quoted) => {
    if (value === 'me' && !quoted) return isMine;
    return isOf(quoted ? wildcard(value) : beginning(value));
  },
  uuid: (value) => {
    const match = containing(value);
    return ({ gpu }) => match(gpu.uuid);
  },
};

/** Somebody uses it, has booked it or had: by any name that the row has. */
function isOf(match: Match): Test {
  return ({ gpu: { users, claim, ended_claim } }) =>
    !!users?.some((use) => match(use.name) || match(use.user)) ||
    match(claim?.who) ||
    match(ended_claim?.who) ||
    !!claim?.behind.some((each) => match(each.who));
}

export function isMine({ gpu, me }: Pick<Facts, 'gpu' | 'me'>): boolean {
  return me !== null && (!!gpu.users?.some((use) => use.name === me) || gpu.claim?.who === me);
}

/** As the driver says it, or as the page does; `a100-80` is an A100 with 80 GB. */
function isModel(value: string): (gpu: GpuRow) => boolean {
  const match = containing(squeeze(value));
  // Neighbours are alike, and nearly all that come after.
  let last: GpuRow | null = null;
  let answer = false;
  return (gpu) => {
    if (gpu.model !== last?.model || gpu.memory_total_bytes !== last.memory_total_bytes) {
      answer = match(squeeze(gpu.model ?? '')) || match(squeeze(nominalModel(gpu)));
      last = gpu;
    }
    return answer;
  };
}

function squeeze(text: string): string {
  return text.toLowerCase().replace(/[\s_-]/g, '');
}

export function parseFilter(text: string): Filter {
  const pieces = split(text);
  const errors: FilterError[] = [];
  const last = pieces.at(-1) ?? '';
  if (last.split('"').length % 2 === 0) errors.push({ code: 'openQuote', text: last, part: last });
  const terms: Term[] = [];
  for (const piece of pieces) {
    const negated = isNegated(piece);
    const tests = alternatives(negated ? piece.slice(1) : piece, errors);
    if (!tests.length) continue;
    const [[key, first], ...others] = tests as [Keyed, ...Keyed[]];
    // Mostly there is one; this is asked of thousands of GPUs at every key.
    const any: Test = others.length ? (facts) => tests.some((each) => each[1](facts)) : first;
    terms.push({ text: piece, key, test: negated ? not(any) : any });
  }
  return { terms, errors };
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

const not =
  (test: Test): Test =>
  (facts) =>
    !test(facts);

function isNegated(piece: string): boolean {
  return /^[-!]./.test(piece);
}

type Keyed = [key: string, test: Test];

/** How the values after a key are read. */
interface Reading {
  key: string;
  make: (value: string, quoted: boolean) => Test | null;
  /** What is wrong if that gives nothing. */
  code: ErrorCode;
  /** Whether it holds for what follows a comma too: `user:ana,bob`. */
  carries?: boolean;
}
const ANY_WORD: Reading = { key: '', make: bare, code: 'badRange', carries: true };

function alternatives(piece: string, errors: FilterError[]): Keyed[] {
  const tests: Keyed[] = [];
  let reading = ANY_WORD;
  for (const [place, written] of splitAt(piece, ',').entries()) {
    const negated = place > 0 && isNegated(written);
    const part = negated ? written.slice(1) : written;
    const [, name = '', sign = '', rest = ''] = /^([\p{L}_]*)([<>]=|[<>=:])(.*)$/su.exec(part) ?? [];
    const isKeyed = sign !== '' && (name !== '' || sign !== ':');
    if (isKeyed) reading = readKey(name, sign, rest);
    const { code, key, make } = reading;
    const value = isKeyed ? rest : part;
    const test = make(unquote(value).toLowerCase(), value.startsWith('"'));
    if (test) tests.push([key || (verdictOf(value) ? 'is' : ''), negated ? not(test) : test]);
    // A word that is yet to be typed takes nothing away.
    else if (value || code === 'badNumber')
      errors.push({ code, text: code === 'unknownKey' ? name || part : part, part });
    if (!reading.carries) reading = ANY_WORD;
  }
  return tests;
}

function readKey(name: string, sign: string, value: string): Reading {
  const key = canonical(name);
  const equals = sign === ':' || sign === '=';
  const make = own(WORDS, key);
  if (make) {
    if (!equals) return { key, make: () => null, code: 'badSign' };
    const code = /[[\]]/.test(value) ? 'badRange' : 'badWord';
    return { key, make: (text, quoted) => (text ? make(text, quoted) : null), code, carries: true };
  }
  const verdict = verdictOf(name);
  // `idle>1h`: idle, and for more than an hour. `free>=4` counts, `free>1h` does not.
  const lasts = verdict !== null && (verdict !== 'free' || readSeconds(value, '') !== null);
  const figure = own(NUMBERS, lasts ? 'since' : (verdict ?? key));
  if (!figure) return { key, make: () => null, code: 'unknownKey' };
  const compare = (text: string) => comparison(figure, equals ? '=' : sign, text);
  return {
    key: lasts ? 'is' : (verdict ?? key),
    make: (text) => {
      const test = compare(text);
      return lasts && test ? (facts) => facts.gpu.verdict === verdict && test(facts) : test;
    },
    code: 'badNumber',
    carries: equals,
  };
}

function comparison(figure: Figure, sign: string, text: string): Test | null {
  // `memory:>=40G`, and `memory:24..48`.
  const [, inner, plain] = /^([<>]=?)?(.*)$/s.exec(text)!;
  const way = inner ?? sign;
  const range = way === '=' ? /^(.*?)(?:\.\.|[-–])(.*)$/s.exec(plain!) : null;
  const ends = (range ? range.slice(1) : [plain!]).map((end) => (range && !end ? NaN : figure.read(end)));
  if (ends.includes(null) || (range && ends.every(Number.isNaN))) return null;
  const [low, high = low] = ends as number[];
  const least = figure.from?.(low!) ?? low!;
  return (facts) => {
    const known = figure.of(facts);
    // What is unknown fulfils nothing: it must never pass for free.
    if (known === null || known === undefined) return false;
    if (way === '<') return known < least;
    if (way === '<=') return known <= low!;
    if (way === '>') return known > low!;
    if (way === '>=') return known >= least;
    // An end that is left open is no number, and no limit.
    return !(known < least) && !(known > high!);
  };
}

function bare(value: string, quoted: boolean): Test | null {
  const verdict = quoted ? null : verdictOf(value);
  if (verdict) return ({ gpu }) => gpu.verdict === verdict;
  const match = !quoted && /[[\]]/.test(value) ? exactly(value, false) : containing(value);
  if (!match) return null;
  const isTheirs = isOf(match);
  const isOne = isModel(value);
  return (facts) =>
    match(facts.gpu.node) || match(facts.node?.display_name) || isOne(facts.gpu) || isTheirs(facts);
}

/** The verdict that a word means, in any language of the page; accents may be left out. */
export function verdictOf(word: string): Verdict | null {
  return SPOKEN.get(word.toLowerCase().normalize('NFD').replace(/\p{M}/gu, '')) ?? null;
}

/** What a table itself has; `constructor` is a word like any other. */
function own<Value>(table: Record<string, Value>, key: string): Value | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

function canonical(name: string): string {
  const lower = name.toLowerCase();
  return own(SHORT, lower) ?? lower;
}

type Match = (text: string | null | undefined) => boolean;

/** This very name, or one of `gpu[01-16]`; null if those brackets make no sense. */
function exactly(value: string, quoted: boolean): Match | null {
  if (quoted || !/[[\]]/.test(value)) return wildcard(value);
  const names = expand(value);
  if (!names) return null;
  if (value.includes('*')) {
    const all = names.map(wildcard);
    return (text) => all.some((match) => match(text));
  }
  const set = new Set(names);
  return (text) => !!text && set.has(text.toLowerCase());
}

function wildcard(value: string): Match {
  if (!value.includes('*')) return (text) => text?.toLowerCase() === value;
  const pattern = new RegExp(`^${value.split('*').map(escape).join('.*')}$`, 'i');
  return (text) => !!text && pattern.test(text);
}

/** The beginning of any of its words: of a first name, of a surname. */
function beginning(value: string): Match {
  if (value.includes('*')) return wildcard(value);
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])${escape(value)}`, 'iu');
  return (text) => !!text && pattern.test(text);
}

function containing(value: string): Match {
  if (value.includes('*')) return wildcard(value);
  // The same names come thousands of times.
  const known = new Map<string, boolean>();
  return (text) => {
    if (!text) return false;
    let answer = known.get(text);
    if (answer === undefined) known.set(text, (answer = text.toLowerCase().includes(value)));
    return answer;
  };
}

function escape(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

function unquote(text: string): string {
  return text.replaceAll('"', '');
}

function readNumber(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?)\s*(?:%|w|c|°c)?$/i.exec(text);
  return match ? Number(match[1]) : null;
}

function readBytes(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?)\s*((?:[kmgt](?:i?b)?|b)?)$/i.exec(text);
  // A bare number is gigabytes: nobody asks for 40 bytes. The board has the same rule.
  const unit = match?.[2]!.charAt(0).toLowerCase() || 'g';
  return match ? Number(match[1]) * 1024 ** 'bkmgt'.indexOf(unit) : null;
}

/** A bare number is minutes; with no such rule it is no time. */
function readSeconds(text: string, usual = 'm'): number | null {
  const match = /^(\d+(?:\.\d+)?)\s*(s|min|m|h|d)?$/i.exec(text);
  const unit: Record<string, number> = { s: 1, m: 60, min: 60, h: 3600, d: 86400 };
  const seconds = unit[match?.[2]?.toLowerCase() ?? usual];
  return match && seconds ? Number(match[1]) * seconds : null;
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
