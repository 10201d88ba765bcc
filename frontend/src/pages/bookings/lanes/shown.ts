import type { BookingView } from '../../../api/bookings';
import type { GpuRow } from '../../../api/wire';
import type { App } from '../../../state/context';
import type { FleetNode, Gpu } from '../../../state/fleet.svelte';
import { matches } from '../../../state/passing';

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
  { fleet, session, view }: Pick<App, 'fleet' | 'session' | 'view'>,
): Shown[] {
  const { filter } = view;
  const isFiltered = filter.terms.length > 0;
  const passes = view.passing(filter);
  const about = { nodeFree: 0, now: fleet.at ?? 0, me: session.me };
  const found: Shown[] = [];
  for (const node of nodes) {
    const cards = node.gpus.filter(({ record }) => record.mig_parent_uuid === null);
    const on = isFiltered
      ? bookings.filter(({ places }) => places.some((one) => one.node === node.record.name))
      : [];
    const gpus = cards.filter(
      (gpu) =>
        passes(gpu, node) ||
        on.some((one) => matches(filter, { ...about, gpu: asBooked(gpu.record, one), node: node.record })),
    );
    if (gpus.length) found.push({ node, gpus });
  }
  return found.sort((a, b) => (a.node.sortKey < b.node.sortKey ? -1 : 1));
}

/** A GPU as if a booking of it held now; as nobody's where that is of others. */
function asBooked(record: GpuRow, { who, end, comment, places }: BookingView): GpuRow {
  const has = places.some(({ node, gpus }) => node === record.node && (gpus?.includes(record.index) ?? true));
  const claim = has ? { who, until: end, comment, behind: [] } : null;
  return { ...record, users: [], claim, ended_claim: null };
}
