/** What the page asks again and again: an answer that comes late is shown, and nothing is asked twice meanwhile. */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Order } from '../src/pages/bookings/order.svelte';
import { listedSpan, ownSpan } from '../src/state/booking';
import { Clock } from '../src/state/clock.svelte';
import type { App } from '../src/state/context';
import { Followed } from '../src/state/followed.svelte';
import { Polled } from '../src/state/polled.svelte';

const SLOW_MS = 4000;

// Effects do not run in these tests; what is read untracked can start none of them anew.
let isUntracked = false;
vi.mock('svelte', async (original) => ({
  ...(await original<typeof import('svelte')>()),
  untrack: <Value>(read: () => Value): Value => {
    isUntracked = true;
    try {
      return read();
    } finally {
      isUntracked = false;
    }
  },
}));

/** What every question is answered with, after a while. */
function slowly<Answer>(answer: Answer): Promise<Answer> {
  return new Promise((resolve) => setTimeout(() => resolve(answer), SLOW_MS));
}

/** What a form needs to know of the page. */
function appAt(clock: Clock): App {
  return {
    client: { base: new URL('http://board/') },
    clock,
    fleet: { nodes: new Map() },
    preferences: { bookingSeconds: 4 * 3600 },
    session: { person: 'ana' },
  } as unknown as App;
}

describe('answers that take four seconds', () => {
  let clock: Clock;
  let stops: (() => void)[];

  beforeEach(() => {
    vi.useFakeTimers();
    vi.stubGlobal('document', { visibilityState: 'visible' });
    clock = new Clock();
    stops = [clock.start()];
  });
  afterEach(() => {
    stops.forEach((stop) => stop());
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  const during = (seconds: number) => vi.advanceTimersByTimeAsync(seconds * 1000);

  test.each([
    ['every few seconds', (ask: () => Promise<unknown>) => new Polled(ask, 5).start()],
    ['of a question that changes', (ask: () => Promise<unknown>) => new Followed().follow(ask, 5)],
  ])('a clock that is read for what is asked %s starts nothing anew', (_name, start) => {
    // Each second asked once more, and dropped the answers that were on their way.
    const seen: boolean[] = [];
    const ask = () => slowly(seen.push(isUntracked));
    stops.push(start(ask));
    expect(seen).toEqual([true]);
  });

  test('the next question is asked only a while after the answer, which is shown', async () => {
    // A board that needs long is not asked again meanwhile.
    const ask = vi.fn(() => slowly(listedSpan(clock.second)));
    const polled = new Polled(ask, 5);
    stops.push(polled.start());
    await during(12);
    expect(ask).toHaveBeenCalledTimes(2);
    expect(polled.value).not.toBeNull();
  });

  test('a list of bookings is one question for five minutes', () => {
    // A moment of its own in each question makes each a new one.
    expect(listedSpan(3600 * 24 + 299)).toEqual(listedSpan(3600 * 24));
    expect(ownSpan(3600 * 24 + 299)).toEqual(ownSpan(3600 * 24));
  });

  test('what moves on by itself shows an answer about the span before', async () => {
    // Else nothing is ever shown where answers take longer than a step.
    const followed = new Followed<string>();
    followed.follow(() => slowly('before'), null, 0, 'GPU-1 15m')();
    stops.push(followed.follow(() => new Promise(() => {}), null, 0, 'GPU-1 15m'));
    await during(5);
    expect(followed.value).toBe('before');
  });

  test('an answer about something else is not shown', async () => {
    // Who has gone on to another GPU does not see the first one's plot.
    const followed = new Followed<string>();
    followed.follow(() => slowly('one'), null, 0, 'one')();
    stops.push(followed.follow(() => new Promise(() => {}), null, 0, 'other'));
    await during(9);
    expect(followed.value).toBeNull();
  });

  test('a form knows nothing before the board has said what is booked', async () => {
    // "Nothing else is booked there" stood there before it was known.
    const answer = { ok: true, status: 200, json: async () => ({ bookings: [], limits: [], weeks: [] }) };
    const fetched = vi.fn((_url: URL) => slowly(answer));
    vi.stubGlobal('fetch', fetched);
    const order = new Order(appAt(clock), 'dgx-01', [0], null);
    stops.push(order.follow());
    await during(3);
    expect(order.isKnown).toBe(false);
    await during(10);
    expect(order.isKnown).toBe(true);
    // One list and one look at the limits; the next only ten seconds after the answer.
    expect(fetched).toHaveBeenCalledTimes(2);
  });

  test('a form knows of the time that is chosen, however far ahead it lies', async () => {
    // It said "Nothing else is booked there" of what was booked in a month.
    const start = clock.second + 40 * 86_400;
    const booked = { start, end: start + 7200, state: 'upcoming', who: 'eve', id: 'b1' };
    const places = [{ node: 'dgx-01', gpus: [0] }];
    const fetched = vi.fn((url: URL) => {
      const isTold = Number(new URL(url).searchParams.get('to')) > start;
      const bookings = isTold ? [{ ...booked, places }] : [];
      return slowly({ ok: true, status: 200, json: async () => ({ bookings, limits: [], weeks: [] }) });
    });
    vi.stubGlobal('fetch', fetched);
    const order = new Order(appAt(clock), 'dgx-01', [0], null);
    stops.push(order.follow());
    await during(5);
    order.move(start, start + 3600);
    expect(order.isKnown).toBe(false);
    void order.lookThere();
    await during(5);
    expect(order.isKnown).toBe(true);
    expect(order.clashUntil(start + 3600)?.who).toBe('eve');
    // What is known already is not asked about again.
    fetched.mockClear();
    order.move(start + 3600, start + 7200);
    void order.lookThere();
    expect(fetched).toHaveBeenCalledTimes(1);
  });
});

test('a usual length is marked in a form that the lanes have opened for it', () => {
  // The span was four hours, and no button said so.
  const clock = new Clock();
  const start = clock.second + 7200;
  const lengthOf = (hours: number) =>
    new Order(appAt(clock), 'dgx-01', [0], null, { start, end: start + hours * 3600 }).length;
  expect(lengthOf(4)).toBe('4h');
  expect(lengthOf(0.37)).toBeNull();
});
