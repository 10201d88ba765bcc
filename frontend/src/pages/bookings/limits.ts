/** Which policies a booking would break, as the board would refuse it. Pure; the board decides. */

import type { LimitView, LimitsView } from '../../api/bookings';
import { HOUR, shared, type Span } from '../../state/booking';
import type { Refusal } from './refused';

interface Wanted {
  span: Span;
  gpus: number;
  now: number;
}

export const exceeded = ({ limits, weeks }: LimitsView, wanted: Wanted): Refusal[] =>
  limits.flatMap((limit) => {
    const { policy, most, group } = limit;
    // A second more or less is nobody's intention.
    const slack = policy === 'hours_per_week' ? 1 / HOUR : 0;
    const over = askedOf(limit, weeks, wanted).find(({ asked }) => asked > most + slack);
    const code = `booking-${policy.replaceAll('_', '-')}`;
    return over ? [{ code, message: '', values: { policy, group, limit: most, ...over } }] : [];
  });

/** How much it would be, and what is left without it; of GPU-hours by the weeks in which they lie. */
function askedOf(
  { policy, most, left }: LimitView,
  weeks: LimitsView['weeks'],
  { span, gpus, now }: Wanted,
): { asked: number; left: number }[] {
  if (policy === 'longest') return [{ asked: span.end - span.start, left: most }];
  if (policy === 'ahead') return [{ asked: span.start - now, left: most }];
  if (policy === 'gpus_at_once') return [{ asked: most - (left ?? most) + gpus, left: left ?? most }];
  return weeks.map((week) => {
    const rest = week.left ?? most;
    return { asked: most - rest + (gpus * shared(span, week)) / HOUR, left: rest };
  });
}
