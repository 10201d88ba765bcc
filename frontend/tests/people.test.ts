import { describe, expect, test } from 'vitest';
import { words } from '../src/text/en/words';
import { more } from '../src/text/en/more';
import { usage } from '../src/text/en/usage';
import { bookedCount, bookedPlace } from '../src/pages/people/booked';
import { bookedFor, heldTogether, missedBy } from '../src/state/booked-for';
import { accountOf, askAddress, askWords } from '../src/parts/ask';
import { maps, sheets } from '../src/pages/wall/pages';
import { bookedWords } from '../src/parts/words';
import { gpuLine, nodeLine, pad, widthsOf } from '../src/parts/lines';
import { parseFilter } from '../src/state/filter';
import { Fleet } from '../src/state/fleet.svelte';
import { idleOf } from '../src/state/idlers';
import { sortPeople } from '../src/state/people-order';
import { markedRanges, ranges } from '../src/state/labels';
import { holding, people } from '../src/state/people';
import { passesAs } from '../src/state/theirs';
import { Language } from '../src/text/language.svelte';
import { boardTime, viewersZone, zonedTime } from '../src/text/zone';
import { gpu, node, snapshot, using } from './samples';

const english = new Language('en', { ...words, ...more, ...usage });

test.each([
  [['0', '1', '2', '5'], '0–2, 5'],
  [['0', '1'], '0, 1'],
  [['3', '4', '5', '7', '8', '9', '10'], '3–5, 7–10'],
  [['0:0', '0:1', '1'], '0:0, 0:1, 1'],
  [[], ''],
])('the numbers %j are written as %s', (labels, text) => {
  expect(ranges(labels)).toBe(text);
});

test.each([
  ['37', '7', '3|7*'],
  ['01234567', '3', '0–2|3*|4–7'],
  ['012', '012', '0–2*'],
  ['0126', '', '0–2, 6'],
])('of the numbers %s only %s is marked: %s', (labels, idle, text) => {
  const parts = markedRanges(
    [...labels],
    (label) => label,
    (label) => idle.includes(label),
  );
  expect(parts.map((part) => part.text + (part.marked ? '*' : '')).join('|')).toBe(text);
});

function fleetOf(...gpus: Parameters<typeof gpu>[0][]): Fleet {
  const fleet = new Fleet();
  const rows = gpus.map((each, place) =>
    gpu({ uuid: `GPU-${place}`, index: place, label: String(place), ...each }),
  );
  fleet.queue(snapshot([node()], rows));
  fleet.flush();
  return fleet;
}

describe('people', () => {
  const fleet = fleetOf(
    { verdict: 'busy', users: using('ana') },
    { verdict: 'busy', users: using('ana') },
    { verdict: 'busy', users: using('ana', 'bob') },
    { verdict: 'idle', users: using('bob'), since: 10_000 - 7200 },
    { verdict: 'idle', users: using('cem'), since: 10_000 - 36_000 },
    { verdict: 'idle', users: using('bob'), since: null },
  );
  const all = people(fleet.nodes.values());
  const names = (sort: Parameters<typeof sortPeople>[1]) =>
    sortPeople(all, sort, 10_000).map((person) => person.user);

  test('are ordered by what they hold, by what of it is idle, and by how long', () => {
    expect(names('gpus')).toEqual(['ana', 'bob', 'cem']);
    expect(names('idle')).toEqual(['bob', 'cem', 'ana']);
    expect(names('hours')).toEqual(['cem', 'bob', 'ana']);
  });

  test('have booked what nobody uses, and apart from it what somebody does', () => {
    const claim = { who: 'ana', until: null, comment: null, is_unverified: false, behind: [] };
    const held = fleetOf(
      { verdict: 'booked', claim },
      { verdict: 'busy', claim, users: using('bob') },
      { verdict: 'busy', claim, users: using('Ana') },
    );
    const [ana] = people(held.nodes.values());
    expect(ana).toMatchObject({ gpus: 1, booked: 3, held: 2 });
    expect(bookedWords(ana!, english)).toBe('1 booked, 2 booked and in use');
    expect(bookedWords({ booked: 1, held: 2, gpus: 2 }, english)).toBe('1 booked and in use');
    expect(bookedWords({ booked: 2, held: 2, gpus: 0 }, english)).toBe('2 booked');
    expect(bookedWords({ booked: 0, held: 1, gpus: 1 }, english)).toBe('');
  });

  test('hold what the heading counts, each GPU once, and share what counts for several', () => {
    const claim = { who: 'ana', until: null, comment: null, is_unverified: false, behind: [] };
    const held = fleetOf(
      { verdict: 'booked', claim },
      { verdict: 'busy', claim, users: using('bob') },
      { verdict: 'busy', claim, users: using('Ana') },
      { verdict: 'busy', users: using('bob', 'cem') },
    );
    const rows = people(held.nodes.values());
    expect(rows.map(({ user, held }) => [user, held])).toEqual([
      ['bob', 2],
      ['Ana', 2],
      ['cem', 1],
    ]);
    expect(heldTogether(rows)).toEqual({ gpus: 4, shared: 1, nodes: 1 });
    expect(holding(rows)).toEqual(rows);
    const taken = people(fleetOf({ verdict: 'busy', claim, users: using('bob') }).nodes.values());
    expect(taken.map(({ user, held }) => [user, held])).toEqual([
      ['bob', 1],
      ['ana', 0],
    ]);
    expect(holding(taken).map(({ user }) => user)).toEqual(['bob']);
    // Of whom only the booker is found, what another uses is not theirs.
    const passes = passesAs(parseFilter('user:ana'), 10_000, null);
    expect(heldTogether(people(held.nodes.values(), passes))).toEqual({ gpus: 2, shared: 0, nodes: 1 });
  });

  test('have what they booked apart by who is there: nobody yet, nobody at all, or another', () => {
    const claim = { who: 'ana', until: null, comment: null, is_unverified: false, behind: [] };
    const held = fleetOf(
      { verdict: 'booked', claim },
      { verdict: 'booked', claim },
      { verdict: 'busy', claim, users: using('bob') },
      { verdict: 'busy', claim, users: using('ana') },
    );
    const ana = people(held.nodes.values()).find(({ user }) => user === 'ana')!;
    const booking = { state: 'running', no_show: true, places: [{ node: 'dgx-01', gpus: [1, 2] }] };
    const apart = bookedFor(ana, missedBy([booking as never]));
    expect(apart.map((one) => bookedCount(one, english))).toEqual([
      '1 booked',
      '1 booked, nobody came',
      '1 booked, used by bob',
    ]);
    expect(apart.map((one) => bookedPlace(one, english))).toEqual([
      'booked',
      'booked, nobody came',
      'booked, used by bob',
    ]);
    const over = bookedFor(ana, missedBy([{ ...booking, state: 'ended' } as never]));
    expect(over.map(({ kind, gpus }) => [kind, gpus.length])).toEqual([
      ['waiting', 2],
      ['taken', 1],
    ]);
  });

  test('of the past have the memory of GPUs that were theirs alone, and nobody knows of how many processes', () => {
    const then = (...names: string[]) =>
      using(...names)!.map((use) => ({ ...use, memory_used_bytes: null, processes: 0, measured: 0 }));
    const memory_used_bytes = 60 * 2 ** 30;
    const held = fleetOf(
      { verdict: 'busy', users: then('ana'), memory_used_bytes },
      { verdict: 'idle', users: then('ana'), memory_used_bytes },
      { verdict: 'busy', users: then('bob', 'cem'), memory_used_bytes },
      // Who holds nothing has no process; that is known.
      {
        verdict: 'booked',
        claim: { who: 'dan', until: null, comment: null, is_unverified: false, behind: [] },
      },
    );
    expect(
      people(held.nodes.values()).map(({ user, memoryBytes, processes }) => [user, memoryBytes, processes]),
    ).toEqual([
      ['ana', 2 * memory_used_bytes, null],
      ['bob', null, null],
      ['cem', null, null],
      ['dan', null, 0],
    ]);
    const [now] = people(fleetOf({ verdict: 'busy', users: using('ana') }).nodes.values());
    expect([now!.memoryBytes, now!.processes]).toEqual([2 ** 30, 1]);
  });

  test('have idle hours only as far as they are known', () => {
    const bob = all.find((person) => person.user === 'bob')!;
    const { gpus, since, hours } = idleOf(bob, 10_000);
    expect([gpus.length, since, hours]).toEqual([2, 10_000 - 7200, 2]);
  });

  test.each([
    ['ana', ['ana']],
    ['idle', ['bob', 'cem']],
    ['user:bob', ['bob']],
    ['node:dgx-01', ['ana', 'bob', 'cem']],
    ['node:other', []],
  ])('are found by %s, but not by the names of those who share a GPU with them', (text, found) => {
    const passes = passesAs(parseFilter(text), 10_000, null);
    expect(people(fleet.nodes.values(), passes).map((person) => person.user)).toEqual(found);
  });
});

describe('asking somebody', () => {
  test('fills in person and text, and nothing of them becomes a part of the address', () => {
    const mail = askAddress('mailto:{person}@lab.example', 'a?bcc=x@y&z', 'GPUs', 'two\nlines');
    expect(mail).toBe('mailto:a%3Fbcc%3Dx%40y%26z@lab.example?subject=GPUs&body=two%0Alines');
    expect(askAddress('mailto:{person}@lab.example?cc=it@lab.example', 'ana', 's', 't')).toBe(
      'mailto:ana@lab.example?cc=it@lab.example&subject=s&body=t',
    );
    expect(askAddress('https://chat.example/to/{person}?text={text}', '../x', '', 'a&b')).toBe(
      'https://chat.example/to/..%2Fx?text=a%26b',
    );
  });

  test.each([null, undefined, '', 'javascript:alert(1)', 'http://x/{person}'])(
    'is not offered by %s',
    (way) => {
      expect(askAddress(way, 'ana', '', '')).toBeNull();
    },
  );

  test('goes to the account behind the name', () => {
    const users = [{ ...using('Ana A')![0]!, user: 'ana' }];
    expect(accountOf('Ana A', [{ users: null }, { users }])).toBe('ana');
    expect(accountOf('bob', [{ users }])).toBeNull();
  });

  test('is polite, and says what is known', () => {
    const held = [
      gpu({ label: '4', since: 6400 }),
      gpu({ label: '5', since: 6000 }),
      gpu({ node: 'dgx-02', label: '0', since: null }),
    ];
    const { subject, text } = askWords(held, 'ana', 10_000, english);
    expect(subject).toBe('3 GPUs on dgx-01 and dgx-02');
    // For at least so long, as of the newest of them.
    expect(text).toContain('\ndgx-01: GPU 4, 5, idle for 1 h\ndgx-02: GPU 0\n');
    expect(text).toMatch(/^Hello ana,\n[\s\S]*Thank you!$/);
    expect(askWords(held.slice(0, 1), 'ana', 10_000, english).text).toContain(
      'you hold 1 GPU and that no work is',
    );
  });
});

describe('a line of text', () => {
  test('has everybody, every program and what is booked', () => {
    const record = gpu({
      verdict: 'busy',
      utilization_percent: 3,
      utilization_minute_percent: 97,
      memory_used_bytes: 71 * 2 ** 30,
      users: using('ana', 'bob'),
      claim: { who: 'cem', until: null, comment: null, is_unverified: false, behind: [] },
    });
    const process = { program: 'python', arguments: 'train.py' };
    const processes = [process, process, { program: 'bash', arguments: null }] as never;
    expect(gpuLine(record, processes, widthsOf([record], english), 2000, english)).toBe(
      'H100 80 GB  busy   97 %    71 GB / 80 GB   40 °C    60 W  ' +
        'ana 1 GB · bob 1 GB · Booked: cem · python train.py × 2 · bash',
    );
  });

  test('says who is on it first where the screen is narrow', () => {
    const record = gpu({ verdict: 'busy', utilization_minute_percent: 97, users: using('ana') });
    const line = gpuLine(record, null, widthsOf([record], english), 2000, english, true);
    expect(line).toMatch(/^busy {3}97 % {2}ana 1 GB {2}.*H100 80 GB$/);
  });

  test('has its columns below each other, and a dash for what nobody can tell', () => {
    const [short, long] = [
      gpu({ model: 'T4', utilization_percent: null, utilization_minute_percent: null }),
      gpu({ verdict: 'unknown' }),
    ];
    const widths = widthsOf([short, long], english);
    const lines = [short, long].map((each) => gpuLine(each, null, widths, 2000, english));
    expect(lines[0]!.indexOf(' / ')).toBe(lines[1]!.indexOf(' / '));
    expect(lines[0]).toContain('— %');
    expect(pad('可用', 6)).toBe('可用  ');
  });

  test.each([
    ['free', '3 %'],
    ['booked', '3 %'],
    ['busy', '42 %'],
    ['idle', '42 %'],
  ] as const)('tells no work of who has left: %s', (verdict, use) => {
    const record = gpu({ verdict, utilization_percent: 3, utilization_minute_percent: 42 });
    expect(gpuLine(record, null, widthsOf([record], english), 2000, english)).toContain(`  ${use}  `);
  });

  test('of a node says what it has and what is wrong', () => {
    const record = node({ display_name: 'Big one', state: 'late' });
    expect(nodeLine(record, [gpu()], 2000, english)).toBe('dgx-01 · 1 × H100 80 GB · late');
  });
});

describe('zones', () => {
  test('of a board are told where its clocks show another time', () => {
    const zone = viewersZone();
    expect(boardTime(zone, 1_800_000_000, 'en')).toBeNull();
    expect(boardTime(null, 1_800_000_000, 'en')).toBeNull();
    expect(boardTime('Nowhere/Atall', 1_800_000_000, 'en')).toBeNull();
    const others = ['Asia/Tokyo', 'America/Lima'].map((each) => boardTime(each, 1_800_000_000, 'en'));
    expect(others.filter(Boolean).length).toBeGreaterThan(0);
  });

  test('are named in full moments, with UTC beside', () => {
    expect(zonedTime(1_800_000_000, 'en')).toMatch(/\d\d:\d\d.* · 2027-01-15 08:00:00 UTC$/);
  });
});

describe('a screen on the wall', () => {
  const section = (title: string | null, count: number) =>
    ({ title, rows: Array.from({ length: count }, (_, place) => ({ key: `${title}${place}` })) }) as never;
  const shape = (found: { title: string | null; rows: unknown[] }[]) =>
    found.map(({ title, rows }) => [title, rows.length]);

  test('shows all at once where it fits', () => {
    expect(shape(sheets([section('A', 4), section('B', 5)], 9))).toEqual([[null, 9]]);
    expect(shape(sheets([section('A', 4)], 9))).toEqual([['A', 4]]);
    expect(shape(sheets([], 9))).toEqual([[null, 0]]);
  });

  test('else turns pages by section, in sheets of one length', () => {
    expect(shape(sheets([section('A', 10), section('B', 2)], 9))).toEqual([
      ['A', 5],
      ['A', 5],
      ['B', 2],
    ]);
    expect(shape(sheets([section(null, 3)], 0))).toHaveLength(3);
  });

  test('else draws maps: small sections together, large ones in parts of one size', () => {
    const drawn = (...counts: number[]) =>
      maps(
        counts.map((count, place) => section('ABC'.charAt(place), count)),
        10,
      ).map((each) => shape(each).join(' '));
    expect(drawn(4, 5, 3)).toEqual(['A,4 B,5', 'C,3']);
    expect(drawn(25, 1)).toEqual(['A,9', 'A,9', 'A,7 B,1']);
    expect(drawn()).toEqual([]);
  });
});
