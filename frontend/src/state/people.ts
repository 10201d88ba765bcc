/** Who holds what now. Pure: fleet in, people out. */

import type { FleetNode, Gpu } from './fleet.svelte';

export interface Holding {
  node: string;
  gpus: Gpu[];
}

export interface Person {
  user: string;
  /** GPUs that they use, of which some are idle. */
  gpus: number;
  idle: number;
  /** GPUs that are booked for them, whoever uses those. */
  booked: number;
  memoryBytes: number;
  processes: number;
  holdings: Holding[];
}

/** People by weight: GPUs, then bookings, then memory. Stale nodes are left out: nobody knows who is on them now. */
export function people(nodes: Iterable<FleetNode>): Person[] {
  const found = new Map<string, Person>();
  for (const node of nodes)
    for (const gpu of node.gpus) {
      const { claim, counted, users, verdict } = gpu.record;
      if (verdict === 'stale' || !counted) continue;
      const names = new Set((users ?? []).map(({ name }) => name));
      for (const name of names) use(personOf(found, name), gpu);
      if (claim?.who) personOf(found, claim.who).booked++;
      for (const name of claim?.who ? names.add(claim.who) : names)
        place(personOf(found, name), node.record.name, gpu);
    }
  return [...found.values()].sort(
    (a, b) =>
      b.gpus - a.gpus || b.booked - a.booked || b.memoryBytes - a.memoryBytes || (a.user < b.user ? -1 : 1),
  );
}

function personOf(found: Map<string, Person>, user: string): Person {
  const known = found.get(user);
  if (known) return known;
  const person = { user, gpus: 0, idle: 0, booked: 0, memoryBytes: 0, processes: 0, holdings: [] };
  found.set(user, person);
  return person;
}

function use(person: Person, gpu: Gpu): void {
  person.gpus++;
  if (gpu.record.verdict === 'idle') person.idle++;
  for (const each of gpu.record.users ?? [])
    if (each.name === person.user) {
      person.memoryBytes += each.memory_used_bytes ?? 0;
      person.processes += each.processes;
    }
}

function place(person: Person, node: string, gpu: Gpu): void {
  const last = person.holdings.at(-1);
  if (last?.node === node) last.gpus.push(gpu);
  else person.holdings.push({ node, gpus: [gpu] });
}
