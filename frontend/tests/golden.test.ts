/** The golden fleet: what the page works out by itself is what every other output says (tests/golden). */

import { expect, test } from 'vitest';
import expected from '../../tests/golden/expected.json';
import answers from '../../tests/golden/free.json';
import told from '../../tests/golden/snapshot.json';
import type { BookingView } from '../src/api/bookings';
import type { FreeAnswer, Snapshot } from '../src/api/wire';
import { HOUR } from '../src/state/booking';
import { parseFilter } from '../src/state/filter';
import { matches } from '../src/state/passing';
import { Fleet, type Gpu } from '../src/state/fleet.svelte';
import { asTold, findOffers } from '../src/state/offers';
import { people, type Holder } from '../src/state/people';
import { findSlot } from '../src/state/slot';

const fleet = new Fleet();
fleet.queue(told as unknown as Snapshot);
fleet.flush();
const now = told.at;

/** What the board has answered, which knows what is booked to come. */
const answer = (at: number) => answers[at] as unknown as FreeAnswer;
const place = ({ record }: Gpu) => `${record.node}:${record.label}`;

test('counts', () => {
  const { total, ...verdicts } = fleet.counts;
  expect(total).toBe(expected.gpus);
  expect(verdicts).toEqual(expected.by_verdict);
  expect(fleet.unread).toBe(expected.nodes_unknown);
});

test('verdicts, place by place', () => {
  const [counted, others] = [true, false].map((yes) =>
    [...fleet.gpus.values()].filter(({ record }) => record.counted === yes),
  );
  expect(Object.fromEntries(counted!.map((gpu) => [place(gpu), gpu.record.verdict]))).toEqual(
    expected.verdicts,
  );
  expect(others!.map(place).sort()).toEqual(expected.not_counted);
});

test('what to take', () => {
  const wish = { gpus: 1, oneNode: false };
  const found = findOffers(fleet.nodes.values(), () => true, wish, now, fleet.justFreedSeconds);
  const offers = asTold(found, answer(0), 1);
  const offered = offers.map(({ node, gpus, fresh }) => ({
    node: node.record.name,
    labels: gpus.map((gpu) => gpu.record.label),
    just_freed: fresh,
  }));
  expect(offered).toEqual(expected.free);
});

test.each(expected.wishes.map((wish, at) => ({ ...wish, at })))(
  'what to take for $gpus GPUs, memory $memory, one node: $same_node',
  ({ at, ...wish }) => {
    const { terms } = parseFilter(`memory>=${wish.memory}`);
    const found = findOffers(
      fleet.nodes.values(),
      // As every wish without a size does, this one takes what has none to tell.
      ({ record }) =>
        wish.memory === '0' ||
        matches({ terms, errors: [] }, { gpu: record, node: undefined, nodeFree: 0, now, me: null }),
      { gpus: wish.gpus, oneNode: wish.same_node },
      now,
      fleet.justFreedSeconds,
    );
    const offers = asTold(found, answer(at), wish.gpus);
    const taken = offers.map(({ node, gpus, chosen }) => {
      const labels = gpus.slice(0, chosen).map((gpu) => gpu.record.label);
      return `${node.record.name}:${labels.join()}`;
    });
    expect(taken).toEqual(wish.take);
  },
);

test.each(expected.wishes)(
  'what is booked of any $gpus GPUs, memory $memory, one node: $same_node',
  ({ book, gpus, memory, same_node }) => {
    const nodes = [...fleet.nodes.values()].map((node) => ({
      name: node.record.name,
      gpus: node.gpus.map(({ record }) => record),
    }));
    // What is to come the page has from the list of bookings.
    const dana = { who: 'dana', state: 'upcoming', places: [{ node: 'lab-01', gpus: [4] }] };
    const bookings = [{ ...dana, start: now + HOUR, end: now + 2 * HOUR } as BookingView];
    const memoryBytes = parseInt(memory) * 2 ** 30;
    const wish = { count: gpus, memoryBytes, seconds: HOUR / 2, onOneNode: same_node };
    const slot = findSlot(nodes, wish, bookings, {
      now,
      tomorrow: now + 86_400,
      justFreed: fleet.justFreedSeconds,
    });
    const found = slot?.places.flatMap(({ node, gpus }) => gpus.map((index) => `${node}:${index}`)).sort();
    expect(slot?.start === now ? found : null).toEqual(book);
  },
);

test('people, place by place', () => {
  const found = people(fleet.nodes.values());
  const places = ({ holdings }: Holder, which: boolean[]) =>
    holdings
      .filter(({ booked }) => which.includes(booked))
      .flatMap(({ gpus }) => gpus.map(place))
      .sort();
  // A GPU that somebody uses and has booked is told once, as used.
  for (const one of found) {
    const [used, booked] = [expected.used, expected.booked].map(
      (all: Record<string, string[]>) => all[one.user] ?? [],
    ) as [string[], string[]];
    expect([one.user, one.gpus, places(one, [false])]).toEqual([one.user, used.length, used]);
    expect([one.user, one.booked]).toEqual([one.user, booked.length]);
    expect(places(one, [true, false])).toEqual([...new Set([...used, ...booked])].sort());
  }
  expect(found.map(({ user }) => user).sort()).toEqual(Object.keys(expected.held).sort());
});

test('a size asked for', () => {
  const filter = parseFilter('free memory>=80G');
  const found = [...fleet.gpus.values()].filter(
    (gpu) =>
      gpu.record.counted && matches(filter, { gpu: gpu.record, node: undefined, nodeFree: 0, now, me: null }),
  );
  expect(found.map(place).sort()).toEqual([...expected.free_80G].sort());
});
