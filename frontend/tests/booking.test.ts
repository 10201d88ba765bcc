import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { BookingView } from '../src/api/bookings';
import { agendaOf, bookingsAt, odditiesOf, ownOf } from '../src/state/agenda';
import {
  awayOn,
  clashOn,
  fieldMoment,
  fieldText,
  holdsOf,
  HOUR,
  lengthsFrom,
  nextGap,
  obstacleOf,
  peopleOn,
  spareFor,
  tomorrow,
} from '../src/state/booking';
import { clockWord } from '../src/pages/bookings/clock-set';
import { oddText } from '../src/pages/bookings/odd';
import { lengthText } from '../src/pages/bookings/lengths';
import { findSlot } from '../src/state/slot';
import { isUsable } from '../src/state/usable';
import { bookings } from '../src/text/en/bookings';
import { words } from '../src/text/en/words';
import { Language } from '../src/text/language.svelte';
import { gpu, using } from './samples';

const NOW = new Date(2026, 10, 17, 14, 32).getTime() / 1000;
const me = { me: 'ana', now: NOW, tomorrow: tomorrow(NOW) };
const search = { now: NOW, tomorrow: tomorrow(NOW), justFreed: 300 };

function booking(change: Partial<BookingView>): BookingView {
  return {
    id: 'b1',
    kind: 'booking',
    who: 'eve',
    places: [{ node: 'gpu01', gpus: [0] }],
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
const card = (index: number, change = {}) =>
  gpu({
    uuid: `GPU-${index}`,
    node: 'gpu01',
    index,
    label: String(index),
    verdict: 'free',
    claim: null,
    ...change,
  });
const cards = [card(0), card(1)];

test('what is booked is in the way of what overlaps it, and of nothing else', () => {
  const holds = holdsOf('gpu01', [booking({})], cards, NOW);
  expect(clashOn(0, { start: NOW + HOUR, end: NOW + 3 * HOUR }, holds)?.who).toBe('eve');
  expect(clashOn(0, { start: NOW + 2 * HOUR, end: NOW + 3 * HOUR }, holds)).toBeNull();
  expect(clashOn(1, { start: NOW, end: NOW + HOUR }, holds)).toBeNull();
});

test('a whole node is all of its GPUs; what was cancelled is in nobody’s way', () => {
  const whole = booking({ places: [{ node: 'gpu01', gpus: null }] });
  expect(holdsOf('gpu01', [whole], cards, NOW).map(({ number }) => number)).toEqual([0, 1]);
  expect(holdsOf('gpu01', [booking({ state: 'cancelled' })], cards, NOW)).toEqual([]);
});

test('a claim that no booking stands for holds too', () => {
  const claimed = card(0, {
    claim: { who: 'bob', until: null, comment: null, is_unverified: false, behind: [] },
  });
  const holds = holdsOf('gpu01', [], [claimed], NOW);
  expect(obstacleOf(claimed, { start: NOW + HOUR, end: NOW + 2 * HOUR }, holds, me)?.kind).toBe('clash');
});

test('a claim is in the way of changing a booking too, and one’s own claim never is', () => {
  // The page's now is a whole minute: it has begun since.
  const own = booking({ who: 'ana', start: NOW + 20 });
  const bob = { who: 'bob', until: NOW + 3 * HOUR, comment: null, is_unverified: false, behind: [] };
  const mine = { ...bob, who: 'ana', until: own.end };
  const longer = { start: NOW, end: NOW + 4 * HOUR };
  const inWay = (claim: unknown, known: BookingView[] = [own]) =>
    clashOn(0, longer, holdsOf('gpu01', known, [card(0, { claim })], NOW, own))?.who ?? null;
  expect(inWay({ ...mine, behind: [bob] })).toBe('bob');
  expect(inWay({ ...mine, behind: [{ ...bob, until: NOW + HOUR }] })).toBe('bob');
  expect(inWay(mine)).toBeNull();
  // Before the board has said what is booked, and once it has said that it ends later.
  expect(inWay(mine, [])).toBeNull();
  expect(inWay({ ...mine, until: own.end + HOUR }, [{ ...own, end: own.end + HOUR }])).toBeNull();
});

test('who is on it now is in the way of now, not of later; oneself never is', () => {
  const user = (name: string) => ({ name, memory_bytes: 1, processes: 1 });
  const used = card(0, { verdict: 'busy', users: [user('eve')] });
  const own = card(0, { verdict: 'busy', users: [user('Ana')] });
  const span = { start: NOW, end: NOW + HOUR };
  expect(obstacleOf(used, span, [], me)).toEqual({ kind: 'in-use', who: 'eve' });
  expect(obstacleOf(used, { start: NOW + HOUR, end: NOW + 2 * HOUR }, [], me)).toBeNull();
  const soon = { start: NOW + 600, end: NOW + HOUR };
  expect(obstacleOf(used, soon, [], me)).toEqual({ kind: 'in-use', who: 'eve' });
  const until = { number: used.index, who: 'Eve', start: NOW - HOUR, end: NOW + 600 };
  expect(obstacleOf(used, soon, [until], me)).toBeNull();
  expect(obstacleOf(own, span, [], me)).toBeNull();
});

test('what is broken can be booked from tomorrow on', () => {
  const broken = card(0, { verdict: 'broken' });
  expect(obstacleOf(broken, { start: NOW, end: NOW + HOUR }, [], me)?.kind).toBe('away');
  expect(obstacleOf(broken, { start: NOW + 86_400, end: NOW + 90_000 }, [], me)).toBeNull();
});

test("tomorrow is the board's, wherever the viewer is", () => {
  const broken = card(0, { verdict: 'broken' });
  const later = { ...me, tomorrow: tomorrow(NOW) + 7 * HOUR };
  const span = { start: tomorrow(NOW), end: tomorrow(NOW) + HOUR };
  expect(obstacleOf(broken, span, [], later)?.kind).toBe('away');
  expect(nextGap([broken], { start: NOW, end: NOW + HOUR }, [], later)).toBe(later.tomorrow);
  expect(nextGap([broken], { start: NOW, end: NOW + HOUR }, [], { ...me, tomorrow: Infinity })).toBeNull();
});

test('the next gap is long enough for all', () => {
  const later = booking({
    id: 'b2',
    places: [{ node: 'gpu01', gpus: [1] }],
    start: NOW + 3 * HOUR,
    end: NOW + 5 * HOUR,
  });
  const holds = holdsOf('gpu01', [booking({}), later], cards, NOW);
  expect(nextGap([card(0)], { start: NOW, end: NOW + HOUR }, holds, me)).toBe(NOW + 2 * HOUR);
  expect(nextGap(cards, { start: NOW, end: NOW + 2 * HOUR }, holds, me)).toBe(NOW + 5 * HOUR);
});

test('there is a next gap whatever is in the way, but for what is held without end', () => {
  const span = { start: NOW, end: NOW + HOUR };
  const used = card(0, { verdict: 'busy', users: using('eve') });
  // A quarter of an hour from now, as the sentence says, and some minutes to read it; also when it is late.
  expect(nextGap([used], span, [], me)).toBe(new Date(2026, 10, 17, 14, 55).getTime() / 1000);
  const late = new Date(2026, 10, 17, 23, 16).getTime() / 1000;
  const night = { start: late, end: late + 4 * HOUR };
  expect(nextGap([used], night, [], { me: 'ana', now: late, tomorrow: tomorrow(late) })).toBe(late + 24 * 60);
  expect(nextGap([used, card(1, { verdict: 'broken' })], span, [], me)).toBe(tomorrow(NOW));
  const endless = [{ number: 0, who: 'bob', start: 0, end: Infinity }];
  expect(nextGap([card(0)], span, endless, me)).toBeNull();
});

test('a spare GPU is as large, counts, and has nothing in its way', () => {
  const span = { start: NOW, end: NOW + HOUR };
  const others = [
    card(1, { memory_total_bytes: 1 }),
    card(2, { counted: false }),
    card(3, { verdict: 'broken' }),
    card(4),
  ];
  expect(spareFor(card(0), others, span, [], me)?.index).toBe(4);
  expect(spareFor(card(0), others.slice(0, 3), span, [], me)).toBeNull();
});

test('an evening that is over is not offered', () => {
  expect(lengthsFrom(NOW).map(({ key }) => key)).toEqual(['2h', '4h', 'tonight', 'tomorrow']);
  expect(lengthsFrom(NOW + 5 * HOUR).map(({ key }) => key)).toEqual(['2h', '4h', 'tomorrow']);
});

test('a field says the viewer’s own time, and gives it back', () => {
  expect(fieldText(NOW)).toBe('2026-11-17T14:32');
  expect(fieldMoment(fieldText(NOW))).toBe(NOW);
  expect(fieldMoment('')).toBeNull();
});

describe('on a night in which the clock is set', () => {
  beforeEach(() => void vi.stubEnv('TZ', 'Europe/Berlin'));
  afterEach(() => void vi.unstubAllEnvs());

  test.each([
    ['2027-03-28T02:30', 'book_clockOver'],
    ['2027-03-28T03:30', null],
    ['2027-10-31T02:30', 'book_clockTwice'],
    ['2027-10-31T01:30', null],
    ['2027-10-31T03:00', null],
    ['', null],
  ])('of %s it is said: %s', (text, word) => expect(clockWord(text)).toBe(word));
});

test('a slot goes around what is booked', () => {
  const nodes = [{ name: 'gpu01', gpus: cards }];
  const wish = { memoryBytes: 0, seconds: HOUR, onOneNode: true };
  const slot = (count: number, bookings = [booking({})]) =>
    findSlot(nodes, { ...wish, count }, bookings, search);
  expect(slot(1)).toMatchObject({ start: NOW, places: [{ node: 'gpu01', gpus: [1] }] });
  expect(slot(2)).toMatchObject({ start: NOW + 2 * HOUR, places: [{ node: 'gpu01', gpus: [0, 1] }] });
  expect(slot(3, [])).toBeNull();
});

test('a slot may be on several nodes, if somebody says so: as soon as it can be, on as few as can be', () => {
  const more = [0, 1, 2].map((index) => card(index, { uuid: `GPU-2${index}`, node: 'gpu02' }));
  const nodes = [
    { name: 'gpu01', gpus: cards },
    { name: 'gpu02', gpus: more },
  ];
  const wish = { memoryBytes: 0, seconds: HOUR };
  const slot = (count: number, onOneNode: boolean) =>
    findSlot(nodes, { ...wish, count, onOneNode }, [booking({})], search);
  expect(slot(4, true)).toBeNull();
  expect(slot(4, false)).toMatchObject({
    start: NOW,
    places: [
      { node: 'gpu02', gpus: [0, 1, 2] },
      { node: 'gpu01', gpus: [1] },
    ],
  });
  expect(slot(5, false)?.start).toBe(NOW + 2 * HOUR);
  // What one node has at the same time is not torn apart.
  expect(slot(3, false)?.places).toEqual([{ node: 'gpu02', gpus: [0, 1, 2] }]);
});

test('a slot is not found beyond the end of a list that was cut', () => {
  const nodes = [{ name: 'gpu01', gpus: cards }];
  const wish = { count: 2, memoryBytes: 0, seconds: HOUR, onOneNode: true };
  const found = (until: number) => findSlot(nodes, wish, [booking({})], { ...search, until });
  expect(found(NOW + 3 * HOUR)?.start).toBe(NOW + 2 * HOUR);
  expect(found(NOW + 2.5 * HOUR)).toBeNull();
});

test('what does not report is offered only where there is nothing else, and is said of each node once', () => {
  // Of a node that was lost all GPUs were the first, from midnight on.
  const lost = [0, 1].map((index) => card(index, { uuid: `GPU-2${index}`, node: 'gpu02', verdict: 'stale' }));
  const wish = { count: 2, memoryBytes: 0, seconds: HOUR, onOneNode: true };
  const until = tomorrow(NOW) + 3 * HOUR;
  const taken = booking({ places: [{ node: 'gpu01', gpus: [0, 1] }], end: until });
  const nodes = [
    { name: 'gpu01', gpus: cards },
    { name: 'gpu02', gpus: lost },
  ];
  expect(findSlot(nodes, wish, [taken], search)).toMatchObject({ start: until, places: [{ node: 'gpu01' }] });
  const found = findSlot(nodes.slice(1), wish, [], search);
  expect(found).toMatchObject({ start: tomorrow(NOW), places: [{ node: 'gpu02', gpus: [0, 1] }] });
  expect(awayOn(found!.places, () => lost)).toEqual([{ node: 'gpu02', gpus: [0, 1], word: 'stale' }]);
  expect(awayOn([{ node: 'gpu01', gpus: [0, 1] }], () => cards)).toEqual([]);
});

test('a slot later is chosen as one of now is: the smallest block that suffices', () => {
  const busy = (index: number, node: string) =>
    card(index, { uuid: `GPU-${node}-${index}`, node, verdict: 'busy', users: using('eve') });
  const nodes = [
    { name: 'gpu01', gpus: [0, 1, 2].map((index) => busy(index, 'gpu01')) },
    { name: 'gpu02', gpus: [0, 1].map((index) => busy(index, 'gpu02')) },
  ];
  const wish = { count: 2, memoryBytes: 0, seconds: 8 * HOUR, onOneNode: true };
  expect(findSlot(nodes, wish, [], search)).toMatchObject({
    start: new Date(2026, 10, 17, 14, 55).getTime() / 1000,
    places: [{ node: 'gpu02', gpus: [0, 1] }],
  });
});

test('the agenda has what runs first, then day by day; over is over', () => {
  const tomorrow = booking({ id: 'b2', state: 'upcoming', start: NOW + 86_400, who: 'Ana' });
  const all = [tomorrow, booking({ id: 'b3', state: 'ended' }), booking({})];
  expect(agendaOf(all).map(({ bookings }) => bookings.map(({ id }) => id))).toEqual([['b1'], ['b2']]);
  expect(ownOf(all, 'ana').map(({ id }) => id)).toEqual(['b2']);
  expect(ownOf(all, null)).toEqual([]);
});

test('of an earlier moment bookings are as they stood, and nothing can be done with them', () => {
  const [start, end] = [NOW - 7200, NOW - 3600];
  const told = [
    booking({ id: 'then', start, end, state: 'ended', no_show: true, created_at: start }),
    booking({ id: 'own', start: NOW + 60, end: NOW + 3600, state: 'upcoming', may_change: true }),
    booking({ id: 'later', start, end, created_at: NOW - 10 }),
    booking({ id: 'gone', start, end, state: 'cancelled' }),
  ];
  const found = bookingsAt(told, NOW - 5000);
  expect(found.map(({ id, state }) => [id, state])).toEqual([
    ['then', 'running'],
    ['own', 'upcoming'],
    ['gone', 'cancelled'],
  ]);
  expect(found.some(({ may_change, no_show }) => may_change || no_show)).toBe(false);
});

test('what is not as booked names who and whose', () => {
  const users = using('bob');
  const claim = { who: 'eve', until: NOW + HOUR, comment: null, is_unverified: false, behind: [] };
  const ended = { ...claim, who: 'bob', until: NOW - 60 };
  const odd = odditiesOf(
    [booking({ no_show: true })],
    [card(0, { users, claim, flags: ['trespass'] }), card(1, { users, ended_claim: ended })],
    NOW,
  );
  expect(odd.map(({ kind, who }) => [kind, who])).toEqual([
    ['no-show', 'eve'],
    ['trespass', 'bob'],
    ['overrun', 'bob'],
  ]);
});

test('what was given back says so, and when', () => {
  const language = new Language('en', { ...words, ...bookings });
  const text = (change: Partial<BookingView>) =>
    odditiesOf([booking({ no_show: true, ...change })], [], NOW).map((one) => oddText(one, NOW, language));
  expect(text({})).toEqual(['eve has not come.']);
  expect(text({ state: 'released', end: NOW })).toEqual(['eve has not come; given back at 14:32.']);
});

test('who is named runs there against all claims: not root, nor who has one behind', () => {
  const behind = [{ who: 'Dan', until: NOW + 2 * HOUR, comment: null }];
  const claim = { who: 'eve', until: NOW + HOUR, comment: null, behind };
  const [daemon, ...others] = using('root', 'dan', 'EVE', 'bob')!;
  const nameless = { ...daemon!, name: 'uid 4711', user: null };
  const system = { ...daemon!, name: 'gdm', user: 'gdm', uid: 120 };
  const users = [{ ...daemon!, uid: 0 }, nameless, system, ...others];
  const odd = odditiesOf([], [card(0, { users, claim, flags: ['trespass'] })], NOW);
  expect(odd).toMatchObject([{ kind: 'trespass', who: 'bob', booker: 'eve' }]);
});

test('who is on a slot now is named, each once; whoever looks is no news, and nobody is where names are hidden', () => {
  const rows = [
    card(0, { verdict: 'busy', users: using('eve', 'Ana') }),
    card(1, { verdict: 'busy', users: using('EVE') }),
    card(2, { verdict: 'busy', users: using('ben') }),
    card(3, { verdict: 'stale', users: using('cem') }),
    // An instance goes with its card, whatever its number.
    card(0, { uuid: 'MIG-0', mig_parent_uuid: 'GPU-2', verdict: 'busy', users: using('dan') }),
  ];
  const on = (gpus: number[] | null, me: string | null = 'ana') =>
    peopleOn([{ node: 'gpu01', gpus }], () => rows, me);
  expect(on([0, 1])).toEqual(['EVE']);
  expect(on([2])).toEqual(['ben', 'dan']);
  expect(on([3])).toEqual([]);
  expect(on(null, null).sort()).toEqual(['Ana', 'EVE', 'ben', 'dan']);
  expect(peopleOn([{ node: 'gpu01', gpus: [0] }], () => [card(0, { users: null })], null)).toEqual([]);
});

test('one may use what is free, and what is booked for oneself while it is there', () => {
  const claim = { who: 'Ana', until: null, comment: null, is_unverified: false, behind: [] };
  expect(isUsable(gpu(), null)).toBe(true);
  expect(isUsable(gpu({ verdict: 'booked', claim }), 'ana')).toBe(true);
  expect(isUsable(gpu({ verdict: 'busy', claim, users: using('ana') }), 'ana')).toBe(true);
  expect(isUsable(gpu({ verdict: 'booked', claim }), 'eve')).toBe(false);
  expect(isUsable(gpu({ verdict: 'booked', claim }), null)).toBe(false);
  expect(isUsable(gpu({ verdict: 'broken', claim }), 'ana')).toBe(false);
  expect(isUsable(gpu({ verdict: 'booked', claim, counted: false }), 'ana')).toBe(false);
});

test('an end is called by its own day when the start is not today', () => {
  // On Wednesday evening "tomorrow 9:00" was Friday for what began on Thursday.
  const language = new Language('en', { ...words, ...bookings });
  const texts = (start: number) =>
    lengthsFrom(start).map((length) => lengthText(length, start, NOW, language));
  expect(texts(NOW).slice(2)).toEqual(['tonight 18:00', 'tomorrow 9:00']);
  const named = texts(tomorrow(NOW) + 9 * HOUR).slice(2);
  expect(named[0]).toMatch(/^Wed.*(18:00|6:00)/);
  expect(named[1]).toMatch(/^Thu.*9:00/);
});
