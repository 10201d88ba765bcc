/** The golden fleet: what the page works out by itself is what every other output says (tests/golden). */

import { expect, test } from 'vitest';
import expected from '../../tests/golden/expected.json';
import told from '../../tests/golden/snapshot.json';
import type { Snapshot } from '../src/api/wire';
import { parseFilter } from '../src/state/filter';
import { matches } from '../src/state/passing';
import { Fleet, type Gpu } from '../src/state/fleet.svelte';
import { findOffers } from '../src/state/offers';
import { people } from '../src/state/people';

const fleet = new Fleet();
fleet.queue(told as unknown as Snapshot);
fleet.flush();
const now = told.at;

const place = ({ record }: Gpu) => `${record.node}:${record.label}`;

test('counts', () => {
  const { total, ...verdicts } = fleet.counts;
  expect(total).toBe(expected.gpus);
  expect(verdicts).toEqual(expected.by_verdict);
  expect(fleet.unread).toBe(expected.nodes_unknown);
});

test('what to take', () => {
  const wish = { gpus: 1, oneNode: false };
  const offers = findOffers(fleet.nodes.values(), () => true, wish, now, fleet.justFreedSeconds);
  const offered = offers.map(({ node, gpus, fresh }) => ({
    node: node.record.name,
    labels: gpus.map((gpu) => gpu.record.label),
    just_freed: fresh,
  }));
  expect(offered).toEqual(expected.free);
});

test.each(expected.wishes)('what to take for $gpus GPUs, memory $memory, one node: $same_node', (wish) => {
  const { terms } = parseFilter(`memory>=${wish.memory}`);
  const offers = findOffers(
    fleet.nodes.values(),
    // As every wish without a size does, this one takes what has none to tell.
    ({ record }) =>
      wish.memory === '0' ||
      matches({ terms, errors: [] }, { gpu: record, node: undefined, nodeFree: 0, now, me: null }),
    { gpus: wish.gpus, oneNode: wish.same_node },
    now,
    fleet.justFreedSeconds,
  );
  const taken = offers.map(({ node, gpus, chosen }) => {
    const labels = gpus.slice(0, chosen).map((gpu) => gpu.record.label);
    return `${node.record.name}:${labels.join()}`;
  });
  expect(taken).toEqual(wish.take);
});

test('people', () => {
  const found = people(fleet.nodes.values());
  const counts = (of: 'gpus' | 'booked') =>
    Object.fromEntries(found.filter((one) => one[of]).map((one) => [one.user, one[of]]));
  const lengths = (places: Record<string, string[]>) =>
    Object.fromEntries(Object.entries(places).map(([user, all]) => [user, all.length]));
  expect(counts('gpus')).toEqual(lengths(expected.used));
  expect(counts('booked')).toEqual(lengths(expected.booked));
});

test('a size asked for', () => {
  const filter = parseFilter('free memory>=80G');
  const found = [...fleet.gpus.values()].filter(
    (gpu) =>
      gpu.record.counted && matches(filter, { gpu: gpu.record, node: undefined, nodeFree: 0, now, me: null }),
  );
  expect(found.map(place).sort()).toEqual([...expected.free_80G].sort());
});
