/** Everything that one can go to, by a few letters of its name. Pure: fleet in, places out. */

import { natural, type FleetNode } from './fleet.svelte';
import { people } from './people';

export type Destination =
  | { kind: 'page'; name: string; path: string }
  | { kind: 'node'; name: string; about: string }
  | { kind: 'gpu'; name: string; uuid: string; about: string }
  | { kind: 'person'; name: string; gpus: number };

interface Asked {
  query: string;
  nodes: Iterable<FleetNode>;
  /** Whether the viewer may see names. */
  named: boolean;
  pages: { name: string; path: string }[];
}

const MOST = 12;

/** The best first; without a word the pages, then who and what comes first. */
export function places({ query, nodes, named, pages }: Asked): Destination[] {
  const asked = query.trim().toLowerCase();
  const fleet = [...nodes];
  const found: [score: number, place: Destination][] = [];
  const add = (score: number | null, place: Destination) => {
    if (score !== null) found.push([score, place]);
  };
  for (const page of pages) add(likeness(asked, page.name), { kind: 'page', ...page });
  for (const node of fleet) add(likenessOf(asked, node), placeOf(node));
  if (named && asked)
    for (const { user, holdings } of people(fleet)) {
      const found = holdings.reduce((sum, { gpus }) => sum + gpus.length, 0);
      add(likeness(asked, user), { kind: 'person', name: user, gpus: found });
    }
  for (const [score, place] of gpus(asked, fleet)) add(score, place);
  return found
    .sort(([a, one], [b, other]) => a - b || natural.compare(one.name, other.name))
    .slice(0, MOST)
    .map(([, place]) => place);
}

function placeOf({ record }: FleetNode): Destination {
  return { kind: 'node', name: record.name, about: record.display_name ?? '' };
}

function likenessOf(asked: string, { record }: FleetNode): number | null {
  const byName = likeness(asked, record.name);
  return record.display_name ? least(byName, likeness(asked, record.display_name)) : byName;
}

function least(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.min(a, b);
}

/** `dgx-01 3`, `dgx 1:3` or the beginning of a UUID. */
function gpus(asked: string, fleet: FleetNode[]): [number, Destination][] {
  const found: [number, Destination][] = [];
  const [, host, label] = /^(.*?)(?:\s+gpu)?[\s:#]+(\d[\d:]*)$/.exec(asked) ?? [];
  const uuid = /^(gpu|mig)-[\da-f]/.test(asked) || /^[\da-f]{6,}/.test(asked);
  if (!label && !uuid) return found;
  for (const node of fleet) {
    const score = label ? likenessOf(host!, node) : null;
    if (score === null && !uuid) continue;
    for (const { model, record } of node.gpus) {
      const isIt = score !== null && record.label === label;
      if (!isIt && !(uuid && record.uuid.toLowerCase().includes(asked))) continue;
      const name = `${record.node} GPU ${record.label}`;
      found.push([isIt ? score : 0, { kind: 'gpu', name, uuid: record.uuid, about: model }]);
    }
  }
  return found;
}

/** How far a name is from what was typed: 0 is the same, null is another name. Letters may be left out, not swapped. */
export function likeness(asked: string, name: string): number | null {
  const text = name.toLowerCase();
  if (!asked) return 5;
  if (text === asked || bare(text) === bare(asked)) return 0;
  if (text.startsWith(asked)) return 1;
  const words = asked.split(/\s+/);
  if (words.every((word) => text.includes(word)))
    return words.every((word) => startsWord(text, text.indexOf(word))) ? 2 : 3;
  let place = 0;
  for (const letter of asked.replace(/\s/g, '')) {
    place = text.indexOf(letter, place) + 1;
    if (!place) return null;
  }
  return 4;
}

function startsWord(text: string, place: number): boolean {
  return place === 0 || /[^\p{L}\p{N}]/u.test(text.charAt(place - 1));
}

/** Without signs and zeros that only fill up: dgx1 is dgx-01. */
function bare(text: string): string {
  return text.replace(/(?<!\d)0+(?=\d)/g, '').replace(/[^\p{L}\p{N}]/gu, '');
}
