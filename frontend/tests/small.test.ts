import { afterEach, describe, expect, test, vi } from 'vitest';
import { linePath } from '../src/charts/path';
import { ActivityFeed } from '../src/state/activity.svelte';
import type { Client } from '../src/api/client';
import { nominalModel, summarizeModels } from '../src/state/models';
import { Polled } from '../src/state/polled.svelte';
import { Preferences } from '../src/state/preferences.svelte';
import { momentOf, parseRoute } from '../src/state/router.svelte';
import { TimeWindow } from '../src/state/window.svelte';
import { favicon } from '../src/pages/shell/favicon';
import { tops, visibleRange } from '../src/ui/virtual';
import { gpu } from './samples';

describe('routes', () => {
  test.each([
    ['', { page: 'board' }],
    ['index.html', { page: 'board' }],
    ['people', { page: 'people' }],
    ['people/', { page: 'people' }],
    ['nodes/dgx-01', { page: 'node', name: 'dgx-01' }],
    ['gpus/old-box%3A0', { page: 'gpu', uuid: 'old-box:0' }],
    ['nodes/%E0%A4%A', { page: 'node', name: '%E0%A4%A' }],
    ['nodes/a/b', { page: 'missing' }],
    ['elsewhere', { page: 'missing' }],
  ])('%j', (path, route) => {
    expect(parseRoute(path)).toEqual(route);
  });
});

describe('models', () => {
  test('say their memory once', () => {
    expect(nominalModel(gpu({ model: 'H100' }))).toBe('H100 80 GB');
    expect(nominalModel(gpu({ model: 'A100 80G' }))).toBe('A100 80 GB');
    expect(nominalModel(gpu({ model: 'RTX 4090', memory_total_bytes: null }))).toBe('RTX 4090');
    expect(nominalModel(gpu({ model: 'A100 1g.10gb', mig_profile: '1g.10gb' }))).toBe('A100 1g.10gb');
    // Whatever the admin calls it: the board has said it whole.
    expect(nominalModel(gpu({ model: 'Tenth of an A100', mig_profile: '1g.10gb' }))).toBe('Tenth of an A100');
    expect(nominalModel(gpu({ model: 'A100 40G MIG 1g.5gb', mig_profile: '1g.5gb' }))).toBe(
      'A100 40 GB MIG 1g.5gb',
    );
    expect(nominalModel(gpu({ model: 'A100 MIG 1g.5gb' }))).toBe('A100 MIG 1g.5gb 80 GB');
    expect(nominalModel(gpu({ model: null }))).toBe('GPU 80 GB');
  });

  test('are summed up, most first', () => {
    const mixed = [gpu({ model: 'T4', memory_total_bytes: 2 ** 34 }), gpu(), gpu()];
    expect(summarizeModels(mixed)).toBe('2 × H100 80 GB, 1 × T4 16 GB');
  });
});

describe('a long list', () => {
  const offsets = tops([10, 20, 30, 40], (height) => height);

  test('knows where its items begin', () => {
    expect(offsets).toEqual([0, 10, 30, 60, 100]);
  });

  test('draws what is between two heights', () => {
    expect(visibleRange(offsets, 0, 100)).toEqual({ start: 0, end: 4 });
    expect(visibleRange(offsets, 15, 35)).toEqual({ start: 1, end: 3 });
    expect(visibleRange(offsets, 500, 600)).toEqual({ start: 4, end: 4 });
    expect(visibleRange([0], 0, 100)).toEqual({ start: 0, end: 0 });
  });
});

describe('a line', () => {
  test('has a gap where nothing is known', () => {
    expect(linePath([0, 100, null, 50, 50]).line.match(/M/g)).toHaveLength(2);
    expect(linePath([null, null])).toEqual({ line: '', area: '' });
  });
});

describe('preferences', () => {
  test('survive a forbidden or damaged store', () => {
    expect(new Preferences(null).theme).toBe('auto');
    const damaged = new Preferences({ getItem: () => '{broken', setItem: () => {} });
    expect(damaged.density).toBe('auto');
    const forbidden = new Preferences({
      getItem: () => null,
      setItem: () => {
        throw new Error('full');
      },
    });
    forbidden.set({ theme: 'dark' });
    expect(forbidden.theme).toBe('dark');
  });

  test('are read back', () => {
    let kept = '';
    const store = { getItem: () => kept, setItem: (_: string, text: string) => void (kept = text) };
    new Preferences(store).set({ me: 'ana' });
    expect(new Preferences(store).me).toBe('ana');
  });
});

describe('an hour of use', () => {
  afterEach(() => vi.unstubAllGlobals());

  test.each(['constructor', 'toString', '__proto__', 'hasOwnProperty'])(
    'of a GPU that is called %s is its own or none',
    async (uuid) => {
      vi.stubGlobal('document', { visibilityState: 'visible' });
      for (const [told, own] of [
        ['{"GPU-1": [1]}', null],
        [`{"GPU-1": [1], "${uuid}": [2, null]}`, [2, null]],
      ] as const) {
        const client = { activity: async () => ({ gpus: JSON.parse(told) }) } as unknown as Client;
        const feed = new ActivityFeed(client, null);
        const stop = feed.start();
        await vi.waitFor(() => expect(feed.of('GPU-1')).toEqual([1]));
        expect(feed.of(uuid)).toEqual(own);
        stop();
      }
    },
  );
});

describe('the icon of the tab', () => {
  test.each([
    [7, '7'],
    [27, '27'],
    [180, '180'],
    [1641, '1k'],
    [16_410, '16k'],
  ])('says of %i free GPUs no number that is wrong', (free, text) => {
    expect(decodeURIComponent(favicon(free, true))).toContain(`>${text}</text>`);
  });
});

describe('what is asked for again and again', () => {
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  test('is asked for soon after it failed, however seldom it is asked for else', async () => {
    vi.useFakeTimers();
    vi.stubGlobal('document', { visibilityState: 'visible' });
    const ask = vi.fn<() => Promise<number>>().mockRejectedValueOnce(new Error('away')).mockResolvedValue(1);
    const polled = new Polled(ask, 60);
    const stop = polled.start();
    await vi.advanceTimersByTimeAsync(5000);
    expect([polled.value, polled.error]).toEqual([1, null]);
    await vi.advanceTimersByTimeAsync(50_000);
    expect(ask).toHaveBeenCalledTimes(2);
    stop();
  });
});

describe('a moment in the address', () => {
  const at = (text: string) => momentOf(new URLSearchParams({ at: text }));
  test('is Unix seconds or a time with its offset', () => {
    expect(at('1767225600')).toBe(1_767_225_600);
    expect(at('2026-01-01T09:00+01:00')).toBe(1_767_254_400);
  });
  test.each(['abc', '0', '-5', '9999999999', 'NaN', '1e999', ''])('is none in %j', (text) => {
    expect(at(text)).toBeNull();
  });
});

test.each(['1h', '24h', '7d', '30d', '1y'])('what is live over %s ends now, not hours ago', (range) => {
  const router = { at: null, query: new URLSearchParams({ range }), setQuery: () => {} };
  const clock = { second: 1_795_130_521 };
  const window = new TimeWindow(router, clock, () => 0);
  expect([window.span.to, window.isLive]).toEqual([clock.second, true]);
});

test('the first look closer at a plot is a step that Back undoes, the next ones are part of it', () => {
  const steps: boolean[] = [];
  const router = {
    at: null,
    query: new URLSearchParams(),
    setQuery(change: Record<string, string | null>, isStep = false) {
      this.query = new URLSearchParams(change as Record<string, string>);
      steps.push(isStep);
    },
  };
  const looked = () => new TimeWindow(router, { second: 1_000_000 }, () => 0);
  looked().choose({ from: 900_000, to: 950_000 });
  looked().choose({ from: 910_000, to: 940_000 });
  expect(steps).toEqual([true, false]);
});
