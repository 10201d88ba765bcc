/** How one says what is booked for somebody, and who is there instead. */

import type { Booked } from '../../state/booked-for';
import type { Language } from '../../text/language.svelte';

const names = (by: string[], { person }: Language) => by.map(person).join(', ');

/** With how many GPUs. */
export function bookedCount({ kind, by, gpus }: Booked, language: Language): string {
  const count = gpus.length;
  if (kind === 'taken') return language.say('usage_takenBy', { count, who: names(by, language) });
  return language.say(kind === 'missed' ? 'usage_missed' : 'nBooked', { count });
}

/** Beside the GPUs themselves. */
export function bookedPlace({ kind, by }: Booked, language: Language): string {
  if (kind === 'taken') return language.say('usage_placeTaken', { who: names(by, language) });
  return language.say(kind === 'missed' ? 'usage_placeMissed' : 'booked');
}
