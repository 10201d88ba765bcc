/** In which order the people page shows people. Pure; the board itself has no such choice. */

import { idleOf } from './idlers';
import type { Holder } from './people';

export const PEOPLE_SORTS = ['gpus', 'idle', 'hours'] as const;
export type PeopleSort = (typeof PEOPLE_SORTS)[number];

/** The same people, most of what was asked for first; who is equal keeps the order of weight. */
export function sortPeople(people: Holder[], sort: PeopleSort, now: number): Holder[] {
  if (sort === 'gpus') return people;
  const rank = new Map(
    people.map((person) => [person, sort === 'idle' ? person.idle : idleOf(person, now).hours]),
  );
  return people.toSorted((a, b) => rank.get(b)! - rank.get(a)!);
}
