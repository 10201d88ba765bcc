/** Which GPUs somebody may start on now, beside those that are free for all. Pure. */

import type { GpuRow } from '../api/wire';
import { isOffered } from './answers';
import { bookerOf, isSamePerson } from './people';

/** Whether the viewer may take it: it is free, or booked for them and there. */
export function isUsable(gpu: GpuRow, me: string | null): boolean {
  if (isOffered(gpu)) return true;
  const isThere = gpu.counted && !['stale', 'broken'].includes(gpu.verdict);
  return isThere && isSamePerson(bookerOf(gpu), me);
}
