/** A size asked for is the size on the box: the table of cases that the board's own tests read too. */

import { expect, test } from 'vitest';
import cases from '../../tests/golden/sizes.json';
import { HOUR } from '../src/state/booking';
import { parseFilter, type Facts } from '../src/state/filter';
import { matches } from '../src/state/passing';
import { nominalModel } from '../src/state/models';
import { findSlot } from '../src/state/slot';
import { gpu } from './samples';

function facts(totalMib: number | null, usedBytes = 0): Facts {
  const total = totalMib === null ? null : totalMib * 2 ** 20;
  return {
    gpu: gpu({ memory_total_bytes: total, memory_used_bytes: usedBytes }),
    node: undefined,
    nodeFree: 0,
    now: 0,
    me: null,
  };
}

const finds = (text: string, about: Facts) => matches(parseFilter(text), about);

for (const { card, total_mib, memory, fits } of cases)
  test(`${card} ${fits ? 'is' : 'is not'} found by memory>=${memory}`, () => {
    expect(finds(`memory>=${memory}`, facts(total_mib))).toBe(fits);
  });

// The page of bookings asks in whole GB.
for (const { card, total_mib, memory, fits } of cases.filter(({ memory }) => /^\d+G?$/.test(memory)))
  test(`${card} ${fits ? 'is' : 'is not'} found for a booking of ${memory}`, () => {
    const nodes = [{ name: 'a', gpus: [{ ...facts(total_mib).gpu, verdict: 'free' as const, claim: null }] }];
    const wish = { count: 1, memoryBytes: parseInt(memory) * 2 ** 30, seconds: HOUR, onOneNode: true };
    expect(findSlot(nodes, wish, [], { now: 0, tomorrow: 86_400, justFreed: 300 }) !== null).toBe(fits);
  });

test('what is used does not make a card smaller', () => {
  expect(finds('memory>=80G', facts(81559, 70 * 2 ** 30))).toBe(true);
  expect(finds('memory_free>=80G', facts(81559, 70 * 2 ** 30))).toBe(false);
});

test('smaller, of this size and larger leave no card out', () => {
  const words = ['memory<48G', 'memory=48G', 'memory>48G'];
  for (const [total, found] of [
    [24564, 0],
    [46068, 1],
    [81559, 2],
  ] as const)
    expect(words.map((word) => finds(word, facts(total)))).toEqual(words.map((_, place) => place === found));
});

test('an instance whose profile nobody knows is not called by the size of its card', () => {
  const instance = { mig_parent_uuid: 'GPU-1', memory_total_bytes: 10 * 2 ** 30 };
  expect(nominalModel(gpu({ model: 'A100-SXM4-80GB', ...instance }))).toBe('A100-SXM4 MIG 10 GB');
  expect(nominalModel(gpu({ model: 'H100', ...instance, memory_total_bytes: null }))).toBe('H100 MIG');
  expect(nominalModel(gpu({ model: 'A100 1g.10gb', ...instance, mig_profile: '1g.10gb' }))).toBe(
    'A100 1g.10gb',
  );
});

test('cards are called by the size on their box, by which they are found', () => {
  const called = (mib: number) => nominalModel(gpu({ model: 'X', memory_total_bytes: mib * 2 ** 20 }));
  const sizes = [
    [23028, 24],
    [15360, 16],
    [46068, 48],
    [11441, 12],
    [11264, 11],
    [24564, 24],
    [81559, 80],
    [95830, 94],
    [97871, 96],
    [143771, 140],
    [183359, 179],
    [196592, 192],
    [6144, 6],
  ] as const;
  expect(sizes.map(([mib]) => called(mib))).toEqual(sizes.map(([, box]) => `X ${box} GB`));
  for (const [mib, box] of sizes) expect(finds(`memory>=${box}G`, facts(mib))).toBe(true);
});
