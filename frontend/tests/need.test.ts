/** What somebody needs: how it is written, what fits, and what is said where nothing does. */

import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { Client } from '../src/api/client';
import type { FreeAnswer, GpuRow } from '../src/api/wire';
import { copyForms } from '../src/parts/forms';
import { Fleet } from '../src/state/fleet.svelte';
import { idlers } from '../src/state/idlers';
import { Need } from '../src/state/need.svelte';
import { asTold, findOffers, sizesOf } from '../src/state/offers';
import { Preferences } from '../src/state/preferences.svelte';
import { Router } from '../src/state/router.svelte';
import { BoardView } from '../src/state/view.svelte';
import { gpu, node, snapshot, using } from './samples';

const NOW = 2000;
const GIB = 2 ** 30;
const all = () => true;

function fleetOf(gpus: GpuRow[]): Fleet {
  const fleet = new Fleet();
  const names = [...new Set(gpus.map((each) => each.node))];
  fleet.queue(
    snapshot(
      names.map((name) => node({ name })),
      gpus,
    ),
  );
  fleet.flush();
  return fleet;
}

/** As many free GPUs on a node, long since. */
function free(name: string, count: number, change: Partial<GpuRow> = {}): GpuRow[] {
  return Array.from({ length: count }, (_, index) =>
    gpu({ uuid: `GPU-${name}-${index}`, node: name, index, label: String(index), since: 1000, ...change }),
  );
}

const LAB = () =>
  fleetOf([
    ...free('big', 8),
    ...free('pair', 2, { model: 'RTX 4090', memory_total_bytes: 24 * GIB }),
    ...free('one', 1),
    ...free('new', 1, { since: NOW - 10 }),
  ]);

describe('the best fit', () => {
  const take = (gpus: number, oneNode: boolean) =>
    findOffers(LAB().nodes.values(), all, { gpus, oneNode }, NOW, 300).map(
      ({ node, chosen }) => `${node.record.name} ${chosen}`,
    );

  test('leaves whole nodes whole, and offers the just freed last', () => {
    expect(take(1, false)).toEqual(['one 1', 'pair 1', 'big 1', 'new 1']);
  });

  test('says since when all are free, or have been seen so where one may have been free before', () => {
    const seen = (at: number) => ({
      since: null,
      reason: { code: 'free', values: { seen_since: at }, text: 'free' },
    });
    const fleet = fleetOf([
      ...free('known', 2),
      ...free('seen', 1, seen(700)),
      ...free('both', 1, { since: 800 }),
      gpu({ uuid: 'b', node: 'both', index: 1, label: '1', ...seen(700) }),
      ...free('unknown', 1, { since: null }),
    ]);
    const offers = findOffers(fleet.nodes.values(), all, { gpus: 1, oneNode: false }, NOW, 300);
    expect(
      Object.fromEntries(offers.map(({ node, since, isSeen }) => [node.record.name, [since, isSeen]])),
    ).toEqual({ known: [1000, false], seen: [700, true], both: [800, true], unknown: [null, true] });
  });

  test('is the smallest that suffices; what is too small comes after it', () => {
    expect(take(2, false)).toEqual(['pair 2', 'big 2', 'one 1', 'new 1']);
    expect(take(2, true)).toEqual(['pair 2', 'big 2']);
  });

  test('is made up of several nodes where no one suffices', () => {
    expect(take(10, false)).toEqual(['big 8', 'pair 2', 'one 0', 'new 0']);
  });
});

test('sizes are those of boxes, though drivers and error correction keep some', () => {
  const fleet = fleetOf([
    ...free('a', 1, { memory_total_bytes: 46068 * 2 ** 20 }),
    ...free('b', 1, { memory_total_bytes: 81559 * 2 ** 20 }),
    ...free('c', 1, { memory_total_bytes: null }),
    ...free('d', 1, { memory_total_bytes: 2 * GIB, counted: false }),
  ]);
  expect(sizesOf(fleet.gpus.values(), 0.92)).toEqual([48, 80]);
});

test.each([
  [
    [24, 48],
    [24, 40, 48],
  ],
  [
    [24, 32],
    [24, 32],
  ],
  [
    [40, 80],
    [40, 80],
  ],
  [[], []],
])('of a fleet with %j GB, the sizes to ask for are %j', (sizes, asked) => {
  const gpus = sizes.flatMap((size) => free(`n${size}`, 1, { memory_total_bytes: size * GIB }));
  expect(sizesOf(fleetOf(gpus).gpus.values(), 0.92)).toEqual(asked);
});

describe('what is needed', () => {
  let address: string;
  beforeEach(() => {
    address = '/';
    vi.stubGlobal('location', {
      get pathname() {
        return new URL(address, 'http://b').pathname;
      },
      get search() {
        return new URL(address, 'http://b').search;
      },
    });
    vi.stubGlobal('history', {
      state: null,
      replaceState: (_: unknown, __: string, to: string) => (address = to),
    });
    vi.stubGlobal('document', { visibilityState: 'visible' });
  });

  function needing(query = '', fleet = LAB()) {
    address = `/${query}`;
    const router = new Router(new URL('http://b/'));
    const view = new BoardView(fleet, router, new Preferences(null), { me: null });
    return { need: new Need(fleet, router, view), view };
  }

  test('is written into the filter and the address, and read from there', () => {
    const { need, view } = needing();
    need.count = 4;
    expect(address).toBe('/?need=4');
    need.oneNode = true;
    need.memory = '40G';
    need.model = 'H100 80 GB';
    expect([view.text, need.count, address.includes('need=')]).toEqual([
      'free>=4 memory>=40G model:"H100 80 GB"',
      4,
      false,
    ]);
    need.count = 2;
    need.memory = '';
    expect(view.text).toBe('model:"H100 80 GB" free>=2');
    need.oneNode = false;
    expect([view.text, need.count]).toEqual(['model:"H100 80 GB"', 2]);
    const again = needing('?q=free>%3D8+memory>%3D80G').need;
    expect([again.count, again.oneNode, again.memory, again.model]).toEqual([8, true, '80G', '']);
  });

  test('says how many of those that are needed there are, in one place if they have to be', () => {
    const most = (query: string) => {
      const { need } = needing(query);
      return [need.isEnough, need.most];
    };
    expect(most('?need=16')).toEqual([false, 12]);
    expect(most('?q=free>%3D16')).toEqual([false, 8]);
    expect(most('?q=free>%3D8')).toEqual([true, 8]);
  });

  test('counts models by all that is asked for but the model', () => {
    const models = (query: string) =>
      needing(query).need.models.map(({ model, free }) => `${model}: ${free}`);
    expect(models('')).toEqual(['H100 80 GB: 10', 'RTX 4090 24 GB: 2']);
    expect(models('?q=memory>%3D40G')).toEqual(['H100 80 GB: 10']);
    expect(models('?q=model:4090')).toEqual(['H100 80 GB: 10', 'RTX 4090 24 GB: 2']);
    expect(models('?q=node:pair')).toEqual(['RTX 4090 24 GB: 2']);
    expect(models('?q=free>%3D2')).toEqual(['H100 80 GB: 8', 'RTX 4090 24 GB: 2']);
    expect(models('?q=free>%3D9')).toEqual(['H100 80 GB: 0', 'RTX 4090 24 GB: 0']);
    expect(models('?q=free>%3D8+model:4090')).toEqual(['H100 80 GB: 8', 'RTX 4090 24 GB: 0']);
  });

  test.each([
    '',
    '?need=4',
    '?q=free>%3D2',
    '?q=free>%3D9',
    '?q=free>%3D8+model:4090',
    '?q=memory>%3D40G+-one',
  ])('is the sum of what fits by model: %s', (query) => {
    const { need } = needing(query);
    expect(need.fittingModels.reduce((sum, { free }) => sum + free, 0)).toBe(need.fitting);
  });

  test.each(['-3', '0', 'many', '1e9', '2.5'])('is one where the address says %s', (text) => {
    expect(needing(`?need=${text}`).need.count).toBe(1);
  });

  test('narrows by what a GPU is, not by what goes on on it', () => {
    expect(needing('?q=model:4090').need.fitting).toBe(2);
    expect(needing('?q=free>%3D8').need.fitting).toBe(8);
    const doing = ['idle', 'user:ana', 'is:busy', '-free', 'use>50', 'since>2h', 'busy,idle'];
    const lasting = [
      'idle>1h',
      '-idle>1h',
      'is:idle',
      'free>1h',
      'frei',
      'temp>60',
      'belegt<10m',
      'memory_free>40G',
    ];
    for (const words of [...doing, ...lasting]) {
      const { need } = needing(`?q=${encodeURIComponent(words)}`);
      expect([words, need.narrows, need.fitting]).toEqual([words, false, 12]);
    }
  });

  test('is nobody: a name narrows nothing, a node or a model does', () => {
    const fleet = fleetOf([
      ...free('pair', 2, { model: 'RTX 4090' }),
      gpu({ uuid: 'x', node: 'one', verdict: 'busy', users: using('ana') }),
    ]);
    const fitting = (words: string) => {
      const { need } = needing(`?q=${words}`, fleet);
      return [need.narrows, need.fitting];
    };
    expect(fitting('ana')).toEqual([false, 2]);
    expect(fitting('nobody')).toEqual([false, 2]);
    expect(fitting('-ana')).toEqual([false, 2]);
    expect(fitting('4090')).toEqual([true, 2]);
    expect(fitting('-4090')).toEqual([true, 0]);
    expect(fitting('one')).toEqual([true, 0]);
  });

  test('keeps what it is of a filter that says both', () => {
    const { need } = needing(`?q=${encodeURIComponent('80 gb idle>1h')}`);
    expect([need.narrows, need.fitting, need.filter.terms.map(({ text }) => text)]).toEqual([
      true,
      10,
      ['memory>=80G'],
    ]);
  });

  test('can be met on one node only where that node has enough', () => {
    const { need } = needing('?q=free>%3D9');
    expect([need.isEnough, need.fitting, need.wouldBeEnough(null, 9, false)]).toEqual([false, 0, true]);
  });

  test('chooses GPUs that can be changed, until something else is needed', () => {
    const { need } = needing('?need=2');
    const labels = () => need.picked(need.offers[0]!).map((each) => each.record.label);
    expect(labels()).toEqual(['0', '1']);
    need.pick(need.offers[0]!, need.offers[0]!.gpus[0]!);
    expect(labels()).toEqual(['1']);
    need.count = 1;
    expect([need.offers[0]!.node.record.name, labels()]).toEqual(['one', ['0']]);
  });

  test('is asked of the board once a second at most, and stands in its order', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const { need } = needing('?q=memory>%3D40G');
    const asked: string[] = [];
    const block = (name: string) => ({ node: name, model: 'H100', uuids: [], free_until: null });
    const client = {
      free: async (query: string) => {
        asked.push(query);
        return { blocks: [block('big'), block('one')] };
      },
    } as unknown as Client;
    for (let round = 0; round < 20; round++) {
      need.ask(client, () => true);
      await vi.advanceTimersByTimeAsync(100);
    }
    vi.useRealTimers();
    expect(asked).toEqual(Array(2).fill('gpus=1&same_node=false&memory=40G&limit=3'));
    expect(need.offers.map(({ node }) => node.record.name)).toEqual(['big', 'one', 'new']);
  });

  test('is offered as the board orders nodes and GPUs, which knows what is booked to come', () => {
    const fleet = LAB();
    const found = findOffers(fleet.nodes.values(), all, { gpus: 3, oneNode: false }, NOW, 300);
    const block = (node: string, model: string, uuids: string[], free_until: number | null) => ({
      ...{ node, model, uuids, free_until },
    });
    const told = {
      blocks: [
        block('pair', 'RTX 4090', ['GPU-pair-1', 'GPU-pair-0'], NOW + 60),
        block('one', 'H100', ['GPU-one-0'], null),
      ],
    } as unknown as FreeAnswer;
    const offers = asTold(found, told, 3).map(({ node, gpus, chosen, until }) => [
      node.record.name,
      gpus.slice(0, chosen).map(({ record }) => record.label),
      until,
    ]);
    expect(offers).toEqual([
      ['pair', ['1', '0'], NOW + 60],
      ['one', ['0'], null],
      ['big', ['0', '1', '2'], null],
      ['new', [], null],
    ]);
  });

  test('is not asked while nobody looks', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const free = vi.fn();
    needing().need.ask({ free } as unknown as Client, () => false);
    await vi.advanceTimersByTimeAsync(3000);
    vi.useRealTimers();
    expect(free).not.toHaveBeenCalled();
  });

  const asking = async (search: string, told: Partial<FreeAnswer>) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const { need } = needing(search);
    const free = async () => ({ blocks: [], fits_from: null, fits_on: null, ...told });
    need.ask({ free } as unknown as Client, () => true);
    await vi.advanceTimersByTimeAsync(1000);
    vi.useRealTimers();
    return need.fitsNext;
  };

  test('the board says when bookings leave enough, of a wish that it knows whole', async () => {
    const says = { fits_from: 5000, fits_on: 'big' };
    expect(await asking('?q=free>%3D9', says)).toEqual({ at: 5000, on: 'big' });
    expect(await asking('?need=20', { fits_from: 5000 })).toEqual({ at: 5000, on: null });
    // Nobody knows; some of it the board was not asked; there is enough by now.
    expect(await asking('?q=free>%3D9', {})).toBeNull();
    expect(await asking('?q=free>%3D9+node:big', says)).toBeNull();
    expect(await asking('?q=free>%3D8', says)).toBeNull();
  });

  test('changes the counts of the verdicts, but which of them are asked for does not', () => {
    const { view } = needing('?q=busy+model:4090');
    expect([view.counts.total, view.verdictCounts.free]).toEqual([0, 2]);
  });
});

describe('where nothing fits', () => {
  test('those who hold idle ones are named, the longest idle first', () => {
    const idle = (uuid: string, since: number | null, ...names: string[]) =>
      gpu({ uuid, node: 'a', label: uuid, verdict: 'idle', since, users: using(...names) });
    const fleet = fleetOf([
      idle('1', 900, 'ana'),
      idle('2', 500, 'bob'),
      idle('3', 700, 'ana'),
      ...free('b', 1),
    ]);
    const { gpus, people } = idlers(fleet.nodes.values(), all);
    expect({
      gpus,
      people: people.map((each) => ({ ...each, gpus: each.gpus.map(({ label }) => label) })),
    }).toEqual({
      gpus: 3,
      people: [
        { user: 'bob', gpus: ['2'], since: 500 },
        { user: 'ana', gpus: ['1', '3'], since: 700 },
      ],
    });
  });

  test('nobody is named where names are hidden', () => {
    const fleet = fleetOf([gpu({ verdict: 'idle', users: null })]);
    expect(idlers(fleet.nodes.values(), all)).toEqual({ gpus: 1, people: [] });
  });
});

describe('the forms of a copy', () => {
  const forms = (...gpus: GpuRow[]) =>
    Object.fromEntries(copyForms(fleetOf(gpus), 'n', gpus, 'ana').map(({ form, text }) => [form, text]));

  test('are a command, an export, docker and UUIDs', () => {
    expect(forms(gpu({ node: 'n', uuid: 'GPU-1' }), gpu({ node: 'n', uuid: 'GPU-2' }))).toEqual({
      command: "ssh -t n 'env CUDA_VISIBLE_DEVICES=GPU-1,GPU-2 $SHELL -l'",
      export: 'export CUDA_VISIBLE_DEVICES=GPU-1,GPU-2',
      docker: `docker run --gpus '"device=GPU-1,GPU-2"'`,
      uuids: 'GPU-1,GPU-2',
    });
  });

  test('tell CUDA how to count where there are only numbers', () => {
    const { export: text, uuids } = forms(gpu({ node: 'n', uuid: 'n:3', label: '3' }));
    expect([text, uuids]).toEqual(['export CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=3', undefined]);
  });

  test.each(["x'; rm -rf /", '$(id)', 'a b', '`id`', 'x\nid', '"'])(
    'carry no UUID %j and no such number',
    (text) => {
      expect(forms(gpu({ node: 'n', uuid: text, label: text }))).toEqual({});
    },
  );
});
