/** Who holds what now. Pure: fleet in, people out. */

import { holdersOf } from './answers';
import type { FleetNode, Gpu } from './fleet.svelte';

export interface Holding {
  node: string;
  gpus: Gpu[];
}

export interface Person {
  user: string;
  gpus: number;
  idle: number;
  booked: number;
  memoryBytes: number;
  processes: number;
  holdings: Holding[];
}

/** People by weight: GPUs, then memory. Stale nodes are left out: nobody knows who is on them now. */
export function people(nodes: Iterable<FleetNode>): Person[] {
  const found = new Map<string, Person>();
  for (const node of nodes)
    for (const gpu of node.gpus) {
      if (gpu.record.verdict === 'stale' || !gpu.record.counted) continue;
      for (const name of holdersOf(gpu.record)) {
        const person = found.get(name) ?? {
          user: name,
          gpus: 0,
          idle: 0,
          booked: 0,
          memoryBytes: 0,
          processes: 0,
          holdings: [],
        };
        found.set(name, person);
        add(person, node, gpu);
      }
    }
  return [...found.values()].sort(
    (a, b) => b.gpus - a.gpus || b.memoryBytes - a.memoryBytes || (a.user < b.user ? -1 : 1),
  );
}

function add(person: Person, node: FleetNode, gpu: Gpu): void {
  person.gpus++;
  if (gpu.record.verdict === 'idle') person.idle++;
  if (gpu.record.verdict === 'booked') person.booked++;
  for (const use of gpu.record.users ?? [])
    if (use.name === person.user) {
      person.memoryBytes += use.memory_used_bytes ?? 0;
      person.processes += use.processes;
    }
  const last = person.holdings.at(-1);
  if (last?.node === node.record.name) last.gpus.push(gpu);
  else person.holdings.push({ node: node.record.name, gpus: [gpu] });
}
