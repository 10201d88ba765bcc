/** What needs a look, by cause: the heaviest first, then the newest. Pure. */

import type { BoardInfo, Problem } from '../api/wire';
import type { FleetNode } from './fleet.svelte';

/** Where something is wrong: a node, or one of its GPUs. */
export interface Place {
  node: FleetNode;
  /** The number of the GPU that it is about. */
  label: string | null;
  /** What is wrong; null: the node itself is away. */
  problem: Problem | null;
  since: number | null;
}

/** Everything that is wrong for one reason. */
export interface Cause {
  key: string;
  rank: number;
  places: Place[];
}

export interface Trouble {
  causes: Cause[];
  /** Nodes that may only be slow: they come and go, and never push others away. */
  late: FleetNode[];
  /** How many nodes need a look. */
  count: number;
  /** How many have not been heard yet. */
  waiting: number;
}

/** Whether anything may be wrong with a node. */
export const isTroubled = ({ record }: FleetNode): boolean =>
  record.problems.length > 0 || !['live', 'never'].includes(record.state);

/** The board says how grave what is (`severities`); it also sorts the problems of one node. */
export function findTrouble(
  nodes: Iterable<FleetNode>,
  severities: BoardInfo['severities'] | undefined,
): Trouble {
  const kinds = Object.values(severities ?? {});
  const rankOf = (kind: string) => kinds.findIndex((each) => each.includes(kind)) >>> 0;
  const lightest = kinds.length - 1;
  const causes = new Map<string, Cause>();
  const troubled = new Set<FleetNode>();
  const late: FleetNode[] = [];
  let waiting = 0;
  const add = (key: string, rank: number, place: Place) => {
    troubled.add(place.node);
    const cause = causes.get(key) ?? { key, rank, places: [] };
    causes.set(key, cause);
    const before = cause.places.at(-1);
    if (before?.node !== place.node || before.label !== place.label) cause.places.push(place);
  };
  for (const node of nodes) {
    const { problems, reason, sampled_at: since, source, state } = node.record;
    if (state === 'never') waiting++;
    if (isTroubled(node) && state !== 'live' && state !== 'never') {
      const rank = rankOf(state);
      // What it last said of its GPUs is as old as the rest.
      if (rank === lightest) late.push(node);
      else
        add(`${state} ${reason?.code} ${source.split(' ')[0]}`, rank, {
          node,
          label: null,
          problem: null,
          since,
        });
      continue;
    }
    const worst = problems[0] ? rankOf(problems[0].kind) : 0;
    for (const problem of problems) {
      const rank = rankOf(problem.kind);
      // Beside something grave, trifles are for the page of the node.
      if (rank >= lightest && rank > worst) continue;
      const gpu = problem.gpu_uuid && node.gpus.find((each) => each.record.uuid === problem.gpu_uuid);
      // Each error of a GPU has its number, which is a cause of its own.
      const key = problem.kind === 'xid' ? `xid ${problem.detail}` : problem.kind;
      add(key, rank, { node, label: gpu ? gpu.record.label : null, problem, since: problem.since });
    }
  }
  const newest = ({ places }: Cause) => Math.max(...places.map((place) => place.since ?? 0));
  const sorted = [...causes.values()].sort((a, b) => a.rank - b.rank || newest(b) - newest(a));
  for (const { places } of sorted) places.sort((a, b) => (a.node.sortKey < b.node.sortKey ? -1 : 1));
  return { causes: sorted, late, count: troubled.size, waiting };
}
