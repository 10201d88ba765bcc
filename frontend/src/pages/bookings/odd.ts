import type { BookingView } from '../../api/bookings';
import type { GpuRow } from '../../api/wire';
import type { Oddity } from '../../state/agenda';
import { bookedRows } from '../../state/booking';
import type { Language } from '../../text/language.svelte';
import { momentText } from '../../text/moments';

/** What is not as booked, as a sentence. */
export function oddText(one: Oddity, now: number, { say, tag }: Pick<Language, 'say' | 'tag'>): string {
  const time = (at: number) => momentText(at, now, tag);
  if (one.kind === 'no-show') {
    const { state, end } = one.booking;
    return say(state === 'released' ? 'book_noShowBack' : 'book_noShow', { who: one.who, time: time(end) });
  }
  if (one.kind === 'trespass') return say('book_trespass', { who: one.who, booker: one.booker });
  return say('book_overrun', { who: one.who, time: time(one.until) });
}

/** What of it is about a booking that runs. */
export function oddOf(
  booking: BookingView,
  odd: readonly Oddity[],
  rowsOf: (node: string) => readonly GpuRow[],
): Oddity[] {
  if (booking.state !== 'running') return [];
  const uuids = new Set(
    booking.places.flatMap((place) => bookedRows(place, rowsOf(place.node)).map(({ uuid }) => uuid)),
  );
  return odd.filter((one) =>
    one.kind === 'no-show'
      ? one.booking.id === booking.id
      : one.kind === 'trespass' && uuids.has(one.gpu.uuid),
  );
}
