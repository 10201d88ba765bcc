/** Which GPUs pass a filter. Pure. */

import type { GpuRow, NodeRow } from '../api/wire';
import { isOffered } from './answers';
import type { Facts, Filter } from './filter';

export function matches(filter: Filter, facts: Facts): boolean {
  return filter.terms.every((term) => term.test(facts));
}

/** Whether a GPU is of the kind that is looked for, whoever is on it: of these, nodes with enough free ones are sought. */
export function fits(filter: Filter, facts: Facts): boolean {
  return filter.terms.every(({ key, test }) => ['is', 'user', 'free'].includes(key) || test(facts));
}

interface NodeOf {
  record: NodeRow;
  gpus: readonly { record: GpuRow }[];
}

/** What the tests are about, GPU by GPU; the free ones of a node are counted once, and only if somebody asks. */
export function factsFor(
  filter: Filter,
  now: number,
  me: string | null,
): (gpu: { record: GpuRow }, node: NodeOf) => Facts {
  const isCounted = filter.terms.some(({ key }) => key === 'free');
  const free = new Map<NodeOf, number>();
  // One for all: whoever asks is done with it before the next comes.
  let facts: Facts | undefined;
  return ({ record: gpu }, node) => {
    facts ??= { gpu, node: node.record, nodeFree: 0, now, me };
    facts.node = node.record;
    if (isCounted) {
      let nodeFree = free.get(node);
      if (nodeFree === undefined) {
        nodeFree = 0;
        for (const { record } of node.gpus) {
          facts.gpu = record;
          if (isOffered(record) && fits(filter, facts)) nodeFree++;
        }
        free.set(node, nodeFree);
      }
      facts.nodeFree = nodeFree;
    }
    facts.gpu = gpu;
    return facts;
  };
}

/** Whether a GPU passes a filter, as things are now. */
export function passing(
  filter: Filter,
  now: number,
  me: string | null,
): (gpu: { record: GpuRow }, node: NodeOf) => boolean {
  const factsOf = factsFor(filter, now, me);
  return (gpu, node) => matches(filter, factsOf(gpu, node));
}
