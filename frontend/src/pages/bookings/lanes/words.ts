import type { BookingView } from '../../../api/bookings';
import { momentText, spanText } from '../../../text/moments';

/** From when to when; of what is claimed without a booking nobody knows since when, and perhaps not until when. */
export function spanWords({ start, end }: BookingView, now: number, tag: string): [string, string] {
  if (start && end < Infinity) return spanText(start, end, now, tag);
  return [start ? momentText(start, now, tag) : '…', end < Infinity ? momentText(end, now, tag) : '∞'];
}
