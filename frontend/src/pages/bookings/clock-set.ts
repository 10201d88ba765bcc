/** What is typed where the viewer's clock is set over it, or comes to it twice. */

import { fieldMoment, fieldText } from '../../state/booking';
import type { Key } from '../../text/language.svelte';

const MINUTES_BACK = [30, 60, 120];

/** What is to be said of a time that was typed into a field; null: nothing, it is meant as it stands there. */
export function clockWord(text: string): Extract<Key, 'book_clockOver' | 'book_clockTwice'> | null {
  const at = fieldMoment(text);
  if (at === null) return null;
  const typed = text.slice(0, 16);
  if (fieldText(at) !== typed) return 'book_clockOver';
  return MINUTES_BACK.some((minutes) => fieldText(at + 60 * minutes) === typed) ? 'book_clockTwice' : null;
}
