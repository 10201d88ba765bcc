/** Who holds what now. Pure: fleet in, people out. */

import { natural, type FleetNode, type Gpu } from './fleet.svelte';

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

/**
 * People by weight: GPUs, then bookings, then memory. One person is one name, however its letters are cased. What a
 * silent node said last is no news of who uses it; a booking holds all the same.
 */
export function people(nodes: Iterable<FleetNode>): Person[] {
  const found = new Map<string, Person>();
  const counted = [...nodes].flatMap((node) => node.gpus.filter((gpu) => gpu.record.counted));
  for (const gpu of counted)
    if (gpu.record.verdict !== 'stale')
      for (const name of new Set(gpu.record.users?.map((use) => use.name))) use(personOf(found, name), gpu);
  for (const gpu of counted)
    if (gpu.record.claim?.who) {
      const person = personOf(found, gpu.record.claim.who);
      person.booked++;
      place(person, gpu);
    }
  return [...found.values()].sort(
    (a, b) =>
      b.gpus - a.gpus || b.booked - a.booked || b.memoryBytes - a.memoryBytes || (a.user < b.user ? -1 : 1),
  );
}

function personOf(found: Map<string, Person>, user: string): Person {
  const key = user.toLowerCase();
  const known = found.get(key);
  if (known) return known;
  const person = { user, gpus: 0, idle: 0, booked: 0, memoryBytes: 0, processes: 0, holdings: [] };
  found.set(key, person);
  return person;
}

function use(person: Person, gpu: Gpu): void {
  person.gpus++;
  if (gpu.record.verdict === 'idle') person.idle++;
  for (const each of gpu.record.users ?? [])
    if (each.name.toLowerCase() === person.user.toLowerCase()) {
      person.memoryBytes += each.memory_used_bytes ?? 0;
      person.processes += each.processes;
    }
  place(person, gpu);
}

function place(person: Person, gpu: Gpu): void {
  const { node } = gpu.record;
  const holding = person.holdings.findLast((each) => each.node === node);
  if (!holding) person.holdings.push({ node, gpus: [gpu] });
  else if (!holding.gpus.includes(gpu)) {
    holding.gpus.push(gpu);
    holding.gpus.sort((a, b) => natural.compare(a.record.label, b.record.label));
  }
}
