/** Who holds what now. Pure: fleet in, people out. */

import { isSamePerson } from './filter';
import type { FleetNode, Gpu } from './fleet.svelte';

/** GPUs of one node that somebody uses, or that are only booked for them. */
export interface HeldGpus {
  node: string;
  booked: boolean;
  gpus: Gpu[];
}

export interface Holder {
  user: string;
  /** GPUs that they use, of which some are idle. */
  gpus: number;
  idle: number;
  /** GPUs that are booked for them, whoever uses those. */
  booked: number;
  /** Of these, how many somebody uses: the board counts them as busy or idle. */
  taken: number;
  /** When the last of their bookings ends; null: none has an end. */
  until: number | null;
  memoryBytes: number;
  processes: number;
  holdings: HeldGpus[];
}

/**
 * People by weight: GPUs, then bookings, then memory. What a silent node said last is no news of who uses it; a
 * booking holds all the same. Names that differ by case only are one person's. `passes` may leave out what somebody has.
 */
export function people(
  nodes: Iterable<FleetNode>,
  passes: (gpu: Gpu, name: string, node: FleetNode) => boolean = () => true,
): Holder[] {
  const found = new Map<string, Holder>();
  const claimed: Gpu[] = [];
  for (const node of nodes)
    for (const gpu of node.gpus) {
      if (!gpu.record.counted) continue;
      for (const name of usersOf(gpu.record)) if (passes(gpu, name, node)) use(personOf(found, name), gpu);
      const who = gpu.record.claim?.who;
      if (who && passes(gpu, who, node)) claimed.push(gpu);
    }
  for (const gpu of claimed) book(personOf(found, gpu.record.claim!.who!), gpu);
  return [...found.values()].sort(
    (a, b) =>
      b.gpus - a.gpus || b.booked - a.booked || b.memoryBytes - a.memoryBytes || (a.user < b.user ? -1 : 1),
  );
}

/** Whether `people` would name somebody. */
export function isHeld(gpu: Gpu['record']): boolean {
  return isUsed(gpu) || (gpu.counted && !!gpu.claim?.who);
}

/** Whether a booking of it was over not long ago, and nobody has come since. */
export function isEnded({ counted, ended_claim, verdict }: Gpu['record']): boolean {
  return verdict === 'free' && counted && !!ended_claim?.until;
}

export function isUsed(gpu: Gpu['record']): boolean {
  return gpu.counted && usersOf(gpu).length > 0;
}

/** Who uses a GPU; of a silent node nobody knows. */
export function usersOf({ verdict, users }: Gpu['record']): string[] {
  if (verdict === 'stale' || !users) return [];
  // Nearly always there is one; thousands of small sets would cost.
  if (users.length < 2) return users.map(({ name }) => name);
  return [...new Map(users.map(({ name }) => [name.toLowerCase(), name])).values()];
}

function personOf(found: Map<string, Holder>, user: string): Holder {
  const known = found.get(user.toLowerCase());
  if (known) return known;
  const person = {
    user,
    gpus: 0,
    idle: 0,
    booked: 0,
    taken: 0,
    until: null,
    memoryBytes: 0,
    processes: 0,
    holdings: [],
  };
  found.set(user.toLowerCase(), person);
  return person;
}

function use(person: Holder, gpu: Gpu): void {
  person.gpus++;
  if (gpu.record.verdict === 'idle') person.idle++;
  for (const each of gpu.record.users ?? [])
    if (isSamePerson(each.name, person.user)) {
      person.memoryBytes += each.memory_used_bytes ?? 0;
      person.processes += each.processes;
    }
  place(person, gpu, false);
}

function book(person: Holder, gpu: Gpu): void {
  const users = usersOf(gpu.record);
  person.booked++;
  if (users.length) person.taken++;
  const until = gpu.record.claim?.until;
  if (until) person.until = Math.max(person.until ?? 0, until);
  // What they use already stands there.
  if (!users.some((name) => isSamePerson(name, person.user))) place(person, gpu, true);
}

function place({ holdings }: Holder, gpu: Gpu, booked: boolean): void {
  const { node } = gpu.record;
  const last = holdings.at(-1);
  if (last?.node === node && last.booked === booked) last.gpus.push(gpu);
  else holdings.push({ node, booked, gpus: [gpu] });
}
