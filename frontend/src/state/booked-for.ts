/** What is booked for somebody, apart by who is there; and what all hold together. Pure. */

import type { BookingView } from '../api/bookings';
import type { GpuRow } from '../api/wire';
import { isOn } from './agenda';
import type { Gpu } from './fleet.svelte';
import { isTaken, usersOf, type Holder } from './people';

/** Booked GPUs of which one thing is true. */
export interface Booked {
  /** `waiting`: nobody uses them; `missed`: and whoever booked them has not come in time. */
  kind: 'waiting' | 'missed' | 'taken';
  /** Who uses them. */
  by: string[];
  gpus: Gpu[];
}

/** Whether nobody came to what is booked of a GPU now. */
export type IsMissed = (gpu: GpuRow) => boolean;

/** By what the board says of bookings that run. */
export function missedBy(bookings: readonly BookingView[]): IsMissed {
  const missed = bookings.filter(({ no_show, state }) => no_show && state === 'running');
  // An instance goes with its card, whose number comes first.
  return ({ node, label }) => missed.some((booking) => isOn(booking, node, Number.parseInt(label, 10)));
}

/** GPUs that are booked for somebody who is not on them, those alike together. */
export function bookedApart(gpus: readonly Gpu[], isMissed: IsMissed): Booked[] {
  const found = new Map<string, Booked>();
  for (const gpu of gpus) {
    const by = isTaken(gpu.record) ? usersOf(gpu.record) : [];
    const kind = by.length ? 'taken' : isMissed(gpu.record) ? 'missed' : 'waiting';
    const key = JSON.stringify([kind, ...by]);
    const known = found.get(key);
    if (known) known.gpus.push(gpu);
    else found.set(key, { kind, by, gpus: [gpu] });
  }
  return [...found.values()];
}

/** Those of a person, wherever they are. */
export function bookedFor({ holdings }: Pick<Holder, 'holdings'>, isMissed: IsMissed): Booked[] {
  return bookedApart(
    holdings.flatMap(({ booked, gpus }) => (booked ? gpus : [])),
    isMissed,
  );
}

/** GPUs that people hold, each once; how many of them are in several rows, and on how many nodes they are. */
export interface Together {
  gpus: number;
  shared: number;
  nodes: number;
}

export function heldTogether(people: readonly Pick<Holder, 'holdings'>[]): Together {
  const rows = new Map<Gpu, number>();
  for (const { holdings } of people)
    for (const { booked, gpus } of holdings)
      for (const gpu of gpus)
        // What somebody else uses is theirs.
        if (!booked || !isTaken(gpu.record)) rows.set(gpu, (rows.get(gpu) ?? 0) + 1);
  return {
    gpus: rows.size,
    shared: [...rows.values()].filter((count) => count > 1).length,
    nodes: new Set([...rows.keys()].map(({ record }) => record.node)).size,
  };
}
