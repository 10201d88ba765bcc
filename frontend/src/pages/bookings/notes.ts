/** What is booked now, and what is worth a word about it; what a newer board says otherwise stays as it is. */

import type { BookingAnswer } from '../../api/bookings';
import { placesText, type Away } from '../../state/booking';
import type { Language } from '../../text/language.svelte';
import { momentText } from '../../text/moments';

type Spoken = Pick<Language, 'say' | 'tag'>;
type Note = BookingAnswer['notes'][number];

export function doneText({ booking, notes }: BookingAnswer, now: number, language: Spoken): string {
  const { say, tag } = language;
  const [start, time] = [booking.start, booking.end].map((at) => momentText(at, now, tag));
  const places = placesText(booking.places, say('book_whole'));
  return `${say('book_done', { places, start: start!, time: time! })} ${notesText(notes, language)}`.trim();
}

/** Why these GPUs were chosen, and what is the matter with them. */
export const notesText = (notes: readonly Note[], language: Pick<Language, 'say'>): string =>
  notes.map((note) => noteText(note, language)).join(' ');

function noteText({ code, text, values }: Note, { say }: Pick<Language, 'say'>): string {
  const { node, gpus, model, size } = values;
  if (code === 'booking-chosen-spread') return say('note_spread');
  if (code === 'booking-chosen-smallest' && typeof size === 'number')
    return say('note_smallest', { node: String(node), size, model: String(model ?? say('gpu')) });
  const word = /^booking-(stale|broken)-now$/.exec(code)?.[1] as Away['word'] | undefined;
  if (!word) return text;
  return awayText({ node: String(node), gpus: Array.isArray(gpus) ? gpus : null, word }, { say });
}

/** What may not be there at the time that is booked. */
export function awayText({ node, gpus, word }: Away, { say }: Pick<Language, 'say'>): string {
  const place = gpus ? `${node} ${say('gpu')} ${gpus.join(', ')}` : node;
  return say('note_away', { place, word: say(word), count: gpus?.length ?? 1 });
}
