/** What somebody may have meant: cures for what the filter cannot read, and for what it does not find. Pure. */

import type { FleetNode } from './fleet.svelte';
import { toggleTerm, wordTerm, type FilterError, type Term } from './filter';
import { parseFilter } from './grammar';
import { factsFor } from './passing';
import { bookerOf } from './people';
import { split, verdictOf } from './pieces';

// Words of other tools and languages, and what they are called here.
const MEANT: Record<string, string> = {
  free: 'gpus gpu count number n anzahl nombre 數量',
  memory: 'vram ram size gb gib memory_total speicher memoire mémoire 記憶體 顯存',
  memory_free: 'free_memory vram_free mem_free freememory memfree',
  use: 'usage utilization utilisation gpu_util load auslastung nutzung charge 使用率',
  temperature: 'degrees celsius heat temperatur température 溫度',
  power: 'watts watt leistung puissance 功率',
  since: 'age for time duration seit depuis dauer 多久',
  node: 'host hostname machine server knoten nœud noeud 節點',
  user: 'who owner person people name account nutzer benutzer person utilisateur personne 使用者',
  model: 'gpu_name card type device modell karte modèle modele carte 型號',
  group: 'rack cluster site partition gruppe groupe 群組',
  is: 'state status verdict zustand état etat 狀態',
};
const VERDICTS_MEANT: Record<string, string> = {
  free: 'available unused empty open ready verfügbar disponible 空閒',
  busy: 'used running active working occupied benutzt 忙碌',
  idle: 'sleeping waiting inactive leerlauf 空轉',
  booked: 'reserved claimed reserviert',
  stale: 'old lost offline down late away alt',
  broken: 'error failed bad dead kaputt 壞了',
  unknown: 'unclear',
};
const FLAGS = ['hot', 'throttled', 'trespass', 'no-show', 'orphaned-memory', 'mine'];
const EXAMPLES: Record<string, string> = { memory: '40G', memory_free: '40G', since: '2h', free: '4' };

/** The whole filter with what was meant in place of what cannot be read; null if nobody can tell. */
export function cure(text: string, error: FilterError): string | null {
  const part = mended(error);
  if (part === null) return null;
  const pieces = split(text).map((piece) => replaceIn(piece, error.part, part));
  const cured = pieces.join(' ');
  return parseFilter(cured).errors.length < parseFilter(text).errors.length ? cured : null;
}

function replaceIn(piece: string, from: string, to: string): string {
  const place = piece.indexOf(from);
  return place < 0 ? piece : piece.slice(0, place) + to + piece.slice(place + from.length);
}

function mended({ code, part, text }: FilterError): string | null {
  const [, name = '', sign = '', value = ''] = /^([\p{L}_]*)([<>]=|[<>=:])(.*)$/su.exec(part) ?? [];
  switch (code) {
    case 'unknownKey': {
      // `>=40G` without a word: of all figures it is the one that has such units.
      const key = name ? (meant(name, MEANT) ?? nearest(name, Object.keys(MEANT))[0]) : 'memory';
      if (!key) return null;
      return key + (key === 'free' && (sign === ':' || sign === '=') ? '>=' : sign) + value;
    }
    case 'badNumber': {
      const [, number, unit] = /^([\d.]+)\s*(\p{L})/u.exec(value) ?? [];
      return name + sign + (number ? number + unit : exampleOf(name));
    }
    case 'badWord': {
      const word = verdictMeant(value || text, FLAGS);
      return word ? `is:${word}` : null;
    }
    case 'badSign':
      return `${name}:${value}`;
    case 'badRange':
      return part.replace(/\[([^[\]]*?)[-,]?$/, '[$1]').replace(/(\d+)-(\d+)(?=\])/, swapped);
    case 'openQuote':
      return `${part}"`;
    case 'noWord':
      return null;
  }
}

/** The verdict that a word nearly is, or stands for elsewhere; or one of these other words. */
function verdictMeant(word: string, others: string[] = []): string | undefined {
  return meant(word, VERDICTS_MEANT) ?? nearest(word, [...Object.keys(VERDICTS_MEANT), ...others])[0];
}

function exampleOf(name: string): string {
  const verdict = verdictOf(name);
  return EXAMPLES[verdict ?? name.toLowerCase()] ?? (verdict ? '1h' : '50');
}

function swapped(range: string, first: string, last: string): string {
  return Number(last) < Number(first) ? `${last}-${first}` : range;
}

function meant(word: string, table: Record<string, string>): string | undefined {
  const lower = word.toLowerCase();
  return Object.keys(table).find((key) => table[key]!.split(' ').includes(lower));
}

/** One thing to look for instead, and the filter that does. */
export interface NearMiss {
  shown: string;
  text: string;
}

/** For terms that find nothing by themselves: names that are nearly the same. */
export function nearMisses(text: string, nodes: Iterable<FleetNode>, me: string | null): NearMiss[] {
  const fleet = [...nodes];
  const filter = parseFilter(text);
  const found: NearMiss[] = keyed(filter.terms, text);
  for (const term of filter.terms) {
    if (![...NAMED, ''].includes(term.key) || finds(term, fleet, me)) continue;
    const names = namesOf(fleet, term.key);
    for (const shown of instead(term, names)) {
      const rest = toggleTerm(text, term.text);
      found.push({ shown, text: `${rest} ${shown}`.trim() });
    }
  }
  return found.slice(0, 4);
}

const NAMED = ['node', 'user', 'model', 'group'];

/** `user weber`: a word of the grammar before what it is about means both as one. */
function keyed(terms: Term[], text: string): NearMiss[] {
  return terms.flatMap((term, place) => {
    const next = terms[place + 1];
    const key = NAMED.find((each) => each === term.text.toLowerCase()) ?? meant(term.text, MEANT);
    if (term.key || !next || next.key || !key || !NAMED.includes(key)) return [];
    const shown = `${key}:${next.text}`;
    const rest = toggleTerm(toggleTerm(text, term.text), next.text);
    return [{ shown, text: `${rest} ${shown}`.trim() }];
  });
}

function finds(term: Term, fleet: FleetNode[], me: string | null): boolean {
  const factsOf = factsFor({ terms: [term], errors: [] }, 0, me);
  return fleet.some((node) => node.gpus.some((gpu) => term.test(factsOf(gpu, node))));
}

function instead({ key, text }: Term, names: Map<string, string>): string[] {
  const value = text.replace(/^[\p{L}_]+[:=]/u, '').replaceAll('"', '');
  // `dgx-0[12]` is one number to us, and two to a shell.
  const digits = /\[(\d\d+)\]/;
  const commas = text.replace(digits, (_, inside: string) => `[${[...inside].join(',')}]`);
  if (commas !== text) return [commas];
  const verdict = key ? undefined : verdictMeant(value);
  const near = nearest(value, [...names.keys()])
    .slice(0, 3)
    .map((name) => wordTerm(key || names.get(name)!, name));
  return verdict ? [verdict, ...near] : near;
}

/** Names that one may look for, each with its key. */
function namesOf(fleet: FleetNode[], key: string): Map<string, string> {
  const names = new Map<string, string>();
  const add = (kind: string, name: string | null | undefined) => {
    if (name && (!key || key === kind) && !names.has(name)) names.set(name, kind);
  };
  for (const { record, gpus } of fleet) {
    add('node', record.name);
    for (const group of record.groups) add('group', group);
    for (const gpu of gpus) {
      add('model', gpu.model);
      for (const use of gpu.record.users ?? []) add('user', use.name);
      add('user', bookerOf(gpu.record));
    }
  }
  return names;
}

/** Those of the names that a word is nearly, nearest first. */
export function nearest(word: string, names: string[]): string[] {
  const asked = plain(word);
  const allowed = asked.length < 4 ? 1 : 2;
  const scored: [number, string][] = [];
  for (const name of names) {
    const known = plain(name);
    const score = known === asked ? 0 : distance(asked, known, allowed);
    if (score <= allowed) scored.push([score, name]);
  }
  scored.sort(([a], [b]) => a - b);
  // Who is found but for its writing needs no others.
  const isSame = scored[0]?.[0] === 0;
  return scored.filter(([score]) => !isSame || score === 0).map(([, name]) => name);
}

/** Without case, signs and zeros that only fill up: nlp-0042 is nlp-42. */
function plain(name: string): string {
  return name
    .toLowerCase()
    .replace(/0+(?=\d)/g, (zeros, place: number) => (/\d/.test(name.charAt(place - 1)) ? zeros : ''))
    .replace(/[^\p{L}\p{N}]/gu, '');
}

/** How many letters differ, or more than `most`; two that changed places count as one. */
function distance(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return most + 1;
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, place) => place);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, before[j - 2]! + 1);
      next.push(cost);
    }
    [before, row] = [row, next];
  }
  return row[b.length]!;
}
