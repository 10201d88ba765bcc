/** Stretches of time on a plot. */

import { describe, expect, test } from 'vitest';
import type { StateView } from '../src/api/history';
import { isByMonths, moments, roundAbove } from '../src/charts/ticks';
import {
  covers,
  gapsIn,
  gapsOf,
  isMostlyIn,
  lane,
  panned,
  pointAt,
  pointsFor,
  rangeOf,
  refreshSeconds,
  secondsByKind,
  spanOf,
  stateAt,
  statesIn,
  wholeUnits,
  within,
  zoomed,
} from '../src/state/span';
import { monthText, spanText } from '../src/text/moments';

const NOW = 1_000_000;
const LIMITS = { from: 0, to: NOW };
const state = (from: number, to: number, verdict: StateView['verdict'], ...users: string[]): StateView => ({
  from,
  to,
  verdict,
  users,
});

describe('who was on it', () => {
  const states = [state(0, 100, 'busy', 'martin'), state(100, 107, 'free'), state(200, 300, 'busy', 'lin')];
  test('at the very end of what is known is who was there last', () => {
    expect(stateAt(states, 100)?.verdict).toBe('free');
    expect(stateAt(states, 107)).toBeNull();
    expect(stateAt(states, 150)).toBeNull();
    expect(stateAt(states, 300)?.users).toEqual(['lin']);
  });
  test('in a stretch is who was there longest, not last', () => {
    expect(statesIn(states, { from: 0, to: 120 }).map(({ verdict }) => verdict)).toEqual(['busy', 'free']);
    const back = [...states, state(300, 320, 'busy', 'martin')];
    expect(statesIn(back, { from: 90, to: 320 }).map(({ users }) => users)).toEqual([
      ['lin'],
      ['martin'],
      [],
    ]);
    expect(statesIn(states, { from: 110, to: 190 })).toEqual([]);
  });
});

test('an answer about another time is not taken for one about this', () => {
  const week = { from: NOW - 604_800, to: NOW };
  expect(covers(null, week)).toBe(false);
  expect(covers({ from: NOW - 86_400, to: NOW }, week)).toBe(false);
  // What goes on is always a little behind.
  expect(covers({ from: week.from - 300, to: NOW - 300 }, week)).toBe(true);
  expect(covers({ from: NOW - 3600, to: NOW - 60 }, { from: NOW - 3590, to: NOW })).toBe(true);
});

test('a gap is called by what most of it lies in', () => {
  const pauses = [
    { from: 0, to: 40 },
    { from: 60, to: 70 },
  ];
  expect(isMostlyIn({ from: 0, to: 100 }, pauses)).toBe(true);
  expect(isMostlyIn({ from: 0, to: 101 }, pauses)).toBe(false);
  expect(isMostlyIn({ from: 70, to: 71 }, pauses)).toBe(false);
  expect(isMostlyIn({ from: 5, to: 5 }, [])).toBe(false);
});

test('parts in whole units add up', () => {
  expect(wholeUnits([16.4, 2.52, 5.26], 24.2)).toEqual([16, 3, 5]);
  expect(wholeUnits([2.49, 3.82], 6.31)).toEqual([2, 4]);
  expect(wholeUnits([], 0)).toEqual([]);
});

describe('a range', () => {
  test('that nobody knows is a day', () => {
    expect([null, '7d', '1y', '2y', 'toString'].map(rangeOf)).toEqual(['24h', '7d', '1y', '24h', '24h']);
  });
  test('ends now, or has the moment of the past in its middle as far as now allows', () => {
    expect(spanOf('1h', NOW)).toEqual({ from: NOW - 3600, to: NOW });
    expect(spanOf('1h', NOW, NOW - 86_400)).toEqual({ from: NOW - 88_200, to: NOW - 84_600 });
    expect(spanOf('24h', NOW, NOW - 60)).toEqual({ from: NOW - 86_400, to: NOW });
  });
  test('has as many points as the eye tells apart, and no more than the board gives', () => {
    expect([10, 900, 100_000].map(pointsFor)).toEqual([60, 300, 600]);
  });
  test('is asked for again as often as something new can be seen', () => {
    expect([3600, 86_400, 30 * 86_400].map((to) => refreshSeconds({ from: 0, to }))).toEqual([10, 240, 600]);
  });
});

describe('looking closer', () => {
  test('keeps the moment under the cursor where it is', () => {
    const span = zoomed({ from: 1000, to: 5000 }, 0.5, 2000, LIMITS);
    expect(span).toEqual({ from: 1500, to: 3500 });
    expect((2000 - span.from) / (span.to - span.from)).toBe((2000 - 1000) / 4000);
  });
  test('stops where the samples are', () => {
    const { from, to } = zoomed({ from: 1000, to: 1300 }, 0.1, 1150, LIMITS);
    expect(to - from).toBe(300);
  });
  test('and wider stop at the first record and at now', () => {
    expect(zoomed({ from: NOW - 4000, to: NOW }, 2, NOW, LIMITS)).toEqual({ from: NOW - 8000, to: NOW });
    expect(within({ from: -9e9, to: 9e9 }, LIMITS)).toEqual(LIMITS);
    expect(panned({ from: 0, to: 4000 }, -0.5, LIMITS)).toEqual({ from: 0, to: 4000 });
    expect(panned({ from: NOW - 4000, to: NOW }, 0.5, LIMITS)).toEqual({ from: NOW - 4000, to: NOW });
    expect(panned({ from: 8000, to: 12_000 }, -0.5, LIMITS)).toEqual({ from: 6000, to: 10_000 });
  });
});

describe('what nobody saw', () => {
  test('is a gap, however long; zero is none', () => {
    const gaps = gapsIn([0, 10, 20, 30, 40, 50], 10, [1, null, null, 0, null, 5]);
    expect(gaps).toEqual([
      { from: 10, to: 30 },
      { from: 40, to: 50 },
    ]);
  });
  test('is all of it when nothing was told', () => {
    expect(gapsIn([0, 10], 10, [])).toEqual([{ from: 0, to: 20 }]);
  });
  test('is told within what is shown, and before the first record to its very moment', () => {
    const gaps = [
      { from: -50, to: 100 },
      { from: 300, to: 400 },
      { from: 950, to: 1050 },
    ];
    const span = { from: 0, to: 1000 };
    expect(gapsOf(gaps, 50, span, 130)).toEqual([
      { from: 0, to: 130 },
      { from: 300, to: 400 },
      { from: 950, to: 1000 },
    ]);
    // What nobody saw later ends where it ended.
    expect(gapsOf(gaps, 50, span, 200)[0]).toEqual({ from: 0, to: 100 });
    expect(gapsOf([{ from: -50, to: 0 }], 50, span, null)).toEqual([]);
  });
  test('has no point, and nobody was on it then', () => {
    expect([-1, 0, 9, 10, 19, 20, 21].map((at) => pointAt([0, 10], 10, at))).toEqual([-1, 0, 0, 1, 1, 1, -1]);
    const states = [state(0, 10, 'busy', 'ana'), state(20, 30, 'free')];
    expect([5, 10, 25].map((at) => stateAt(states, at)?.verdict)).toEqual(['busy', undefined, 'free']);
  });
});

describe('the time of a GPU', () => {
  const states = [
    state(-50, 40, 'busy', 'ana'),
    state(40, 50, 'idle', 'ana'),
    state(60, 70, 'stale'),
    state(70, 90, 'free'),
    state(95, 200, 'broken'),
  ];
  test('adds up to the span, the rest being not observed', () => {
    const sums = secondsByKind(states, { from: 0, to: 100 });
    expect(sums).toEqual({ used: 40, idle: 10, booked: 0, free: 20, broken: 5, unobserved: 25 });
    expect(Object.values(sums).reduce((all, each) => all + each)).toBe(100);
  });
  test('is a lane of boxes within the span; what is stale leaves it open', () => {
    const boxes = lane(states, { from: 0, to: 100 }, 1000);
    expect(boxes.map(({ kind, left, width }) => [kind, left, width])).toEqual([
      ['used', 0, 0.4],
      ['idle', 0.4, 0.1],
      ['free', 0.7, 0.2],
      ['broken', 0.95, 0.05],
    ]);
  });
  test('has no more boxes than pixels, and joins what goes on', () => {
    const jobs = Array.from({ length: 5000 }, (_, place) =>
      state(place, place + 1, place % 2 ? 'busy' : 'free'),
    );
    expect(lane(jobs, { from: 0, to: 5000 }, 300).length).toBeLessThan(300);
    const same = [state(0, 50, 'busy', 'ana'), state(50, 100, 'busy', 'ana'), state(100, 150, 'busy', 'bob')];
    expect(lane(same, { from: 0, to: 150 }, 1000).map(({ users }) => users)).toEqual([['ana'], ['bob']]);
  });
});

test('two moments of two days both say their day, also when the second is today', () => {
  const at = (day: number, hour: number) => new Date(2026, 10, day, hour, 30).getTime() / 1000;
  const now = at(18, 9);
  expect(spanText(at(18, 1), at(18, 4), now, 'en-GB')).toEqual(['01:30', '04:30']);
  expect(spanText(at(17, 1), at(18, 4), now, 'en-GB')).toEqual(['Tue 01:30', 'Wed 04:30']);
  expect(spanText(at(3, 1), at(18, 4), now, 'en-GB')).toEqual(['3 Nov, 01:30', '18 Nov, 04:30']);
});

test('a lane of pieces that nobody could see is what was so longest, not what was so first', () => {
  const day = (at: number) => [state(at, at + 8, 'idle', 'bob'), state(at + 8, at + 24, 'busy', 'ana')];
  const year = [...Array(365).keys()].flatMap((place) => day(24 * place));
  const boxes = lane(year, { from: 0, to: 8760 }, 300);
  expect(boxes.map(({ kind, users, width }) => [kind, users, width])).toEqual([['used', ['ana'], 1]]);
});

describe('a scale', () => {
  test('has round moments, as many as have room', () => {
    const midnight = new Date(2026, 10, 17).getTime() / 1000;
    const found = moments(midnight + 100, midnight + 86_500, 8);
    expect(found.length).toBeLessThanOrEqual(8);
    expect(found.map((at) => new Date(at * 1000).getHours())).toEqual([3, 6, 9, 12, 15, 18, 21, 0]);
  });
  test('of a month has days', () => {
    const midnight = new Date(2026, 10, 1).getTime() / 1000;
    const found = moments(midnight, midnight + 29 * 86_400, 10);
    expect(found.every((at) => new Date(at * 1000).getHours() === 0)).toBe(true);
    expect(found.length).toBeGreaterThan(3);
  });
  test('of a week has days on a phone too', () => {
    const noon = new Date(2026, 10, 11, 12).getTime() / 1000;
    expect(moments(noon, noon + 7 * 86_400, 3).length).toBe(2);
  });
  test('of a year has months, with as much room for each', () => {
    const day = new Date(2026, 10, 19).getTime() / 1000;
    for (const [most, months] of [
      [12, [11, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]],
      [4, [0, 3, 6, 9]],
    ] as const) {
      const found = moments(day - 365 * 86_400, day, most);
      expect(found.map((at) => new Date(at * 1000).getMonth())).toEqual(months);
      expect(found.every((at) => new Date(at * 1000).getDate() === 1)).toBe(true);
      expect(isByMonths(found)).toBe(true);
    }
    expect(isByMonths(moments(day - 30 * 86_400, day, 4))).toBe(false);
    expect([new Date(2026, 0), new Date(2026, 1)].map((at) => monthText(+at / 1000, 'en'))).toEqual([
      '2026',
      'Feb',
    ]);
  });
  test('ends at the next round number', () => {
    expect([0, 3, 47, 512].map(roundAbove)).toEqual([1, 5, 50, 1000]);
  });
});
