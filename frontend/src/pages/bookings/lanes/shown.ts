import type { BookingView } from '../../../api/bookings';
import type { App } from '../../../state/context';
import type { FleetNode, Gpu } from '../../../state/fleet.svelte';
import { passesBooked } from '../passing';

/** A node, and those of its GPUs that have a lane. */
export interface Shown {
  node: FleetNode;
  gpus: Gpu[];
}

/**
 * The nodes by name, with what of them passes the filter: as it is now, or as it is booked in the days that are shown.
 * An instance goes with its card.
 */
export function shownNodes(
  nodes: Iterable<FleetNode>,
  bookings: readonly BookingView[],
  app: Pick<App, 'fleet' | 'session' | 'view'>,
): Shown[] {
  const { filter } = app.view;
  const isFiltered = filter.terms.length > 0;
  const passes = app.view.passing(filter);
  const booked = passesBooked(app);
  const found: Shown[] = [];
  for (const node of nodes) {
    const cards = node.gpus.filter(({ record }) => record.mig_parent_uuid === null);
    const on = isFiltered
      ? bookings.filter(({ places }) => places.some((one) => one.node === node.record.name))
      : [];
    const gpus = cards.filter((gpu) => passes(gpu, node) || on.some((one) => booked(gpu.record, node, one)));
    if (gpus.length) found.push({ node, gpus });
  }
  return found.sort((a, b) => (a.node.sortKey < b.node.sortKey ? -1 : 1));
}
