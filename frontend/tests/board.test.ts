import { describe, expect, test } from 'vitest';
import type { GpuRow, NodeRow } from '../src/api/wire';
import { nextCard } from '../src/pages/board/cardKeys';
import { step } from '../src/pages/board/gridKeys';
import { cardHeight, items, rowHeight, slotsFor } from '../src/pages/board/layout';
import { layOut, neighbour, squareAt, steady } from '../src/pages/board/mapLayout';
import { placeBeside } from '../src/pages/board/place';
import devices from '../../tests/golden/devices.json';
import { cellSentence, cellWords, cudaDevices, hardware, lasting, takeCommand } from '../src/parts/words';
import { freeBlocks, freeByModel } from '../src/state/answers';
import { arrange, type Grouping, type Sort } from '../src/state/arrange';
import { Fleet } from '../src/state/fleet.svelte';
import { summarizeModels } from '../src/state/models';
import { people } from '../src/state/people';
import { Preferences } from '../src/state/preferences.svelte';
import type { Router } from '../src/state/router.svelte';
import { BoardView } from '../src/state/view.svelte';
import { words as de } from '../src/text/de/words';
import { words as en } from '../src/text/en/words';
import { Language, LANGUAGES } from '../src/text/language.svelte';
import { gpu, node, snapshot, using } from './samples';

const NOW = 100_000;

function fleetOf(nodes: NodeRow[], gpus: GpuRow[]): Fleet {
  const fleet = new Fleet();
  fleet.queue(snapshot(nodes, gpus, { at: NOW }));
  fleet.flush();
  return fleet;
}

/** Nodes a-2, a-10 and b-1 with four GPUs each; letters: f free, b busy, i idle, s stale. */
function smallFleet(): Fleet {
  const plan: Record<string, string> = { 'a-10': 'ffbb', 'a-2': 'fbib', 'b-1': 'ssss' };
  const verdicts = { f: 'free', b: 'busy', i: 'idle', s: 'stale' } as const;
  return fleetOf(
    Object.keys(plan).map((name) => node({ name, state: name === 'b-1' ? 'lost' : 'live' })),
    Object.entries(plan).flatMap(([name, letters]) =>
      [...letters].map((letter, index) =>
        gpu({
          uuid: `${name}/${index}`,
          node: name,
          index,
          label: String(index),
          model: name.startsWith('a') ? 'A100' : 'H100',
          verdict: verdicts[letter as keyof typeof verdicts],
          since: NOW - 1000 * (index + 1),
          users: letter === 'b' ? using('ana') : letter === 'i' ? using('bob', 'ana') : [],
        }),
      ),
    ),
  );
}

function rowsOf(fleet: Fleet, grouping: Grouping = 'node', sort: Sort = 'free') {
  return arrange(fleet.nodes.values(), () => true, grouping, sort, true);
}

describe('the rows', () => {
  test('come most free first, what does not report last', () => {
    const [only] = rowsOf(smallFleet());
    expect(only?.rows.map((row) => row.node.record.name)).toEqual(['a-10', 'a-2', 'b-1']);
  });

  test('by name come as people count', () => {
    const [only] = rowsOf(smallFleet(), 'node', 'name');
    expect(only?.rows.map((row) => row.node.record.name)).toEqual(['a-2', 'a-10', 'b-1']);
  });

  test('grouped by verdict: free first, and each GPU once', () => {
    const sections = rowsOf(smallFleet(), 'verdict');
    expect(sections.map((section) => [section.title, section.counts.total])).toEqual([
      ['free', 3],
      ['idle', 1],
      ['busy', 4],
      ['stale', 4],
    ]);
  });

  test('grouped by user: a shared GPU stands with each, the unused ones last', () => {
    const sections = rowsOf(smallFleet(), 'user');
    expect(sections.map((section) => [section.title, section.counts.total])).toEqual([
      ['ana', 5],
      ['bob', 1],
      ['', 7],
    ]);
  });

  test('leave out nodes without a match', () => {
    const sections = arrange(
      smallFleet().nodes.values(),
      (each) => each.record.verdict === 'idle',
      'node',
      'free',
      false,
    );
    expect(sections[0]?.rows.map((row) => row.node.record.name)).toEqual(['a-2']);
    expect(sections[0]?.rows[0]?.shown.size).toBe(1);
  });

  test('show a node without GPUs, unless one looks for something', () => {
    const fleet = fleetOf([node({ name: 'empty' })], []);
    expect(arrange(fleet.nodes.values(), () => true, 'node', 'free', true)[0]?.rows).toHaveLength(1);
    expect(arrange(fleet.nodes.values(), () => true, 'node', 'free', false)).toEqual([]);
  });

  test('fold away, and know how high they are', () => {
    const sections = rowsOf(smallFleet(), 'model');
    expect(items(sections, () => true)).toHaveLength(2);
    const open = items(sections, () => false);
    expect(open).toHaveLength(5);
    expect(rowHeight(open[1]!, 4)).toBe(43);
    expect(rowHeight(open[1]!, 2)).toBe(82);
    expect([slotsFor(1000, 8), slotsFor(700, 8), slotsFor(400, 8), slotsFor(1000, 2)]).toEqual([8, 6, 4, 2]);
  });

  test('on a phone have a foot only for people or trouble', () => {
    const heightOf = (change: Partial<NodeRow>, ...gpus: Partial<GpuRow>[]) => {
      const all = gpus.map((each, index) => gpu({ uuid: `GPU-${index}`, index, ...each }));
      return cardHeight(items(rowsOf(fleetOf([node(change)], all)), () => false)[0]!);
    };
    const bare = heightOf({}, {});
    expect(heightOf({}, { verdict: 'busy', users: null })).toBe(bare);
    expect(heightOf({}, { verdict: 'busy', users: using('ana') })).toBeGreaterThan(bare);
    expect(heightOf({ state: 'lost' }, { verdict: 'stale' })).toBeGreaterThan(bare);
  });

  test('are walked with the keys, past what is not shown', () => {
    const sections = arrange(
      smallFleet().nodes.values(),
      (each) => each.record.verdict !== 'busy',
      'node',
      'free',
      false,
    );
    const rows = sections[0]!.rows;
    expect(step(rows, { row: 0, place: 0 }, 'ArrowRight', true, false)).toEqual({ row: 0, place: 1 });
    expect(step(rows, { row: 0, place: 1 }, 'l', true, false)).toBeNull();
    expect(step(rows, { row: 0, place: 1 }, 'j', true, false)).toEqual({ row: 1, place: 0 });
    expect(step(rows, { row: 0, place: 1 }, 'j', false, false)).toBeNull();
    expect(step(rows, { row: 1, place: 2 }, 'Home', true, false)).toEqual({ row: 1, place: 0 });
    expect(step(rows, { row: 0, place: 0 }, 'End', true, true)).toEqual({ row: 2, place: 3 });
  });
});

describe('the answers', () => {
  test('offer the biggest block first, and the just freed only where nothing else is', () => {
    const fresh = NOW - 10;
    const fleet = fleetOf(
      [node({ name: 'one' }), node({ name: 'two' }), node({ name: 'three' })],
      [
        gpu({ uuid: 'a', node: 'one', index: 0, since: fresh }),
        gpu({ uuid: 'b', node: 'one', index: 1, since: fresh }),
        gpu({ uuid: 'c', node: 'two', index: 0, since: 0 }),
        gpu({ uuid: 'd', node: 'two', index: 1, since: fresh }),
        gpu({ uuid: 'e', node: 'three', index: 0, since: 5 }),
        gpu({ uuid: 'f', node: 'three', index: 1, since: 9 }),
      ],
    );
    const blocks = freeBlocks(fleet.nodes.values(), NOW, 300);
    expect(blocks.map((block) => [block.node.record.name, block.gpus.length, block.justFreed])).toEqual([
      ['three', 2, false],
      ['two', 1, false],
      ['one', 2, true],
    ]);
  });

  test('say how many more were freed just now, and offer them last', () => {
    const fleet = fleetOf(
      [node({ name: 'one' })],
      [
        gpu({ uuid: 'a', node: 'one', index: 0, since: 9 }),
        gpu({ uuid: 'b', node: 'one', index: 1, since: NOW - 10 }),
      ],
    );
    const [block] = freeBlocks(fleet.nodes.values(), NOW, 300);
    expect([block?.gpus.length, block?.fresh, block?.justFreed]).toEqual([1, 1, false]);
  });

  test('split what is free by model and never count the stale', () => {
    const counts = freeByModel(smallFleet().gpus.values());
    expect(counts.map(({ model, free, total }) => [model, free, total])).toEqual([
      ['A100 80 GB', 3, 8],
      ['H100 80 GB', 0, 4],
    ]);
  });

  test('name the holders, most first, with their idle part', () => {
    expect(people(smallFleet().nodes.values())).toMatchObject([
      { user: 'ana', gpus: 5, idle: 1, booked: 0, until: null },
      { user: 'bob', gpus: 1, idle: 1, booked: 0, until: null },
    ]);
  });

  test('say when the last booking of a holder ends', () => {
    const claim = { who: 'bob', comment: null, behind: [] };
    const fleet = fleetOf(
      [node({ name: 'a' })],
      [
        gpu({ uuid: 'a', node: 'a', verdict: 'booked', claim: { ...claim, until: NOW + 60 } }),
        gpu({ uuid: 'b', node: 'a', verdict: 'booked', claim: { ...claim, until: NOW + 900 } }),
      ],
    );
    expect(people(fleet.nodes.values())).toMatchObject([
      { user: 'bob', gpus: 0, booked: 2, until: NOW + 900 },
    ]);
  });

  test('name those whom only a number or nothing identifies, as the API does', () => {
    const use = { memory_used_bytes: 2 ** 30, since: null, processes: 1, measured: 1 };
    const fleet = fleetOf(
      [node({ name: 'a' })],
      [
        gpu({
          uuid: 'GPU-0',
          node: 'a',
          verdict: 'busy',
          users: [{ ...use, name: 'uid 1000', user: null, uid: 1000 }],
        }),
        gpu({
          uuid: 'GPU-1',
          node: 'a',
          verdict: 'busy',
          users: [{ ...use, name: 'unknown', user: null, uid: null }],
        }),
      ],
    );
    const named = ['uid 1000', 'unknown'];
    expect(people(fleet.nodes.values()).map((person) => person.user)).toEqual(named);
  });

  test('count the instances of a card and not the card, and call them as the board does', () => {
    const card = gpu({
      uuid: 'c',
      node: 'm',
      label: '0',
      counted: false,
      verdict: 'busy',
      users: using('ana'),
    });
    const part = (uuid: string, index: number, change: Partial<GpuRow>) =>
      gpu({
        uuid,
        node: 'm',
        index,
        label: `0:${index}`,
        mig_parent_uuid: 'c',
        model: 'H100 3g.40gb',
        mig_profile: '3g.40gb',
        ...change,
      });
    const fleet = fleetOf(
      [node({ name: 'm' })],
      [
        gpu({ uuid: 'w', node: 'm', index: 1, label: '1', since: 0 }),
        part('b', 1, { since: 0 }),
        part('a', 0, { verdict: 'busy', users: using('ana') }),
        card,
      ],
    );
    expect(fleet.nodes.get('m')?.gpus.map((each) => each.record.label)).toEqual(['0', '0:0', '0:1', '1']);
    expect(fleet.counts).toMatchObject({ free: 2, busy: 1, total: 3 });
    expect(people(fleet.nodes.values())).toMatchObject([{ user: 'ana', gpus: 1, processes: 1 }]);
    expect(freeByModel(fleet.gpus.values()).map(({ model, total }) => [model, total])).toEqual([
      ['H100 3g.40gb', 2],
      ['H100 80 GB', 1],
    ]);
    expect(summarizeModels([...fleet.gpus.values()].map((each) => each.record))).toBe(
      '2 × H100 3g.40gb, 1 × H100 80 GB',
    );
    const said = cellSentence(fleet.gpus.get('b')!.record, NOW, new Language('en', en), 300);
    expect(said).toMatch(/^m GPU 0:1, H100 3g.40gb, free/);
  });

  test('offer no GPU that is not counted, though it is free', () => {
    const fleet = fleetOf([node({ name: 'm' })], [gpu({ node: 'm', counted: false, since: 0 })]);
    expect(freeBlocks(fleet.nodes.values(), NOW, 300)).toEqual([]);
    expect(fleet.counts.free).toBe(0);
  });

  test('keep apart what people use and what is booked for them', () => {
    const claim = { who: 'eva', until: NOW + 60, comment: null, behind: [] };
    const fleet = fleetOf(
      [node({ name: 'a' })],
      [
        gpu({ uuid: 'x', node: 'a', label: '0', verdict: 'busy', users: using('ana'), claim }),
        gpu({ uuid: 'y', node: 'a', label: '1', verdict: 'booked', claim }),
        gpu({ uuid: 'z', node: 'a', label: '2', verdict: 'busy', users: using('eva'), claim }),
      ],
    );
    expect(people(fleet.nodes.values()).map(({ user, gpus, booked }) => [user, gpus, booked])).toEqual([
      ['eva', 1, 3],
      ['ana', 1, 0],
    ]);
    const [eva] = people(fleet.nodes.values());
    expect(eva?.holdings.map((each) => [each.booked, each.gpus.map((one) => one.record.label)])).toEqual([
      [false, ['2']],
      [true, ['0', '1']],
    ]);
  });

  test('name people with where they are', () => {
    const [ana] = people(smallFleet().nodes.values());
    expect(ana).toMatchObject({ user: 'ana', gpus: 5, idle: 1, processes: 5 });
    expect(
      ana?.holdings.map((holding) => [holding.node, holding.gpus.map((each) => each.record.index)]),
    ).toEqual([
      ['a-10', [2, 3]],
      ['a-2', [1, 2, 3]],
    ]);
  });
});

test('the density follows the size of the fleet, never the filter', () => {
  const rows = Array.from({ length: 20 }, (_, place) =>
    gpu({ uuid: `GPU-${place}`, label: String(place), verdict: place ? 'free' : 'busy' }),
  );
  const fleet = fleetOf([node()], rows);
  const view = (query: string) =>
    new BoardView(fleet, { query: new URLSearchParams(query) } as Router, new Preferences(null));
  expect(view('q=busy').shown.size).toBe(1);
  expect([view('q=busy').density, view('').density]).toEqual(['rows', 'rows']);
  expect(view('q=busy&view=cards').density).toBe('cards');
});

test('what is typed shows the same as the address that it leaves behind', () => {
  const query = (text: string) => ({ query: new URLSearchParams({ q: text }) });
  const router = $router('is');
  const view = new BoardView(smallFleet(), router, new Preferences(null));
  expect(view.shown.size).toBe(0);
  Object.assign(router, query('is:banana'));
  const reloaded = new BoardView(smallFleet(), $router('is:banana'), new Preferences(null));
  expect([view.shown.size, reloaded.shown.size]).toEqual([12, 12]);
  expect(view.errors.map((error) => error.code)).toEqual(['badWord']);

  function $router(text: string): Router {
    return query(text) as Router;
  }
});

describe('a cell', () => {
  const language = new Language('en', en);

  test('of a card that does not count says so, and of one cut up that it is', () => {
    const ignored = gpu({ counted: false });
    expect(cellWords(ignored, NOW, language, 300).main).toBe('not counted');
    const empty = gpu({ counted: false, reason: { code: 'mig-empty', values: {}, text: '' } });
    expect(cellWords(empty, NOW, language, 300).main).toBe('MIG');
  });

  test('has a word for a user whom nothing identifies', () => {
    const busy = gpu({ verdict: 'busy', users: using('unknown') });
    expect(cellWords(busy, NOW, new Language('de', de), 300).side).toBe(de.unknown);
  });

  test('is not called free by old data', () => {
    const past = new Language('en', en, () => true);
    const free = gpu({ since: NOW - 600 });
    expect(cellWords(free, NOW, past, 300)).toEqual({ main: 'was free', time: '', side: '' });
    expect(cellSentence(free, NOW, past, 300)).toBe('dgx-01 GPU 0, H100 80 GB, was free');
    expect(lasting(free, NOW, past)).toBe('');
    const busy = gpu({ verdict: 'busy', users: using('ana') });
    expect(cellSentence(busy, NOW, past, 300)).toContain('busy');
  });

  test('says that its booking ended, while nobody has come since', () => {
    const ended_claim = { who: 'ana', until: NOW - 3 * 3600 - 600, comment: null, behind: [] };
    const free = gpu({ since: NOW - 7300, ended_claim });
    expect(cellWords(free, NOW, language, 300)).toEqual({ main: 'free', time: '2 h', side: 'ended 3 h ago' });
    expect(cellSentence(free, NOW, language, 300)).toMatch(/, free, 2 h, ended 3 h ago$/);
    for (const change of [{ verdict: 'busy' }, { verdict: 'booked' }, { counted: false }] as const)
      expect(cellWords({ ...free, ...change }, NOW, language, 300).side).not.toContain('ended');
  });

  test('always has the word of its verdict, or what stands for it', () => {
    const idle = gpu({ verdict: 'idle', since: NOW - 6000, users: using('ana') });
    expect(cellWords(idle, NOW, language, 300)).toEqual({ main: 'idle', time: '1 h', side: 'ana' });
    const lost = { code: 'gpu-lost', values: {}, text: '' };
    const broken = gpu({ verdict: 'broken', reason: lost });
    expect(cellWords(broken, NOW, language, 300)).toMatchObject({ main: 'broken', side: 'off the bus' });
    expect(cellWords(gpu({ verdict: 'stale' }), NOW, language, 300).main).toBe('stale');
  });

  test.each([
    ['en', 'until', 'until '],
    ['de', 'bis', 'bis '],
    ['fr', '→', 'jusqu’à '],
    ['zh-TW', '至', '至 '],
  ] as const)('in %s says that the time of a booking is its end', async (tag, short, whole) => {
    const spoken = new Language(tag, await LANGUAGES[tag].load());
    const booked = gpu({
      verdict: 'booked',
      claim: { who: 'bob', until: NOW + 60, comment: null, behind: [] },
    });
    const { main, time, side } = cellWords(booked, NOW, spoken, 300);
    expect([main, side]).toEqual([short, 'bob']);
    expect(cellSentence(booked, NOW, spoken, 300)).toContain(whole + time);
    expect(lasting(booked, NOW, spoken)).toBe(whole + spoken.time(NOW + 60, NOW));
  });

  test('names no end where a booking has none', () => {
    const booked = gpu({
      verdict: 'booked',
      since: null,
      claim: { who: 'bob', until: null, comment: null, behind: [] },
    });
    expect(cellWords(booked, NOW, language, 300)).toEqual({ main: 'booked', time: '', side: 'bob' });
    expect(lasting(booked, NOW, language)).toBe('');
  });

  test('says what its flag means', () => {
    expect(cellSentence(gpu({ flags: ['hot'] }), NOW, language, 300)).toMatch(/, hot$/);
  });
});

describe('what a node has', () => {
  const language = new Language('en', en);
  const t400 = gpu({ model: 'T400', memory_total_bytes: 4 * 2 ** 30, counted: false });

  test('is what counts, or all of it and that it does not', () => {
    expect(hardware(node(), [gpu(), t400], language)).toBe('1 × H100 80 GB');
    expect(hardware(node(), [t400, t400], language)).toBe('2 × T400 4 GB, not counted');
  });

  test('is nothing only where that is known', () => {
    expect(hardware(node({ gpus_known: true }), [], language)).toBe('no GPU');
    expect(hardware(node({ gpus_known: false }), [], language)).toBe('GPUs not known');
  });
});

describe('the command to copy', () => {
  const take = (name: string, gpus: GpuRow[], address: string | null = null, copy?: string) => {
    const fleet = fleetOf([node({ name, address })], []);
    const board = { ...fleet.board!, ...(copy ? { copy } : {}) };
    return takeCommand({ board, nodes: fleet.nodes }, name, gpus);
  };

  test('names the devices by UUID', () => {
    expect(take('dgx-02', [gpu({ uuid: 'GPU-1' }), gpu({ uuid: 'GPU-2' })])).toBe(
      "ssh -t dgx-02 'env CUDA_VISIBLE_DEVICES=GPU-1,GPU-2 $SHELL -l'",
    );
  });

  test('goes to the address that the node is listed with', () => {
    expect(take('tejo', [gpu()], 'tejo.lab.example')).toMatch(/^ssh -t tejo\.lab\.example 'env/);
    expect(take('tejo', [gpu()], '2001:db8::7')).toMatch(/^ssh -t 2001:db8::7 /);
  });

  test('is the one of the admin', () => {
    const copy = 'srun -w {node} --gpus {devices} # {what}';
    expect(take('tejo', [gpu()], 'tejo.lab.example', copy)).toBe('srun -w tejo --gpus GPU-1 # {what}');
  });

  test('falls back to the index where the UUID is made up', () => {
    expect(take('old-box', [gpu({ uuid: 'old-box:3', index: 3, label: '3' })])).toBe(
      "ssh -t old-box 'env CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=3 $SHELL -l'",
    );
  });

  test('is not written for what CUDA cannot be told', () => {
    expect(take('old-box', [gpu({ uuid: 'old-box:0/1', index: 1, label: '0:1' })])).toBe('');
  });

  test.each(devices)('calls $about as every other output does', ({ gpus, uuids, numbers }) => {
    const rows = gpus.map(([uuid, label]) => gpu({ uuid: uuid!, label: label! }));
    const { text, numbered } = cudaDevices(rows);
    expect(text).toBe(uuids ?? numbers ?? '');
    expect(numbered).toBe(uuids === undefined);
  });

  const HOSTILE = ["x'; rm -rf /", '-oProxyCommand=x', '$(id)', 'a b', '`id`', 'x\nid', '{devices}'];
  test.each([...HOSTILE, ''])('is not written for a node called %j', (name) => {
    expect(take(name, [gpu()])).toBe('');
  });

  test.each(HOSTILE)('never goes to the address %j', (address) => {
    expect(take('ok', [gpu()], address)).toBe("ssh -t ok 'env CUDA_VISIBLE_DEVICES=GPU-1 $SHELL -l'");
  });

  test.each(HOSTILE)('never carries the UUID %j', (uuid) => {
    expect(take('ok', [gpu({ uuid, label: '0' })])).toContain(' CUDA_VISIBLE_DEVICES=0 ');
  });
});

describe('arrows in the cards', () => {
  // Two nodes: three cards and two below them, then one more.
  const cards = [
    [0, 0],
    [300, 0],
    [600, 0],
    [0, 200],
    [300, 200],
    [0, 500],
  ].map(([left, top]) => ({ left: left!, top: top! }));

  test.each([
    [0, 'ArrowRight', 1],
    [2, 'ArrowRight', 3],
    [0, 'ArrowLeft', null],
    [1, 'ArrowDown', 4],
    [2, 'ArrowDown', 4],
    [4, 'ArrowDown', 5],
    [5, 'ArrowDown', null],
    [5, 'ArrowUp', 3],
    [4, 'ArrowUp', 1],
    [4, 'Home', 0],
    [1, 'End', 5],
    [1, 'x', null],
    [-1, 'ArrowDown', null],
  ] as const)('from %i by %s to %j', (from, key, to) => {
    expect(nextCard(cards, from, key)).toBe(to);
  });
});

describe('the map', () => {
  const layout = layOut(steady(rowsOf(smallFleet())), 600, 500);

  test('shows every GPU once, inside its width', () => {
    expect(layout.squares).toHaveLength(12);
    for (const square of layout.squares) expect(square.x + layout.size).toBeLessThanOrEqual(600);
  });

  test('keeps places by name, whatever becomes free', () => {
    expect(layout.squares[0]?.gpu.record.node).toBe('a-2');
  });

  test('finds the square under the pointer, and its neighbours', () => {
    const first = layout.squares[0]!;
    expect(squareAt(layout, first.x + 2, first.y + 2)).toBe(first);
    expect(squareAt(layout, -5, -5)).toBeNull();
    expect(neighbour(layout, first, 'ArrowRight')).toBe(layout.squares[1]);
    expect(neighbour(layout, first, 'ArrowLeft')).toBeNull();
  });

  test('calls a node by its shown name', () => {
    const fleet = fleetOf([node({ display_name: 'Workstation 1' })], [gpu()]);
    expect(layOut(rowsOf(fleet), 600, 500).labels.map((label) => label.text)).toEqual(['Workstation 1']);
  });

  test('never makes squares smaller than eight pixels', () => {
    expect(layOut(rowsOf(smallFleet()), 100, 1).size).toBe(8);
  });
});

describe('the detail', () => {
  const screen = { width: 1000, height: 800 };
  const at = (left: number, top: number) => ({ left, top, right: left + 100, bottom: top + 34 }) as DOMRect;

  test('goes below, else above, and never off the screen', () => {
    expect(placeBeside(at(100, 100), 400, screen)).toEqual({
      left: 100,
      top: 142,
      bottom: null,
      maxHeight: 650,
    });
    expect(placeBeside(at(100, 700), 400, screen)).toEqual({
      left: 100,
      top: null,
      bottom: 108,
      maxHeight: 684,
    });
    expect(placeBeside(at(900, 100), 400, screen).left).toBe(592);
  });
});
