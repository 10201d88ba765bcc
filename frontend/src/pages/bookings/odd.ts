import type { BookingView } from '../../api/bookings';
import { odditiesOf, type Oddity } from '../../state/agenda';
import { bookedRows } from '../../state/booking';
import type { App } from '../../state/context';
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

/** What is not as booked of a booking that runs. */
export function oddOf(booking: BookingView, { clock, fleet }: Pick<App, 'clock' | 'fleet'>): Oddity[] {
  if (booking.state !== 'running') return [];
  const rowsOf = (node: string) => (fleet.nodes.get(node)?.gpus ?? []).map(({ record }) => record);
  const rows = booking.places.flatMap((place) => bookedRows(place, rowsOf(place.node)));
  return odditiesOf([booking], rows, clock.coarse).filter(({ kind }) => kind !== 'overrun');
}
