/** What needs a look, by cause: the heaviest first, then the newest. Pure. */

import type { BoardInfo, Problem } from '../api/wire';
import type { FleetNode } from './fleet.svelte';

/** Where something is wrong: a node, or one of its GPUs. */
export interface Affected {
  node: FleetNode;
  /** The number of the GPU that it is about. */
  label: string | null;
  /** What is wrong; null: the node itself is away. */
  problem: Problem | null;
  since: number | null;
  /** Whether the node has said nothing since: it may be over, and nobody has seen that it is. */
  lastKnown: boolean;
}

/** Everything that is wrong for one reason. */
export interface Cause {
  key: string;
  rank: number;
  /** When it began at its newest place. */
  since: number;
  places: Affected[];
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

const isAway = (state: string) => !['live', 'never'].includes(state);

/** Whether anything may be wrong with a node. */
export const isTroubled = ({ record }: FleetNode): boolean =>
  record.problems.length > 0 || isAway(record.state);

/**
 * The board says how grave what is (`severities`, the heaviest first), and what it says itself of a node that is
 * silent (`absences`); it also sorts the problems of one node.
 */
export function findTrouble(
  nodes: Iterable<FleetNode>,
  board: Pick<BoardInfo, 'severities' | 'absences'> | null,
): Trouble {
  const kinds = Object.values(board?.severities ?? {});
  const absences = board?.absences ?? [];
  const lightest = kinds.length - 1;
  const rankOf = (kind: string) => [...kinds, [kind]].findIndex((each) => each.includes(kind));
  const causes = new Map<string, Cause>();
  const late: FleetNode[] = [];
  const all = [...nodes];
  const troubled = all.filter(isTroubled).sort((a, b) => (a.sortKey < b.sortKey ? -1 : 1));
  for (const node of troubled) {
    const { problems, reason, sampled_at, source, state } = node.record;
    const away = isAway(state);
    // What was grave before a node fell silent is so until somebody has seen otherwise.
    const known = away
      ? problems.filter(({ kind }) => !absences.includes(kind) && rankOf(kind) < lightest)
      : problems;
    const isLate = away && rankOf(state) === lightest;
    const found = away && !isLate ? [null, ...known] : known;
    const worst = rankOf(found[0]?.kind ?? state);
    if (!found.length) late.push(node);
    for (const problem of found) {
      const kind = problem?.kind ?? state;
      const rank = rankOf(kind);
      // Beside something grave, trifles are for the page of the node.
      if (rank >= lightest && rank > worst) continue;
      // The number of an error is its cause; nodes that are away are looked for by how they are read.
      const what = problem ? kind === 'xid' && problem.detail : `${reason?.code} ${source.split(' ')[0]}`;
      const key = `${kind} ${what}`;
      const since = problem ? problem.since : sampled_at;
      const label = node.gpus.find((gpu) => gpu.record.uuid === problem?.gpu_uuid)?.record.label ?? null;
      const cause = causes.get(key) ?? { key, rank, since: 0, places: [] };
      causes.set(key, cause);
      cause.since = Math.max(cause.since, since ?? 0);
      const before = cause.places.at(-1);
      if (before?.node !== node || before.label !== label)
        cause.places.push({ node, label, problem, since, lastKnown: away && problem !== null });
    }
  }
  return {
    causes: [...causes.values()].sort((a, b) => a.rank - b.rank || b.since - a.since),
    late,
    count: troubled.length - late.length,
    waiting: all.filter(({ record }) => record.state === 'never').length,
  };
}
