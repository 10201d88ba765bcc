/** What the board answers about bookings, and how to book. */

import { Asker } from './asker';
import type { BookingAnswer, BookingChange, BookingList, BookingWish, LimitsView } from './generated';

export type {
  BookedPlaces,
  BookingAnswer,
  BookingList,
  BookingView,
  LimitsView,
  LimitView,
} from './generated';

/** Asks for bookings. Only parts of the page that open later need it. */
export class Bookings extends Asker {
  /** Those of a span, of one node or of all. */
  list = (from: number, to: number, node: string | null = null): Promise<BookingList> =>
    this.call(
      'GET',
      `bookings?from=${Math.floor(from)}&to=${Math.floor(to)}${node === null ? '' : `&node=${encodeURIComponent(node)}`}`,
    );
  /** One's own of a span. */
  own = (from: number, to: number): Promise<BookingList> =>
    this.call('GET', `bookings?from=${Math.floor(from)}&to=${Math.floor(to)}&mine=true`);
  /** How much one may book in a span, as if a booking that is to change were not. */
  limits = (from: number, to: number, without: string | null = null): Promise<LimitsView> =>
    this.call(
      'GET',
      `bookings/limits?from=${Math.floor(from)}&to=${Math.floor(to)}${without === null ? '' : `&without=${encodeURIComponent(without)}`}`,
    );
  book = (wish: Partial<BookingWish>): Promise<BookingAnswer> => this.change('POST', 'bookings', wish);
  edit = (id: string, change: Partial<BookingChange>): Promise<BookingAnswer> =>
    this.change('PATCH', `bookings/${encodeURIComponent(id)}`, change);
  end = (id: string): Promise<BookingAnswer> => this.change('DELETE', `bookings/${encodeURIComponent(id)}`);
}
