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

/**
 * People by weight: GPUs, then bookings, then memory. What a silent node said last is no news of who uses it; a
 * booking holds all the same. Names that differ by case only are one person's.
 */
export function people(nodes: Iterable<FleetNode>): Person[] {
  const found = new Map<string, Person>();
  const counted = [...nodes].flatMap((node) =>
    node.gpus.filter(({ record }) => record.counted).map((gpu) => ({ node: node.record.name, gpu })),
  );
  for (const { gpu } of counted) for (const name of usersOf(gpu)) use(personOf(found, name), gpu);
  for (const { node, gpu } of counted) {
    const who = gpu.record.claim?.who;
    if (who) personOf(found, who).booked++;
    const names = who ? [...usersOf(gpu), who] : usersOf(gpu);
    for (const person of new Set(names.map((name) => personOf(found, name)))) place(person, node, gpu);
  }
  return [...found.values()].sort(
    (a, b) =>
      b.gpus - a.gpus || b.booked - a.booked || b.memoryBytes - a.memoryBytes || (a.user < b.user ? -1 : 1),
  );
}

function usersOf({ record }: Gpu): string[] {
  return record.verdict === 'stale' ? [] : [...new Set((record.users ?? []).map(({ name }) => name))];
}

function personOf(found: Map<string, Person>, user: string): Person {
  const known = found.get(user.toLowerCase());
  if (known) return known;
  const person = { user, gpus: 0, idle: 0, booked: 0, memoryBytes: 0, processes: 0, holdings: [] };
  found.set(user.toLowerCase(), person);
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
