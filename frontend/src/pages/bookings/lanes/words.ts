import type { BookingView } from '../../../api/bookings';
import type { LaneBooking } from '../../../state/lanes';
import type { Language } from '../../../text/language.svelte';
import { momentText, spanText } from '../../../text/moments';

/** From when to when; of what is claimed without a booking nobody knows since when, and perhaps not until when. */
export function spanWords({ start, end }: BookingView, now: number, tag: string): [string, string] {
  if (start && end < Infinity) return spanText(start, end, now, tag);
  return [start ? momentText(start, now, tag) : '…', end < Infinity ? momentText(end, now, tag) : '∞'];
}

/** Whose it is; a name that anybody may have typed says so. */
export function whoWords({ kind, who, is_unverified }: LaneBooking, { say }: Language): string {
  if (kind === 'block') return say('book_maintenance');
  if (who === null) return say('book_taken');
  return is_unverified ? `${who} (${say('unverified')})` : who;
}
