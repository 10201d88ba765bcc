import { tomorrow, type Length } from '../../state/booking';
import type { Language } from '../../text/language.svelte';
import { momentText } from '../../text/moments';

/** What a usual end is called; of what begins on another day that end's own day is named. */
export function lengthText(
  { key, end }: Length,
  start: number,
  now: number,
  { say, tag }: Pick<Language, 'say' | 'tag'>,
): string {
  if (key === '2h') return say('hours', { n: 2 });
  if (key === '4h') return say('hours', { n: 4 });
  if (start >= tomorrow(now)) return momentText(end, now, tag);
  return key === 'tonight' ? say('book_tonight', { time: '18:00' }) : say('book_tomorrow', { time: '9:00' });
}
