/** The golden fleet: what the page works out by itself is what every other output says (tests/golden). */

import { expect, test } from 'vitest';
import expected from '../../tests/golden/expected.json';
import told from '../../tests/golden/snapshot.json';
import type { Snapshot } from '../src/api/wire';
import { freeBlocks } from '../src/state/answers';
import { matches, parseFilter } from '../src/state/filter';
import { Fleet, type Gpu } from '../src/state/fleet.svelte';
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
  const blocks = freeBlocks(fleet.nodes.values(), now, fleet.justFreedSeconds);
  const offered = blocks.map(({ node, gpus, fresh }) => ({
    places: gpus.map(place).sort(),
    fresh,
    node: node.record.name,
  }));
  const settled = expected.free.map(({ node, labels, just_freed }) => ({
    places: labels
      .slice(0, labels.length - just_freed)
      .map((label) => `${node}:${label}`)
      .sort(),
    fresh: just_freed,
    node,
  }));
  // Blocks of the same size and age may stand in any order.
  const sorted = (all: typeof offered) => all.map((block) => JSON.stringify(block)).sort();
  expect(sorted(offered)).toEqual(sorted(settled));
  expect(offered.map(({ places }) => places.length)).toEqual(settled.map(({ places }) => places.length));
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
