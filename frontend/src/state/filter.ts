/**
 * The filter's small grammar: space = and, comma = or, `-` = not, quotes keep spaces together.
 *
 *     free model:a100 memory>=40G -node:gpu0* user:ana,bob since>2h free>=4
 *
 * The same words as `gpuboard free`. Parsing never throws: what it cannot read is named in `errors`.
 */

import { BOX_SHARE, nominalModel } from './models';
import { VERDICTS, type GpuRow, type NodeRow, type Verdict } from '../api/wire';

export interface Facts {
  gpu: GpuRow;
  node: NodeRow | undefined;
  /** Free GPUs on the same node. */
  nodeFree: number;
  now: number;
  me: string | null;
}

export type ErrorCode = 'unknownKey' | 'badNumber' | 'badWord' | 'openQuote';
export interface FilterError {
  code: ErrorCode;
  text: string;
}

type Test = (facts: Facts) => boolean;

export interface Term {
  /** As written, so that a chip can take it out again. */
  text: string;
  test: Test;
}

export interface Filter {
  terms: Term[];
  errors: FilterError[];
}

const FLAGS = ['trespass', 'hot', 'throttled', 'orphaned_memory'];
const SHORT: Record<string, string> = { mem: 'memory', temp: 'temperature', util: 'use', model: 'model' };

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
    if ((VERDICTS as readonly string[]).includes(value)) return ({ gpu }) => gpu.verdict === value;
    const flag = value.replace('-', '_');
    if (FLAGS.includes(flag)) return ({ gpu }) => (gpu.flags as string[]).includes(flag);
    if (value === 'mine') return isMine;
    return null;
  },
  node: (value) => {
    const match = exactly(value);
    return ({ gpu, node }) => match(gpu.node) || match(node?.display_name);
  },
  model: (value) => {
    const match = containing(value);
    // As the driver says it, or as the page does.
    return ({ gpu }) => match(gpu.model) || match(gpu.mig_profile) || match(nominalModel(gpu));
  },
  user: (value, quoted) => {
    if (value === 'me' && !quoted) return isMine;
    return isOf(quoted ? exactly(value) : beginning(value));
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
    [claim, ...(claim?.behind ?? []), ended_claim].some((each) => match(each?.who));
}

export function isMine({ gpu, me }: Pick<Facts, 'gpu' | 'me'>): boolean {
  return me !== null && (!!gpu.users?.some((use) => use.name === me) || gpu.claim?.who === me);
}

export function parseFilter(text: string): Filter {
  const { pieces, open } = split(text);
  const errors: FilterError[] = open ? [{ code: 'openQuote', text: open }] : [];
  const terms: Term[] = [];
  for (const piece of pieces) {
    const negated = piece.startsWith('-') && piece.length > 1;
    const tests = alternatives(negated ? piece.slice(1) : piece, errors);
    if (!tests.length) continue;
    const any: Test = (facts) => tests.some((test) => test(facts));
    terms.push({ text: piece, test: negated ? (facts) => !any(facts) : any });
  }
  return { terms, errors };
}

export function matches(filter: Filter, facts: Facts): boolean {
  return filter.terms.every((term) => term.test(facts));
}

function alternatives(piece: string, errors: FilterError[]): Test[] {
  const tests: Test[] = [];
  let key = '';
  for (const part of splitAt(piece, ',')) {
    if (part === '') continue;
    const colon = /^([a-z_]+):(.*)$/is.exec(part);
    const compare = /^([a-z_]+)(<=|>=|<|>|=)(.*)$/i.exec(part);
    if (compare && !colon) {
      const test = comparison(compare[1]!, compare[2]!, compare[3]!, part, errors);
      if (test) tests.push(test);
      continue;
    }
    if (colon) key = canonical(colon[1]!);
    const written = colon ? colon[2]! : part;
    const quoted = written.startsWith('"');
    const value = unquote(written).toLowerCase();
    if (key) {
      const make = own(WORDS, key);
      const test = make?.(value, quoted);
      if (!make) errors.push({ code: 'unknownKey', text: colon?.[1] ?? part });
      else if (!test) errors.push({ code: 'badWord', text: part });
      else if (value) tests.push(test);
    } else tests.push(bare(value, quoted));
  }
  return tests;
}

function comparison(
  name: string,
  sign: string,
  value: string,
  part: string,
  errors: FilterError[],
): Test | null {
  const number = own(NUMBERS, canonical(name));
  const limit = number?.read(unquote(value)) ?? null;
  if (!number) errors.push({ code: 'unknownKey', text: name });
  else if (limit === null) errors.push({ code: 'badNumber', text: part });
  if (!number || limit === null) return null;
  return (facts) => {
    const known = number.of(facts);
    // What is unknown fulfils nothing: it must never pass for free.
    if (known === null || known === undefined) return false;
    const from = number.from?.(limit) ?? limit;
    if (sign === '<') return known < from;
    if (sign === '<=') return known <= limit;
    if (sign === '>') return known > limit;
    if (sign === '>=') return known >= from;
    return from <= known && known <= limit;
  };
}

function bare(value: string, quoted: boolean): Test {
  if (!quoted && (VERDICTS as readonly string[]).includes(value)) return WORDS['is']!(value, false)!;
  const match = containing(value);
  const isTheirs = isOf(match);
  return (facts) =>
    match(facts.gpu.node) ||
    match(facts.node?.display_name) ||
    match(facts.gpu.model) ||
    match(nominalModel(facts.gpu)) ||
    isTheirs(facts);
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

function exactly(value: string): Match {
  if (!value.includes('*')) return (text) => text?.toLowerCase() === value;
  const pattern = new RegExp(`^${value.split('*').map(escape).join('.*')}$`, 'i');
  return (text) => !!text && pattern.test(text);
}

/** The beginning of any of its words: of a first name, of a surname. */
function beginning(value: string): Match {
  if (value.includes('*')) return exactly(value);
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])${escape(value)}`, 'iu');
  return (text) => !!text && pattern.test(text);
}

function containing(value: string): Match {
  if (value.includes('*')) return exactly(value);
  return (text) => !!text && text.toLowerCase().includes(value);
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

function readSeconds(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?)\s*(s|min|m|h|d)?$/i.exec(text);
  const unit: Record<string, number> = { s: 1, m: 60, min: 60, h: 3600, d: 86400 };
  return match ? Number(match[1]) * (unit[(match[2] ?? 'm').toLowerCase()] ?? 60) : null;
}

function split(text: string): { pieces: string[]; open: string | null } {
  const pieces = splitAt(text, ' ').filter(Boolean);
  const last = pieces.at(-1);
  const open = last && last.split('"').length % 2 === 0 ? last : null;
  return { pieces, open };
}

/** Split at a character, but not inside quotes. */
function splitAt(text: string, separator: string): string[] {
  const parts: string[] = [];
  let part = '';
  let quoted = false;
  for (const character of text) {
    if (character === '"') quoted = !quoted;
    if (!quoted && (separator === ' ' ? /\s/.test(character) : character === separator)) {
      parts.push(part);
      part = '';
    } else part += character;
  }
  parts.push(part);
  return parts;
}

/** The verdicts a filter text asks for by plain words, as the chips show them. */
export function chosenVerdicts(text: string): Set<Verdict> {
  const piece = split(text).pieces.find(isVerdictList);
  return new Set((piece ? splitAt(piece.replace(/^is:/i, ''), ',') : []) as Verdict[]);
}

/** The same text with one verdict switched on or off; null switches all off. */
export function toggleVerdict(text: string, verdict: Verdict | null): string {
  const chosen = chosenVerdicts(text);
  if (verdict === null) chosen.clear();
  else if (!chosen.delete(verdict)) chosen.add(verdict);
  const rest = split(text).pieces.filter((piece) => !isVerdictList(piece));
  const list = VERDICTS.filter((known) => chosen.has(known)).join(',');
  return [list, ...rest].filter(Boolean).join(' ');
}

/** The same text with a term added, or taken out if it is there. */
export function toggleTerm(text: string, term: string): string {
  const pieces = split(text).pieces;
  const rest = pieces.filter((piece) => piece !== term);
  return (rest.length < pieces.length ? rest : [...pieces, term]).join(' ');
}

export function hasTerm(text: string, term: string): boolean {
  return split(text).pieces.includes(term);
}

function isVerdictList(piece: string): boolean {
  const words = splitAt(piece.replace(/^is:/i, ''), ',');
  return words.length > 0 && words.every((word) => (VERDICTS as readonly string[]).includes(word));
}

/** `key:value`, quoted where the grammar needs it, or where only this very person is meant. */
export function wordTerm(key: string, value: string): string {
  return key === 'user' || /[\s,]/.test(value) ? `${key}:"${value.replaceAll('"', '')}"` : `${key}:${value}`;
}
