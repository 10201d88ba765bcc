import { describe, expect, test } from 'vitest';
import type { GpuRow, NodeRow } from '../src/api/wire';
import { nextCard } from '../src/pages/board/cardKeys';
import { step } from '../src/pages/board/gridKeys';
import { cardHeight, holderLines, stacked } from '../src/pages/board/card';
import { items, linesOf, rowHeight, slotsFor } from '../src/pages/board/layout';
import { layOut, lineName, neighbour, squareAt, steady } from '../src/pages/board/mapLayout';
import { paint, type Painted, type Palette, type Tiles } from '../src/pages/board/mapPaint';
import { hiddenBelow, placeTip } from '../src/pages/board/place';
import devices from '../../tests/golden/devices.json';
import { cudaDevices, takeCommand } from '../src/parts/command';
import { tipWords } from '../src/parts/tip';
import { lasting } from '../src/parts/lasting';
import { reasonText } from '../src/text/reasons';
import { cellSentence, cellWords, hardware } from '../src/parts/words';
import { freeByModel } from '../src/state/answers';
import { cutCards } from '../src/state/cards';
import { parseFilter } from '../src/state/filter';
import { matches } from '../src/state/passing';
import { findOffers } from '../src/state/offers';
import { arrange, type Grouping, type Sort } from '../src/state/arrange';
import { Fleet } from '../src/state/fleet.svelte';
import { summarizeModels } from '../src/state/models';
import { isMine, people } from '../src/state/people';
import { Preferences } from '../src/state/preferences.svelte';
import type { Router } from '../src/state/router.svelte';
import { BoardView } from '../src/state/view.svelte';
import { words as de } from '../src/text/de/words';
import { more } from '../src/text/en/more';
import { words as en } from '../src/text/en/words';
import { Language, LANGUAGES } from '../src/text/language.svelte';
import { gpu, node, snapshot, using } from './samples';

const NOW = 100_000;
/** How a phone draws cards. */
const drawn = { width: 362, now: NOW, language: new Language('en', en) };

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

  test('never tear a card with instances apart', () => {
    const part = (label: string, parent: string | null) =>
      gpu({ uuid: `m${label}`, node: 'm', label, mig_parent_uuid: parent });
    const fleet = fleetOf(
      [node({ name: 'm' })],
      [part('0', null), part('0:1', 'm0'), part('0:2', 'm0'), part('0:3', 'm0'), part('1', null)],
    );
    const { gpus } = fleet.nodes.get('m')!;
    const labels = cutCards(gpus)?.map(({ whole, parts }) => [whole, ...parts].map((e) => e?.record.label));
    expect(labels).toEqual([['0', '0:1', '0:2', '0:3'], ['1']]);
    expect([8, 4, 3, 2, 1].map((slots) => linesOf(gpus, slots))).toEqual([1, 2, 2, 3, 4]);
    expect(cutCards(gpus.filter((each) => each.record.mig_parent_uuid === null))).toBeNull();
  });

  test('on a phone have a foot for trouble and for people, each with its own', () => {
    const heightOf = (change: Partial<NodeRow>, ...gpus: Partial<GpuRow>[]) => {
      const all = gpus.map((each, index) => gpu({ uuid: `GPU-${index}`, index, ...each }));
      return cardHeight(items(rowsOf(fleetOf([node(change)], all)), () => false)[0]!, drawn);
    };
    const bare = heightOf({}, {});
    const busy = { verdict: 'busy', users: using('ana') } as const;
    const held = heightOf({}, busy);
    const broken = [
      { kind: 'xid', text: '', remedy: '', detail: null, gpu_uuid: null, place: null, since: null },
    ];
    expect(heightOf({}, { verdict: 'busy', users: null })).toBe(bare);
    expect(held).toBeGreaterThan(bare);
    expect(heightOf({ state: 'lost' }, { verdict: 'stale' })).toBeGreaterThan(bare);
    expect(heightOf({ problems: broken }, busy) - heightOf({ problems: broken }, {})).toBe(held - bare);
  });

  test('on a phone name who holds what, since when it is idle, and two in a line where there is room', () => {
    const told = (...gpus: Partial<GpuRow>[]) => {
      const all = gpus.map((each, index) => gpu({ uuid: `GPU-${index}`, index, verdict: 'busy', ...each }));
      const lines = holderLines(rowsOf(fleetOf([node()], all))[0]!.rows[0]!, drawn);
      return [
        stacked(lines),
        ...lines.map((line) => [line.name, line.count, line.idle, line.booked].join(' ').trim()),
      ];
    };
    const idle = { verdict: 'idle', users: using('eva'), since: NOW - 3660 } as const;
    expect(told(idle)).toEqual([1, 'eva  (1 idle 1 h)']);
    const names = (...all: string[]) => all.map((name) => ({ users: using(name) }));
    expect(told(...names('ana', 'ana', 'bob'), idle)).toEqual([2, 'ana ×2', 'bob', 'eva  (1 idle 1 h)']);
    expect(told(...names('ana', 'bob', 'cem', 'dan', 'eva', 'fay'))).toEqual([
      3,
      'ana',
      'bob',
      'cem',
      'dan',
      '+2',
    ]);
    const long = 'x'.repeat(40);
    expect(told(...names('ana', long))[0]).toBe(2);
    expect(told({ ...idle, users: using(long) })[0]).toBe(2);
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
    const claim = { who: 'bob', comment: null, is_unverified: false, behind: [] };
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
    const said = cellSentence(fleet.gpus.get('b')!.record, NOW, new Language('en', en));
    expect(said).toMatch(/^m GPU 0:1, H100 3g.40gb, free/);
  });

  test('offer no GPU that is not counted, though it is free', () => {
    const fleet = fleetOf([node({ name: 'm' })], [gpu({ node: 'm', counted: false, since: 0 })]);
    const wish = { gpus: 1, oneNode: false };
    expect(findOffers(fleet.nodes.values(), () => true, wish, NOW, 300)).toEqual([]);
    expect(fleet.counts.free).toBe(0);
  });

  test('keep apart what people use and what is booked for them', () => {
    const claim = { who: 'eva', until: NOW + 60, comment: null, is_unverified: false, behind: [] };
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
    new BoardView(fleet, { query: new URLSearchParams(query) } as Router, new Preferences(null), {
      me: null,
    });
  expect(view('q=busy').shown.size).toBe(1);
  expect([view('q=busy').density, view('').density]).toEqual(['rows', 'rows']);
  expect(view('q=busy&view=cards').density).toBe('cards');
});

test.each([
  [200, 'rows'],
  [201, 'map'],
] as const)('of %i nodes with eight GPUs the board shows the %s', (nodes, density) => {
  const gpus = Array.from({ length: 8 * nodes }, (_, place) => gpu({ uuid: `GPU-${place}` }));
  const router = { query: new URLSearchParams() } as Router;
  expect(new BoardView(fleetOf([node()], gpus), router, new Preferences(null), { me: null }).density).toBe(
    density,
  );
});

test('what is typed shows the same as the address that it leaves behind', () => {
  const query = (text: string) => ({ query: new URLSearchParams({ q: text }) });
  const router = $router('is');
  const view = new BoardView(smallFleet(), router, new Preferences(null), { me: null });
  expect(view.shown.size).toBe(0);
  Object.assign(router, query('is:banana'));
  const reloaded = new BoardView(smallFleet(), $router('is:banana'), new Preferences(null), { me: null });
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
    expect(cellWords(ignored, NOW, language).main).toBe('not counted');
    const empty = gpu({ counted: false, reason: { code: 'mig-empty', values: {}, text: '' } });
    expect(cellWords(empty, NOW, language).main).toBe('MIG');
  });

  test('has a word for a user whom nothing identifies', () => {
    const busy = gpu({ verdict: 'busy', users: using('unknown') });
    expect(cellWords(busy, NOW, new Language('de', de)).side).toBe(de.unknown);
  });

  test('is not called free by old data', () => {
    const past = new Language('en', en, () => true);
    const free = gpu({ since: NOW - 600 });
    expect(cellWords(free, NOW, past)).toMatchObject({ main: 'was free', time: '', side: '' });
    expect(cellSentence(free, NOW, past)).toBe('dgx-01 GPU 0, H100 80 GB, was free');
    expect(lasting(free, NOW, past)).toBe('');
    const busy = gpu({ verdict: 'busy', users: using('ana') });
    expect(cellSentence(busy, NOW, past)).toContain('busy');
  });

  test('says that its booking ended, while nobody has come since', () => {
    const ended_claim = {
      who: 'ana',
      until: NOW - 3 * 3600 - 600,
      comment: null,
      is_unverified: false,
      behind: [],
    };
    const free = gpu({ since: NOW - 7300, ended_claim });
    expect(cellWords(free, NOW, language)).toMatchObject({ main: 'free', time: 'ended 3 h ago', side: '' });
    expect(cellSentence(free, NOW, language)).toMatch(/, free, ended 3 h ago$/);
    for (const change of [{ verdict: 'busy' }, { verdict: 'booked' }, { counted: false }] as const)
      expect(cellWords({ ...free, ...change }, NOW, language).time).not.toContain('ended');
  });

  test('always has the word of its verdict, or what stands for it', () => {
    const idle = gpu({ verdict: 'idle', since: NOW - 6000, users: using('ana') });
    expect(cellWords(idle, NOW, language)).toMatchObject({ main: 'idle', time: '1 h', side: 'ana' });
    const lost = { code: 'gpu-lost', values: {}, text: '' };
    const broken = gpu({ verdict: 'broken', reason: lost });
    expect(cellWords(broken, NOW, language)).toMatchObject({ main: 'broken', side: 'off the bus' });
    expect(cellWords(gpu({ verdict: 'stale' }), NOW, language).main).toBe('stale');
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
      claim: { who: 'bob', until: NOW + 3600, comment: null, is_unverified: false, behind: [] },
    });
    const { main, time, side } = cellWords(booked, NOW, spoken);
    expect([main, side]).toEqual([short, 'bob']);
    expect(cellSentence(booked, NOW, spoken)).toContain(whole + time);
    expect(lasting(booked, NOW, spoken)).toBe(whole + spoken.time(NOW + 3600, NOW));
  });

  test.each([
    ['en', '28 min', 'left'],
    ['de', '28 min', 'übrig'],
    ['fr', '28 min', 'restantes'],
    ['zh-TW', '28 分鐘', '後結束'],
    ['zh-CN', '28 分钟', '后结束'],
  ] as const)('in %s counts down the last hour of a booking', async (tag, left, word) => {
    const spoken = new Language(tag, await LANGUAGES[tag].load());
    const until = NOW + 28 * 60 + 9;
    const claim = { who: 'bob', until, comment: null, is_unverified: false, behind: [] };
    const booked = gpu({ verdict: 'booked', claim });
    const plain = (text: string) => text.replace(/\s/g, ' ');
    const { main, time, side } = cellWords(booked, NOW, spoken);
    expect([plain(main), time, side]).toEqual([left, word, 'bob']);
    for (const told of [cellSentence(booked, NOW, spoken), tipWords(booked, NOW, spoken)]) {
      expect(plain(told)).toContain(`${left} ${word}`);
      expect(told).toContain(spoken.say('until', { time: spoken.time(until, NOW) }));
    }
    expect(plain(cellWords(booked, NOW + 1709, spoken).main)).toMatch(/^0 /);
  });

  test('says whether it is used by whom it is booked for', () => {
    const claim = { who: 'Bob', until: NOW + 60, comment: null, is_unverified: false, behind: [] };
    const own = gpu({ verdict: 'busy', claim, users: using('ana', 'bob') });
    expect(cellSentence(own, NOW, language)).toMatch(/, in its booking$/);
    expect(cellSentence({ ...own, users: using('ana') }, NOW, language)).not.toContain('in its booking');
    expect(cellSentence({ ...own, claim: null }, NOW, language)).not.toContain('in its booking');
  });

  test('says that anybody may have typed what is booked, and marks it as nobody’s own', () => {
    const claim = { who: 'ana', until: NOW + 7200, comment: null, is_unverified: true, behind: [] };
    const typed = gpu({ verdict: 'booked', claim, users: [] });
    expect(cellSentence(typed, NOW, language)).toMatch(/, ana, not verified$/);
    expect(tipWords(typed, NOW, language)).toMatch(/ · ana · not verified$/);
    expect(isMine({ gpu: typed, me: 'ana' })).toBe(false);
    const used = gpu({ verdict: 'busy', claim, users: using('ana') });
    expect(cellSentence(used, NOW, language)).not.toContain('in its booking');
  });

  test('says that whoever has booked it has not come, and finds it by that', () => {
    const missed = gpu({ verdict: 'booked', flags: ['no_show'] });
    expect(cellSentence(missed, NOW, language)).toMatch(/, its booker has not come$/);
    const passes = matches(parseFilter('is:no-show'), {
      gpu: missed,
      node: node(),
      nodeFree: 0,
      now: NOW,
      me: null,
    });
    expect(passes).toBe(true);
  });

  test('names no end where a booking has none', () => {
    const booked = gpu({
      verdict: 'booked',
      since: null,
      claim: { who: 'bob', until: null, comment: null, is_unverified: false, behind: [] },
    });
    expect(cellWords(booked, NOW, language)).toMatchObject({ main: 'booked', time: '', side: 'bob' });
    expect(lasting(booked, NOW, language)).toBe('');
    const reason = { code: 'booked', values: { who: 'bob', until: null }, text: 'booked by bob' };
    expect(reasonText(reason, NOW, new Language('en', { ...en, ...more }), NOW - 60)).toBe('booked by bob');
  });

  test('that is free says nothing of how long it was: that would read as a promise', () => {
    const free = gpu({ since: NOW - 3600 });
    expect(cellWords(free, NOW, language)).toEqual({ main: 'free', time: '', side: '', others: '' });
    expect(cellSentence(free, NOW, language)).toBe('dgx-01 GPU 0, H100 80 GB, free');
    const whole = new Language('en', { ...en, ...more });
    expect(lasting(free, NOW, whole)).toMatch(/^since .+ \(1 h\)$/);
    expect(tipWords(free, NOW, whole)).toMatch(/^free · since .+ \(1 h\)$/);
  });

  test('shows the use of the last minute; what it is now is told where one points', () => {
    const busy = gpu({
      verdict: 'busy',
      utilization_percent: 3,
      utilization_minute_percent: 61,
      users: using('ana', 'bob', 'eva'),
    });
    expect(cellWords(busy, NOW, language)).toEqual({ main: '61%', time: '', side: 'ana', others: '+2' });
    const tip = tipWords(busy, NOW, new Language('en', { ...en, ...more }));
    expect(tip).toBe('busy · 61 % · now 3 % · 0 MB of 80 GB · ana · bob · eva');
    const mute = { ...busy, utilization_percent: null, utilization_minute_percent: null };
    expect(cellWords(mute, NOW, language).main).toBe('busy');
  });

  test('of a card that is cut up says so, and never that it is busy', () => {
    const reason = { code: 'divided', values: {}, text: '' };
    const card = gpu({ verdict: 'busy', counted: false, reason });
    expect(cellSentence(card, NOW, language)).toBe(
      'dgx-01 GPU 0, H100 80 GB, divided into MIG instances, MIG',
    );
  });

  test('says what its flag means', () => {
    expect(cellSentence(gpu({ flags: ['hot'] }), NOW, language)).toMatch(/, hot$/);
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
  const take = (
    name: string,
    gpus: GpuRow[],
    address: string | null = null,
    copy?: string,
    person: string | null = null,
  ) => {
    const fleet = fleetOf([node({ name, address })], []);
    const board = { ...fleet.board!, ...(copy ? { copy } : {}) };
    return takeCommand({ board, nodes: fleet.nodes }, name, gpus, person);
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

  const pair = [gpu({ uuid: 'GPU-1', label: '0' }), gpu({ uuid: 'MIG-2', label: '1:0' })];
  const ALL = "ssh {person}@{node} 'use {uuids} # {indexes}'";

  test('names UUIDs, numbers and the person where the admin wants them', () => {
    expect(take('n', pair, null, ALL, 'ana')).toBe("ssh ana@n 'use GPU-1,MIG-2 # 0,1:0'");
  });

  test.each([null, "o'neil", 'Ana María', '$(id)', '-oProxyCommand=x', '{node}'])(
    'leaves it to the shell who %j is',
    (person) => {
      expect(take('n', pair, null, ALL, person)).toBe("ssh $USER@n 'use GPU-1,MIG-2 # 0,1:0'");
    },
  );

  test('is none where it would lack something', () => {
    expect(take('n', [gpu({ uuid: 'n:0', label: '0' })], null, ALL)).toBe('');
    expect(take('n', [gpu({ label: "0';id" })], null, ALL)).toBe('');
  });

  test('falls back to the index where the UUID is made up', () => {
    expect(take('old-box', [gpu({ uuid: 'old-box:3', index: 3, label: '3' })])).toBe(
      "ssh -t old-box 'env CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=3 $SHELL -l'",
    );
  });

  test('names no number while a card of the node is missing', () => {
    const { board, nodes } = fleetOf([node({ name: 'n', numbers_known: false })], []);
    expect(takeCommand({ board, nodes }, 'n', [gpu({ uuid: 'n:3', label: '3' })])).toBe('');
    expect(takeCommand({ board, nodes }, 'n', [gpu({ uuid: 'GPU-1', label: '3' })])).toContain('=GPU-1 ');
    const admins = { ...board!, copy: 'use {indexes}' };
    expect(takeCommand({ board: admins, nodes }, 'n', [gpu({ uuid: 'GPU-1', label: '3' })])).toBe('');
  });

  test('is not written for what CUDA cannot be told', () => {
    expect(take('old-box', [gpu({ uuid: 'old-box:0/1', index: 1, label: '0:1' })])).toBe('');
  });

  test.each(devices)('calls $about as every other output does', ({ gpus, uuids, numbers, missing }) => {
    const rows = gpus.map(([uuid, label]) => gpu({ uuid: uuid!, label: label! }));
    const { text, numbered } = cudaDevices(rows, !missing);
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

  test('cuts no GPU off where the screen is narrow', () => {
    const nodes = ['nlp-1', 'nlp-2', 'nlp-3'];
    const gpus = nodes.flatMap((name) =>
      Array.from({ length: 8 }, (_, index) =>
        gpu({ uuid: `${name}-${index}`, node: name, label: `${index}` }),
      ),
    );
    const fleet = fleetOf(
      nodes.map((name) => node({ name })),
      gpus,
    );
    const { squares, size } = layOut(rowsOf(fleet), 330, 600);
    expect(squares).toHaveLength(24);
    for (const square of squares) expect(square.x + size).toBeLessThanOrEqual(330);
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

  test('names the lines where the squares leave no room for names', () => {
    const names = Array.from({ length: 40 }, (_, place) => `a100-${String(place + 1).padStart(2, '0')}`);
    const gpus = names.flatMap((name) =>
      [0, 1, 2, 3].map((at) => gpu({ uuid: `${name}/${at}`, node: name })),
    );
    const small = layOut(
      steady(
        rowsOf(
          fleetOf(
            names.map((name) => node({ name })),
            gpus,
          ),
        ),
      ),
      600,
      1,
    );
    expect(small.squares).toHaveLength(160);
    expect(small.labels[0]?.text).toMatch(/^a100-01 … \d\d$/);
    for (const square of small.squares) expect(square.x).toBeGreaterThan(small.labels[0]!.width);
  });

  test.each([
    [['a100-01', 'a100-02', 'a100-13'], 'a100-01 … 13'],
    [['a100-99', 'a100-101'], 'a100-99 … 101'],
    [['a100-12', 'dgx-03'], 'a100-12 … dgx-03'],
    [['Workstation 1', 'Workstation 4'], 'Workstation 1 … 4'],
    [['alone'], 'alone'],
  ])('calls the line of %j %s', (names, line) => {
    expect(lineName(names)).toBe(line);
  });

  test('draws instances inside of their card, which has no square', () => {
    const cut = { node: 'm', mig_parent_uuid: 'c' };
    const fleet = fleetOf(
      [node({ name: 'm' })],
      [
        gpu({ uuid: 'c', node: 'm', label: '0', counted: false }),
        gpu({ uuid: 'a', ...cut, label: '0:1' }),
        gpu({ uuid: 'b', ...cut, label: '0:2' }),
        gpu({ uuid: 'w', node: 'm', label: '1' }),
      ],
    );
    const { frames, squares, size } = layOut(rowsOf(fleet), 600, 500);
    expect(squares.map((each) => each.gpu.record.uuid)).toEqual(['a', 'b', 'w']);
    expect(frames).toEqual([{ x: 0, y: squares[0]!.y, width: squares[1]!.x + size, height: size }]);
  });

  test('draws again only what has changed', () => {
    const fleet = smallFleet();
    const drawn: unknown[] = [];
    const nothing = () => undefined;
    const context = {
      clearRect: nothing,
      strokeRect: nothing,
      fillText: nothing,
      measureText: () => ({ width: 0 }),
      drawImage: (tile: unknown) => drawn.push(tile),
    } as unknown as CanvasRenderingContext2D;
    const tiles = { free: 'free', busy: 'busy', idle: 'idle', stale: 'stale' } as unknown as Tiles;
    const draw = (before: Painted | null) =>
      paint(context, layOut(steady(rowsOf(fleet)), 600, 500), {} as Palette, tiles, true, before);
    const first = draw(null);
    expect(drawn.splice(0)).toHaveLength(12);
    const [some] = fleet.gpus.values();
    some!.set({ ...some!.record, verdict: 'idle' });
    draw(first);
    expect(drawn).toEqual(['idle']);
  });

  test('never makes squares smaller than eight pixels', () => {
    expect(layOut(rowsOf(smallFleet()), 300, 1).size).toBe(8);
  });
});

describe('the detail', () => {
  const screen = { width: 1000, height: 800 };
  const at = (left: number, top: number) => ({ left, top, right: left + 100, bottom: top + 34 }) as DOMRect;

  test('is announced by a tip below, else above, and never off the screen', () => {
    expect(placeTip(at(100, 100), 400, screen)).toEqual({ left: 100, top: 142, bottom: null });
    expect(placeTip(at(100, 740), 400, screen)).toEqual({ left: 100, top: null, bottom: 68 });
    expect(placeTip(at(900, 100), 400, screen).left).toBe(592);
  });

  test('lies at the foot of the screen, and what it is about is moved above it', () => {
    expect(hiddenBelow(at(100, 100), 300, 800)).toBe(0);
    expect(hiddenBelow(at(100, 600), 300, 800)).toBe(634 + 16 - 500);
  });
});
