import { afterEach, expect, test, vi } from 'vitest';
import { fits } from '../src/pages/bookings/lanes/sizes';
import type { BookingView } from '../src/api/bookings';
import { LaneDesk } from '../src/pages/bookings/lanes/desk.svelte';
import type { LaneView } from '../src/pages/bookings/lanes/view.svelte';
import { axisOf, dayName, dayOf, dayStart, daysOf, momentAt, QUARTER, shareOf } from '../src/state/axis';
import { holdsOf, HOUR } from '../src/state/booking';
import type { App } from '../src/state/context';
import { whoWords } from '../src/pages/bookings/lanes/words';
import { boxesOf, claimsOf, gapAt, lookOf, offerAt, stretchesOf } from '../src/state/lanes';
import { reallyOf } from '../src/state/really';
import { bookings } from '../src/text/en/bookings';
import { words } from '../src/text/en/words';
import { Language } from '../src/text/language.svelte';
import { gpu } from './samples';

declare const process: { env: Record<string, string | undefined> };
const zone = process.env['TZ'];
afterEach(() => {
  if (zone === undefined) delete process.env['TZ'];
  else process.env['TZ'] = zone;
});

const NOW = new Date(2026, 10, 17, 14, 30).getTime() / 1000;
const DAY = { start: NOW - 14.5 * HOUR, end: NOW + 9.5 * HOUR };
const seen = { me: 'ana', now: NOW };
const lanes = [0, 1, 2, 3].map((index) => gpu({ uuid: `GPU-${index}`, node: 'gpu01', index }));

function booking(change: Partial<BookingView>, gpus: number[] | null = [0]): BookingView {
  return {
    id: 'b1',
    kind: 'booking',
    who: 'eve',
    places: [{ node: 'gpu01', gpus }],
    start: NOW,
    end: NOW + 2 * HOUR,
    state: 'running',
    outcome: null,
    comment: null,
    created_at: null,
    through: null,
    revision: null,
    is_mine: false,
    may_change: false,
    use: null,
    no_show: false,
    given_back_at: null,
    ...change,
  };
}

test('a booking of neighbours is one box, of others one for each run', () => {
  const boxes = boxesOf(lanes, [booking({}, [0, 1, 3])], DAY, seen);
  expect(boxes.map(({ first, count }) => [first, count])).toEqual([
    [0, 2],
    [3, 1],
  ]);
});

test('a whole node is one box over all of its lanes', () => {
  expect(boxesOf(lanes, [booking({}, null)], DAY, seen)).toMatchObject([{ first: 0, count: 4 }]);
});

test('neighbours are those whose lanes are shown beside each other', () => {
  const shown = [lanes[0]!, lanes[2]!];
  expect(boxesOf(shown, [booking({}, [0, 2])], DAY, seen)).toMatchObject([{ first: 0, count: 2 }]);
});

test('what never was, what is elsewhere and what lies outside have no box', () => {
  const none = [
    booking({ end: NOW }),
    booking({ places: [{ node: 'gpu02', gpus: [0] }] }),
    booking({ start: DAY.end, end: DAY.end + HOUR }),
  ];
  expect(boxesOf(lanes, none, DAY, seen)).toEqual([]);
});

test('where two are at one place and time, the one that holds stands before the other', () => {
  const over = booking({ id: 'over', start: NOW - HOUR, end: NOW, state: 'released' });
  const block = booking({ id: 'block', kind: 'block', start: NOW - 2 * HOUR });
  const apart = booking({ id: 'apart' }, [1]);
  const depths = boxesOf(lanes, [over, block, apart], DAY, seen).map(({ booking: { id }, depth }) => [
    id,
    depth,
  ]);
  expect(depths).toEqual([
    ['block', 0],
    ['over', 1],
    ['apart', 0],
  ]);
});

test('looks tell mine, others, what is over, who did not come, and maintenance apart', () => {
  const looks = [
    booking({ who: 'Ana' }),
    booking({}),
    booking({ state: 'ended', end: NOW - 1 }),
    booking({ no_show: true }),
    booking({ kind: 'block' }),
    booking({ who: null, id: null }),
  ].map((one) => lookOf(one, seen));
  expect(looks).toEqual(['mine', 'others', 'past', 'no-show', 'block', 'others']);
});

test('what is claimed without a booking is a box from now on, of neighbours one', () => {
  const claim = { who: 'eve', until: NOW + HOUR, comment: null, is_unverified: false, behind: [] };
  const claimed = lanes.map((row) => (row.index < 3 ? { ...row, claim } : row));
  const known = [booking({}, [0])];
  const claims = claimsOf(claimed, known);
  expect(claims).toMatchObject([{ who: 'eve', end: NOW + HOUR, places: [{ gpus: [1, 2] }] }]);
  expect(boxesOf(lanes, claims, DAY, seen)).toMatchObject([{ first: 1, count: 2, start: NOW }]);
});

test('what is claimed without a booking is nobody’s own: anybody may have typed the name', () => {
  const claim = { who: 'ana', until: NOW + HOUR, comment: null, is_unverified: true, behind: [] };
  const [claimed] = claimsOf([{ ...lanes[0]!, claim }], []);
  expect(lookOf(claimed!, seen)).toBe('others');
  expect(whoWords(claimed!, new Language('en', { ...words, ...bookings }))).toBe('ana (not verified)');
});

test('a folded node says how many of its GPUs are booked, and how many are mine', () => {
  const boxes = boxesOf(
    lanes,
    [
      booking({ id: 'a', start: NOW - HOUR, end: NOW + HOUR }, [0, 1]),
      booking({ id: 'b', who: 'ana', start: NOW, end: NOW + 2 * HOUR }, [3]),
      booking({ id: 'c', kind: 'block' }, null),
    ],
    DAY,
    seen,
  );
  const told = stretchesOf(boxes, DAY, NOW).map(({ count, mine, isPast }) => [count, mine, isPast]);
  expect(told).toEqual([
    [2, 0, true],
    [3, 1, false],
    [1, 1, false],
  ]);
});

test('a gap reaches from what ends before to what begins after, and is never in the past', () => {
  const later = booking({ id: 'later', start: NOW + 8 * HOUR, end: NOW + 9 * HOUR, state: 'upcoming' });
  const holds = holdsOf('gpu01', [booking({}), later], lanes, NOW);
  expect(gapAt(0, NOW + 3 * HOUR, holds, NOW)).toEqual({ start: NOW + 2 * HOUR, end: NOW + 8 * HOUR });
  expect(gapAt(0, NOW + HOUR, holds, NOW)).toBeNull();
  expect(gapAt(1, NOW - HOUR, holds, NOW)).toBeNull();
  expect(gapAt(1, NOW + HOUR, holds, NOW)).toEqual({ start: NOW, end: Infinity });
});

test('an empty place offers the usual length from the start of its gap, or less where that ends', () => {
  const gap = { start: NOW, end: NOW + 24 * HOUR };
  expect(offerAt(NOW + HOUR, gap, 4 * HOUR)).toEqual({ start: NOW, end: NOW + 4 * HOUR });
  expect(offerAt(NOW + 22 * HOUR, gap, 4 * HOUR)).toEqual({ start: NOW + 22 * HOUR, end: gap.end });
});

test('days have the length that clocks give them, and hours are those on the wall', () => {
  process.env['TZ'] = 'Europe/Berlin';
  // The night of 25 October 2026 has an hour more, that of 29 March an hour less.
  for (const [day, hours] of [
    ['2026-10-25', 25],
    ['2026-03-29', 23],
    ['2026-11-17', 24],
  ] as const) {
    const axis = axisOf(dayOf(day)!, 1);
    expect([day, (axis.end - axis.start) / HOUR]).toEqual([day, hours]);
    expect(new Date(axis.hours.at(-1)! * 1000).getHours()).toBe(22);
  }
  const week = axisOf(dayOf('2026-10-20')!, 7);
  expect(week.days.map(dayName)).toEqual([20, 21, 22, 23, 24, 25, 26].map((day) => `2026-10-${day}`));
  expect(week.end - week.start).toBe((7 * 24 + 1) * HOUR);
});

test('a booking over the night in which clocks change is as wide as it is long', () => {
  process.env['TZ'] = 'Europe/Berlin';
  const axis = axisOf(dayOf('2026-10-24')!, 3);
  const start = new Date(2026, 9, 24, 22).getTime() / 1000;
  const end = new Date(2026, 9, 25, 8).getTime() / 1000;
  expect((end - start) / HOUR).toBe(11);
  expect(shareOf(axis, end) - shareOf(axis, start)).toBeCloseTo(11 / (3 * 24 + 1));
  // And where it is taken hold of, it has the same time again.
  expect(momentAt(axis, shareOf(axis, end) + 1e-9)).toBe(end);
});

test('a day goes into the address and comes back as the same day', () => {
  for (const name of ['America/St_Johns', 'Asia/Kathmandu', 'Pacific/Auckland']) {
    process.env['TZ'] = name;
    const today = dayStart(NOW);
    expect(dayOf(dayName(today))).toBe(today);
    expect(today % QUARTER).toBe(0);
  }
  expect([dayOf('gestern'), dayOf(null), daysOf('5'), daysOf('14')]).toEqual([null, null, 3, 14]);
});

test('what really happened is told up to now; what nobody saw is a gap, and free is nothing to see', () => {
  const state = (from: number, to: number, verdict: 'busy' | 'idle' | 'free', users: string[] = []) => ({
    from: NOW + from * HOUR,
    to: NOW + to * HOUR,
    verdict,
    users,
  });
  const states = [state(-10, -8, 'busy', ['ana']), state(-8, -6, 'free'), state(-4, -2, 'busy', ['eve'])];
  const owned = [{ start: NOW - 3 * HOUR, end: NOW, who: 'ana' }];
  const told = reallyOf(states, { start: NOW - 10 * HOUR, end: NOW }, { owned, width: 1000 });
  expect(told.map(({ kind, start, end }) => [kind, (start - NOW) / HOUR, (end - NOW) / HOUR])).toEqual([
    ['used', -10, -8],
    ['unobserved', -6, -4],
    ['used', -4, -3],
    ['others', -3, -2],
    ['unobserved', -2, 0],
  ]);
});

test('what is on its way to the history still is no gap', () => {
  const states = [{ from: NOW - HOUR, to: NOW - 100, verdict: 'idle' as const, users: null }];
  const told = reallyOf(states, { start: NOW - HOUR, end: NOW }, { owned: [], width: 1000 });
  expect(told.map(({ kind }) => kind)).toEqual(['idle']);
});

test('what was changed is known at once, with what had to give way', () => {
  // Until the next list the lane drew the old end, and a drag shifted that.
  const app = { client: {}, session: {} } as unknown as App;
  const told = vi.fn();
  const desk = new LaneDesk(app, {} as LaneView, told);
  desk.known = [booking({}), booking({ id: 'b2' })];
  const answer = {
    booking: booking({ end: NOW + 7 * HOUR }),
    notes: [],
    displaced: [booking({ id: 'b2', end: NOW }), booking({ id: 'b3' })],
  };
  desk.changed(answer);
  expect(desk.known.map(({ id, end }) => [id, end])).toEqual([
    ['b1', NOW + 7 * HOUR],
    ['b2', NOW],
    ['b3', NOW + 2 * HOUR],
  ]);
  expect(told).toHaveBeenCalledWith(answer);
});

test('what is dropped on another node goes back, and says so', async () => {
  // Only its time changed, to whatever hour lay below the mouse.
  const language = new Language('en', { ...words, ...bookings });
  const desk = new LaneDesk({ client: {}, session: {}, language } as unknown as App, {} as LaneView, vi.fn());
  desk.known = [booking({})];
  desk.draft = booking({ start: NOW + HOUR });
  desk.isElsewhere = true;
  await desk.drop();
  expect(desk.draft).toBeNull();
  expect(desk.told).toMatch(/^Put back: a box stays on its node/);
  expect(desk.isElsewhere).toBe(false);
});

test('what is left of a booking stands whole in its box, or not at all', () => {
  expect(fits('19 h 30 min', 52)).toBe(false);
  expect(fits('19 h 30 min', 100)).toBe(true);
  expect(fits('4 h', 34)).toBe(true);
  expect(fits('19 小时', 100)).toBe(true);
});
