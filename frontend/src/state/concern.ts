/** Which problems of a node concern one GPU. Pure: fleet in, problems out. */

import type { Problem } from '../api/wire';
import type { Fleet, FleetNode } from './fleet.svelte';

/** Its own, those of the card that it is cut from, and whatever stops all of the node. */
export function problemsOf(
  uuid: string,
  { live }: Pick<FleetNode, 'live'>,
  { board, gpus }: Pick<Fleet, 'board' | 'gpus'>,
): Problem[] {
  const gravest = Object.values(board?.severities ?? {})[0] ?? [];
  const parent = gpus.get(uuid)?.record.mig_parent_uuid;
  return live.problems.filter(({ gpu_uuid, kind }) =>
    gpu_uuid === null ? gravest.includes(kind) : gpu_uuid === uuid || gpu_uuid === parent,
  );
}
