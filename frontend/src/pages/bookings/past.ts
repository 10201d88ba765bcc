import type { BookingView } from '../../api/bookings';
import { HOUR, isOpen } from '../../state/booking';
import type { Language } from '../../text/language.svelte';

/** Those that are over and were something, the last first. */
export const overOf = (bookings: readonly BookingView[]): BookingView[] =>
  bookings.filter((one) => !isOpen(one) && one.end > one.start).sort((a, b) => b.end - a.end);

/** How much of a booking its booker used; null: nobody has counted. */
export function usedText({ use }: BookingView, { decimal, number, say }: Language): string | null {
  if (!use) return null;
  const { used_seconds, others_seconds, unused_seconds, unobserved_seconds } = use;
  const all = used_seconds + others_seconds + unused_seconds + unobserved_seconds;
  if (!all) return null;
  return say('book_usedOf', { percent: number((100 * used_seconds) / all), hours: decimal(all / HOUR) });
}
