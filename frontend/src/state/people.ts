/** Who holds what now. Pure: fleet in, people out. The board's own rule; one table of cases holds both. */

import type { HolderView } from '../api/wire';
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
  /** What they use, and what is booked for them and nobody uses: a GPU is several people's only if they share it. */
  held: number;
  /** When the last of their bookings ends; null: none has an end. */
  until: number | null;
  /** What is known of it; null: nothing is. */
  memoryBytes: number | null;
  /** Null: cannot be told, as of the past. */
  processes: number | null;
  /** All that they use or have booked, each GPU once: what `user:` finds. */
  holdings: HeldGpus[];
}

/**
 * People by weight: all that they hold, then what they use, then memory. `passes` may leave out what somebody has.
 */
export function people(
  nodes: Iterable<FleetNode>,
  passes: (gpu: Gpu, name: string, node: FleetNode) => boolean = () => true,
): Holder[] {
  const found = new Map<string, Holder>();
  const spelt = speller();
  const claimed: Gpu[] = [];
  for (const node of nodes)
    for (const gpu of node.gpus) {
      if (!gpu.record.counted) continue;
      for (const name of usersOf(gpu.record))
        if (passes(gpu, name, node)) use(personOf(found, spelt(name)), gpu);
      const who = bookerOf(gpu.record);
      if (who && passes(gpu, who, node)) claimed.push(gpu);
    }
  for (const gpu of claimed) book(personOf(found, spelt(bookerOf(gpu.record)!)), gpu);
  return [...found.values()].sort(
    (a, b) =>
      b.held - a.held ||
      b.gpus - a.gpus ||
      (b.memoryBytes ?? 0) - (a.memoryBytes ?? 0) ||
      (a.user < b.user ? -1 : 1),
  );
}

/** Who holds something: what is booked for somebody while another uses it makes nobody a holder. */
export function holding<Row extends Pick<Holder, 'held'>>(people: readonly Row[]): Row[] {
  return people.filter(({ held }) => held > 0);
}

/** A name without its case, as the board folds it. */
export function folded(name: string): string {
  return name.toLowerCase().replaceAll('ß', 'ss').replaceAll('ς', 'σ');
}

/** Whether two names are one person's: they may differ by case. Nobody is nobody's. */
export function isSamePerson(name: string | null | undefined, other: string | null): boolean {
  return !!name && !!other && (name === other || folded(name) === folded(other));
}

/** Gives names that differ by case only one spelling: that of the first. */
export function speller(): (name: string) => string {
  const known = new Map<string, string>();
  return (name) => {
    let first = known.get(name);
    if (first === undefined) {
      // The same name comes thousands of times, and is folded once.
      const key = folded(name);
      first = known.get(key) ?? name;
      known.set(key, first).set(name, first);
    }
    return first;
  };
}

const FIRST_PERSON_UID = 1000;
const NOBODYS_UIDS = [0xfffe, 0xffff, 0xfffffffe, 0xffffffff];

/** Whether a user is a person: a container often runs as root or as a number without a name. */
export function isSomebody({ name, user, uid }: HolderView): boolean {
  if (user === null || name === 'root') return false;
  return uid === null || (uid >= FIRST_PERSON_UID && !NOBODYS_UIDS.includes(uid));
}

/** Whether it is one of those that the viewer has. */
export function isMine({ gpu, me }: { gpu: Gpu['record']; me: string | null }): boolean {
  return me !== null && namesOn(gpu).some((name) => isSamePerson(name, me));
}

/** Whether a booking of it was over not long ago, and nobody has come since. */
export function isEnded({ counted, ended_claim, verdict }: Gpu['record']): boolean {
  return verdict === 'free' && counted && !!ended_claim?.until;
}

/** Who has booked a GPU; what anybody may have typed is on nobody's account. */
export function bookerOf({ claim }: Pick<Gpu['record'], 'claim'>): string | null {
  return claim && !claim.is_unverified ? claim.who : null;
}

/** Who has a GPU: by use or by a booking, which holds whatever its node says. */
export function namesOn(gpu: Gpu['record']): string[] {
  const users = usersOf(gpu);
  const who = bookerOf(gpu);
  return who && !users.some((name) => isSamePerson(name, who)) ? [...users, who] : users;
}

/** Whether somebody uses what is booked; a display server there leaves it booked. */
export function isTaken(gpu: Gpu['record']): boolean {
  return gpu.verdict !== 'booked' && usersOf(gpu).length > 0;
}

/** Who uses a GPU. */
export function usersOf(gpu: Gpu['record']): string[] {
  const uses = usesOf(gpu);
  // Nearly always there is one; thousands of small sets would cost.
  if (uses.length < 2) return uses.map(({ name }) => name);
  return [...new Map(uses.map(({ name }) => [folded(name), name])).values()];
}

/** Its use by people: what a silent node said last is no news of it. */
export function usesOf({ verdict, users }: Gpu['record']): HolderView[] {
  return verdict === 'stale' || !users ? [] : users;
}

function personOf(found: Map<string, Holder>, user: string): Holder {
  const known = found.get(user);
  if (known) return known;
  const person = {
    user,
    gpus: 0,
    idle: 0,
    booked: 0,
    held: 0,
    until: null,
    memoryBytes: null,
    processes: 0,
    holdings: [],
  };
  found.set(user, person);
  return person;
}

function use(person: Holder, gpu: Gpu): void {
  person.gpus++;
  person.held++;
  if (gpu.record.verdict === 'idle') person.idle++;
  for (const each of gpu.record.users ?? [])
    if (isSamePerson(each.name, person.user)) {
      const memory = memoryOf(each, gpu.record);
      if (memory !== null) person.memoryBytes = (person.memoryBytes ?? 0) + memory;
      const { processes } = person;
      person.processes = processes === null || !each.processes ? null : processes + each.processes;
    }
  place(person, gpu, false);
}

/** What somebody holds there; where only who it was is known, all of a GPU is theirs who were alone on it. */
function memoryOf({ memory_used_bytes, processes }: HolderView, gpu: Gpu['record']): number | null {
  if (memory_used_bytes !== null || processes) return memory_used_bytes;
  return gpu.users?.length === 1 ? gpu.memory_used_bytes : null;
}

function book(person: Holder, gpu: Gpu): void {
  const isOwn = usersOf(gpu.record).some((name) => isSamePerson(name, person.user));
  person.booked++;
  if (!isOwn && !isTaken(gpu.record)) person.held++;
  const until = gpu.record.claim?.until;
  if (until) person.until = Math.max(person.until ?? 0, until);
  // What they use already stands there.
  if (isOwn) return;
  place(person, gpu, true);
}

function place({ holdings }: Holder, gpu: Gpu, booked: boolean): void {
  const { node } = gpu.record;
  const last = holdings.at(-1);
  if (last?.node === node && last.booked === booked) last.gpus.push(gpu);
  else holdings.push({ node, booked, gpus: [gpu] });
}
