import type { BookingView } from '../../api/bookings';
import type { App } from '../../state/context';
import { steadyUse } from '../../state/figures';

/** How hard its GPUs work for a booking now, in percent; null: nobody can tell, as where somebody else is on them. */
export function useOf({ places }: BookingView, { fleet }: Pick<App, 'fleet'>): number | null {
  const live = places.flatMap(({ node, gpus }) =>
    (fleet.nodes.get(node)?.liveGpus ?? [])
      .map((gpu) => gpu.live)
      .filter((gpu) => gpu.mig_parent_uuid === null && (gpus?.includes(gpu.index) ?? true))
      .filter(({ flags }) => !flags.includes('trespass')),
  );
  const figures = live.map(steadyUse).filter((figure) => figure !== null);
  return figures.length ? figures.reduce((sum, figure) => sum + figure, 0) / figures.length : null;
}

/** Whether it runs, and nobody has been on it so far as anybody could see. */
export const isWaiting = ({ use, no_show }: BookingView): boolean =>
  !no_show && use !== null && use.used_seconds + use.others_seconds === 0 && use.unused_seconds > 0;
