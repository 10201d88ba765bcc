/** Who used how many GPUs lately, beside who holds some now. Pure. */

import type { PersonMeans, UsageAveragesAnswer } from '../api/usage';
import { folded, isSamePerson, type Holder } from './people';

/** Somebody's means; of whom nothing was counted, as many unknown ones. */
export function meansOf({ people, windows }: UsageAveragesAnswer, user: string): PersonMeans['means'] {
  const known = people.find(({ name }) => isSamePerson(name, user));
  return known?.means ?? windows.map(({ hours }) => ({ hours, used: null, reserved: null, trend: null }));
}

/** With those who used some lately and hold none now; whom nothing identifies holds nothing either. */
export function withAbsent(holders: Holder[], { people }: UsageAveragesAnswer): Holder[] {
  const here = new Set(holders.map(({ user }) => folded(user)));
  const absent = people.filter(
    ({ name, means }) => name !== 'unknown' && !here.has(folded(name)) && means.some(({ used }) => used),
  );
  return [...holders, ...absent.map(({ name }) => holdsNothing(name))];
}

function holdsNothing(user: string): Holder {
  const none = { gpus: 0, idle: 0, booked: 0, held: 0, until: null };
  return { user, ...none, memoryBytes: null, processes: 0, holdings: [] };
}
