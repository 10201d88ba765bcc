/** Figures of a GPU as people read them. Pure. */

import type { GpuRow } from '../api/wire';

/** Whether its use is told as the mean of the last minute. */
export function isMeanUse({ verdict }: GpuRow): boolean {
  // Where nobody is any more, that would be the work of who has left.
  return verdict !== 'free' && verdict !== 'booked';
}

/** Its use as it is shown: as the mean of the last minute, that of one moment jumps. Null: nobody can tell. */
export function steadyUse(gpu: GpuRow): number | null {
  return (isMeanUse(gpu) ? gpu.utilization_minute_percent : null) ?? gpu.utilization_percent;
}
