/** Who holds GPUs without working on them, and for how long: what the people page orders, shows and asks about. Pure. */

import type { Gpu } from './fleet.svelte';
import type { Holder } from './people';

export const PEOPLE_SORTS = ['gpus', 'idle', 'hours'] as const;
export type PeopleSort = (typeof PEOPLE_SORTS)[number];

/** What of somebody's is idle. */
export interface Idle {
  gpus: Gpu[];
  /** Since when the first of them is; null: nobody can tell. */
  since: number | null;
  /** GPU-hours so far, of those of which it is known. */
  hours: number;
}

export function idleOf({ holdings }: Pick<Holder, 'holdings'>, now: number): Idle {
  const gpus = holdings
    .filter((holding) => !holding.booked)
    .flatMap((holding) => holding.gpus)
    .filter((gpu) => gpu.record.verdict === 'idle');
  const since = gpus.flatMap((gpu) => gpu.record.since ?? []);
  return {
    gpus,
    since: since.length ? Math.min(...since) : null,
    hours: since.reduce((sum, at) => sum + Math.max(0, now - at), 0) / 3600,
  };
}

/** The same people, most of what was asked for first; who is equal keeps the order of weight. */
export function sortPeople(people: Holder[], sort: PeopleSort, now: number): Holder[] {
  if (sort === 'gpus') return people;
  const rank = new Map(
    people.map((person) => [person, sort === 'idle' ? person.idle : idleOf(person, now).hours]),
  );
  return people.toSorted((a, b) => rank.get(b)! - rank.get(a)!);
}
