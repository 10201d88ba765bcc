/** How a filter is read; `filter.ts` says what it may look like. It comes with the first one that is asked for. */

import type { GpuRow } from '../api/wire';
import { steadyUse } from './figures';
import type { ErrorCode, Facts, Filter, FilterError, Term, Test } from './filter';
import { BOX_SHARE, nominalModel } from './models';
import { bookerOf, isMine, isSamePerson, usesOf } from './people';
import { isWordless, split, splitAt, verdictOf } from './pieces';
import { expand } from './ranges';

export { passing } from './passing';
export { split, verdictOf } from './pieces';

const FLAGS = ['trespass', 'no_show', 'hot', 'throttled', 'orphaned_memory'];
const SHORT: Record<string, string> = { mem: 'memory', temp: 'temperature', util: 'use' };

interface NumberWord {
  of: (facts: Facts) => number | null;
  read: (text: string) => number | null;
  /** From which value on it counts as the one asked for; the value itself where there is no such rule. */
  from?: (asked: number) => number;
}

const NUMBERS: Record<string, NumberWord> = {
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
  use: { of: ({ gpu }) => steadyUse(gpu), read: readNumber },
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
    return isOf(quoted ? exactPerson(value) : beginning(value));
  },
  uuid: (value) => {
    const match = containing(value);
    return ({ gpu }) => match(gpu.uuid);
  },
};

/** Somebody uses it or has booked it, as the people page counts: by name or by account. */
function isOf(match: Match): Test {
  return ({ gpu }) => usesOf(gpu).some((use) => match(use.name) || match(use.user)) || match(bookerOf(gpu));
}

/** Whoever had it or waits for it too: by any name that the row has. */
function isNamedOn(match: Match): Test {
  return ({ gpu: { users, claim, ended_claim } }) =>
    !!users?.some((use) => match(use.name) || match(use.user)) ||
    match(claim?.who) ||
    match(ended_claim?.who) ||
    !!claim?.behind.some((each) => match(each.who));
}

/** As the driver says it, the board or the page; `a100-80` is an A100 with 80 GB. */
function isModel(value: string): (gpu: GpuRow) => boolean {
  const match = containing(squeeze(value));
  // Neighbours are alike, and thousands of nodes have a handful of models.
  const known = new Map<string, boolean>();
  let last: GpuRow | null = null;
  let answer = false;
  return (gpu) => {
    if (
      gpu.model !== last?.model ||
      gpu.driver_model !== last.driver_model ||
      gpu.memory_total_bytes !== last.memory_total_bytes
    ) {
      const { model, driver_model, memory_total_bytes, memory_unified, mig_profile, mig_parent_uuid } = gpu;
      const kind = JSON.stringify([
        [model, driver_model, memory_total_bytes],
        [memory_unified, mig_profile, !mig_parent_uuid],
      ]);
      answer =
        known.get(kind) ??
        [model, driver_model, nominalModel(gpu)].some((name) => match(squeeze(name ?? '')));
      known.set(kind, answer);
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
    if (isWordless(piece)) {
      errors.push({ code: 'noWord', text: piece, part: piece });
      continue;
    }
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

function comparison(figure: NumberWord, sign: string, text: string): Test | null {
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
  const isTheirs = isNamedOn(match);
  const isOne = isModel(value);
  return (facts) =>
    match(facts.gpu.node) || match(facts.node?.display_name) || isOne(facts.gpu) || isTheirs(facts);
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

function exactPerson(value: string): Match {
  return value.includes('*') ? wildcard(value) : (text) => isSamePerson(text, value);
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
