/** The board at a moment of the past. */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ApiError } from '../src/api/client';
import { historyOf, type EpisodeView, type EventView, type TrackAnswer } from '../src/api/history';
import type { BoardInfo, Snapshot } from '../src/api/wire';
import { around } from '../src/pages/past/around';
import { cursorKey } from '../src/pages/past/cursorKeys';
import { fitting } from '../src/pages/past/fitting';
import { trackLines } from '../src/pages/past/track';
import { enterPast, reach, Rewind, stepped } from '../src/state/past.svelte';
import { StripFeed, stripGradient } from '../src/state/strips.svelte';
import { snapshot } from './samples';

const NOW = 1_000_000;

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** A board that answers when it is told to. */
function board() {
  const asked: { at: number; answer: (found: Snapshot) => void; fail: (why: unknown) => void }[] = [];
  const shown: number[] = [];
  const stays: number[] = [];
  const refused = vi.fn();
  const rewind = new Rewind({
    ask: (at) => new Promise((answer, fail) => asked.push({ at, answer, fail })),
    show: ({ at }) => shown.push(at),
    stay: (at) => stays.push(at),
    refuse: refused,
  });
  const settle = () => vi.advanceTimersByTimeAsync(300);
  return { asked, shown, stays, refused, rewind, settle };
}
const then = (at: number) => ({ ...snapshot([], []), at });

describe('rewinding', () => {
  test('asks for one moment at a time, and of the wishes meanwhile for the last', async () => {
    const { asked, shown, rewind, settle } = board();
    for (const at of [60, 120, 180, 240]) rewind.go(at);
    expect(asked.map(({ at }) => at)).toEqual([60]);
    asked[0]!.answer(then(60));
    await settle();
    expect(asked.map(({ at }) => at)).toEqual([60, 240]);
    asked[1]!.answer(then(240));
    await settle();
    expect(shown).toEqual([60, 240]);
    expect([rewind.status, rewind.shown, asked.length]).toEqual(['shown', 240, 2]);
  });
  test('asks no more often than the board likes', async () => {
    const { asked, rewind } = board();
    rewind.go(60);
    asked[0]!.answer(then(60));
    await vi.advanceTimersByTimeAsync(1);
    rewind.go(120);
    await vi.advanceTimersByTimeAsync(200);
    expect(asked.length).toBe(1);
    await vi.advanceTimersByTimeAsync(100);
    expect(asked.length).toBe(2);
  });
  test('shows nothing of a board that answers with now, for it knows no past', async () => {
    const { asked, shown, rewind, settle } = board();
    rewind.go(60);
    asked[0]!.answer(then(NOW));
    await settle();
    expect([rewind.status, shown]).toEqual(['none', []]);
  });
  test('says that there is no history, and does not ask again', async () => {
    const { asked, rewind, settle } = board();
    rewind.go(60);
    asked[0]!.fail(new ApiError(404, 'no history'));
    await settle();
    await vi.advanceTimersByTimeAsync(60_000);
    expect([rewind.status, asked.length]).toEqual(['none', 1]);
  });
  test.each([0, 429, 503])(
    'asks again after status %i, until somebody has gone elsewhere',
    async (status) => {
      const { asked, rewind, settle } = board();
      rewind.go(60);
      asked[0]!.fail(new ApiError(status, 'not now'));
      await settle();
      // A board that has enough of us is not away.
      expect(rewind.status).toBe(status === 429 ? 'coming' : 'failed');
      await vi.advanceTimersByTimeAsync(3000);
      expect(asked.length).toBe(2);
      asked[1]!.fail(new ApiError(status, 'not now'));
      rewind.stop();
      await vi.advanceTimersByTimeAsync(60_000);
      expect(asked.length).toBe(2);
    },
  );
  test('stays at the moment that is shown where the next cannot be had, and says which', async () => {
    const { asked, shown, stays, rewind, settle } = board();
    rewind.go(120);
    asked[0]!.answer(then(120));
    await settle();
    rewind.go(60);
    asked[1]!.fail(new ApiError(0, 'away'));
    await settle();
    expect([stays, shown, rewind.shown, rewind.missed]).toEqual([[120], [120], 120, { at: 60, why: '' }]);
    // What is there is not asked for again, and the words stay.
    rewind.go(120);
    await vi.advanceTimersByTimeAsync(60_000);
    expect([asked.length, rewind.missed?.at]).toEqual([2, 60]);
    rewind.go(180);
    asked[2]!.answer(then(180));
    await settle();
    expect([rewind.shown, rewind.missed]).toEqual([180, null]);
  });
  test('leaves a moment that the board says cannot be', async () => {
    const { asked, refused, rewind, settle } = board();
    rewind.go(NOW);
    asked[0]!.fail(new ApiError(400, 'at: nobody knows the future'));
    await settle();
    expect(refused).toHaveBeenCalledOnce();
  });
  test('draws nothing once nobody looks', async () => {
    const { asked, shown, rewind, settle } = board();
    rewind.go(60);
    rewind.stop();
    asked[0]!.answer(then(60));
    await settle();
    expect(shown).toEqual([]);
  });
});

describe('a step', () => {
  const limits = { from: NOW - 10_000, to: NOW };
  test('is on a whole minute', () => {
    expect(stepped(600_030, -60, { from: 0, to: NOW })).toBe(600_000);
    expect(stepped(600_000, 3600, { from: 0, to: NOW })).toBe(603_600);
  });
  test('stops at the first record, and beyond the last minute is now', () => {
    expect(stepped(NOW - 9000, -3600, limits)).toBe(Math.ceil((NOW - 10_000) / 60) * 60);
    expect(stepped(NOW - 90, 60, limits)).toBeNull();
  });
  test('into the past keeps the rest of the address, and is a step that Back undoes', () => {
    const went: string[] = [];
    const router = {
      here: '/lab/people?q=ana',
      base: new URL('http://board.example/lab/'),
      go: (href: string) => void went.push(href),
    };
    enterPast(router, 600);
    expect(went).toEqual(['/lab/people?q=ana&at=600']);
  });
});

test('the slider ends now while the moment fits, and has it in the middle otherwise', () => {
  expect(reach(NOW - 600, 86_400, NOW)).toEqual({ from: NOW - 86_400, to: NOW });
  expect(reach(NOW - 200_000, 86_400, NOW)).toEqual({ from: NOW - 243_200, to: NOW - 156_800 });
});

test('its track has no line where nobody looked', () => {
  const track: TrackAnswer = {
    times: [0, 10, 20, 30],
    step_seconds: 10,
    free: [4, 2, null, 0],
    busy: [4, 6, null, 8],
    counted: [8, 8, null, 8],
    events: [],
  };
  const { seen, line, most } = trackLines(track, { from: 0, to: 40 });
  expect(seen).toEqual([
    { left: 0, width: 0.5 },
    { left: 0.75, width: 0.25 },
  ]);
  expect(line.match(/M/g)?.length).toBe(2);
  expect(most).toBe(4);
});

test('only a board that says so has a history', () => {
  const info = { since: 5, paused: false };
  expect(historyOf(null)).toBeNull();
  expect(historyOf({} as BoardInfo)).toBeNull();
  expect(historyOf({ history: null } as BoardInfo)).toBeNull();
  expect(historyOf({ history: info } as BoardInfo)).toEqual(info);
});

test('around a moment stand the last few before it and the next few after it', () => {
  const episode = (from: number, to: number | null) => ({ from, to, node: `node${from}` }) as EpisodeView;
  const event = (from: number) => ({ from, to: null }) as EventView;
  const { before, after } = around(
    [episode(10, 90), episode(20, null), episode(30, 40), episode(35, 300)],
    [event(50), event(200)],
    100,
  );
  expect(before.map(({ at, kind }) => [at, kind])).toEqual([
    [35, 'begins'],
    [40, 'ends'],
    [50, 'event'],
    [90, 'ends'],
  ]);
  expect(after.map(({ at, kind }) => [at, kind])).toEqual([
    [200, 'event'],
    [300, 'ends'],
  ]);
});

test('what ran already when its GPU was first looked at is not told to begin', () => {
  const ran = { from: 10, to: 90, node: 'a', began_before: true } as EpisodeView;
  expect(around([ran], [], 100).before.map(({ at, kind }) => [at, kind])).toEqual([[90, 'ends']]);
});

test('around a moment one job on several GPUs of a node is one, and that of somebody else another', () => {
  const on = (label: string, person: string | null, more: Partial<EpisodeView> = {}) =>
    ({ from: 10, to: 90, node: 'a', gpu: `GPU-${label}`, label, person, ...more }) as EpisodeView;
  const labels = (episodes: EpisodeView[]) =>
    around(episodes, [], 100).before.map((each) => each.kind === 'ends' && each.labels.join());
  expect(labels([on('10', 'ana'), on('2', 'ana', { to: 91 }), on('2', 'ana')])).toEqual([false, '2,10']);
  expect(labels([on('0', 'ana'), on('0', 'ben')]).slice(2)).toEqual(['0', '0']);
  expect(labels([on('0', 'ana'), on('0', 'ana', { node: 'b' })]).slice(2)).toEqual(['0', '0']);
  expect(labels([on('0', null), on('1', null)]).slice(2)).toEqual(['0', '1']);
});

test('words stand in a gap of a plot where they are not cut', () => {
  const words = ['not observed Oct 15, 01:00–02:00', 'not observed'];
  expect([300, 190, 60].map((pixels) => fitting(words, pixels))).toEqual([...words, undefined]);
  expect(fitting(['没有观测记录的时间'], 100)).toBeUndefined();
});

describe('a key in the plots', () => {
  const calls: unknown[] = [];
  const window = {
    span: { from: 0, to: 1000 },
    zoom: (...all: unknown[]) => void calls.push(all),
    pan: (...all: unknown[]) => void calls.push(all),
  };
  const press = (key: string, cursor: number | null, more: Partial<KeyboardEvent> = {}) =>
    cursorKey({ key, ...more } as KeyboardEvent, { cursor, step: 10, window });
  test('moves the cursor by a point, with Shift by ten, and not out of the plot', () => {
    expect(press('ArrowLeft', 500)).toBe(490);
    expect(press('ArrowRight', 500, { shiftKey: true })).toBe(600);
    expect(press('ArrowRight', 995)).toBe(995);
    expect(press('ArrowLeft', null)).toBe(985);
    expect(press('Home', 500)).toBe(5);
  });
  test('zooms around it, pans, and leads to the board of that moment', () => {
    calls.length = 0;
    press('+', 300);
    press('-', 300);
    press('PageUp', 300);
    expect(calls).toEqual([[0.5, 300], [2, 300], [-0.5]]);
    expect(press('Enter', 300)).toBe('rewind');
  });
  test('leaves the rest to the page', () => {
    expect(press('f', 300)).toBeNull();
    expect(press('ArrowLeft', 300, { altKey: true })).toBeNull();
  });
});

describe('strips', () => {
  test('say with shades what was, and stay open where nobody looked', () => {
    expect(stripGradient([0, 0, null, 100])).toBe(
      'linear-gradient(90deg, var(--heat-0) 0% 50%, transparent 50% 75%, var(--heat-4) 75% 100%)',
    );
  });
  test('are asked for together, once for each node that is drawn', async () => {
    const asked: string[] = [];
    const client = {
      get: async (path: string) => {
        asked.push(path);
        return { series: [{ gpu: 'GPU-1', mean: [1, null] }] };
      },
    };
    const feed = new StripFeed(client as never, () => NOW);
    const stops = [feed.want('a'), feed.want('a'), feed.want('b')];
    await vi.advanceTimersByTimeAsync(100);
    expect(asked.length).toBe(1);
    expect(new URLSearchParams(asked[0]!.split('?')[1]).getAll('node')).toEqual(['a', 'b']);
    expect(feed.of('GPU-1')).toEqual([1, null]);
    stops[2]!();
    feed.again();
    await vi.advanceTimersByTimeAsync(100);
    expect(new URLSearchParams(asked[1]!.split('?')[1]).getAll('node')).toEqual(['a']);
  });
});
