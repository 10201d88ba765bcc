import type { BookingView } from '../../api/bookings';
import type { GpuRow } from '../../api/wire';
import type { App } from '../../state/context';
import type { FleetNode } from '../../state/fleet.svelte';
import { matches } from '../../state/passing';

/** Whether a GPU passes the filter as it would be while a booking holds: then it is of whoever has booked it, alone. */
export function passesBooked({ fleet, session, view }: Pick<App, 'fleet' | 'session' | 'view'>) {
  const { filter } = view;
  const about = { nodeFree: 0, now: fleet.at ?? 0, me: session.me };
  return (record: GpuRow, node: FleetNode, { who, end, comment, places }: BookingView): boolean => {
    const has = places.some(
      (place) => place.node === record.node && (place.gpus?.includes(record.index) ?? true),
    );
    if (!has) return false;
    const claim = { who, until: end, comment, is_unverified: false, behind: [] };
    const gpu = { ...record, users: [], claim, ended_claim: null };
    return matches(filter, { ...about, gpu, node: node.record });
  };
}

/** The bookings that the filter leaves: of some GPU that passes while they hold. */
export function passingBookings(bookings: readonly BookingView[], app: App): BookingView[] {
  if (!app.view.filter.terms.length) return [...bookings];
  const passes = passesBooked(app);
  return bookings.filter((one) =>
    one.places.some(({ node }) => {
      const known = app.fleet.nodes.get(node);
      return known?.gpus.some(({ record }) => passes(record, known, one));
    }),
  );
}
