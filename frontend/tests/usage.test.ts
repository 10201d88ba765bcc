/** GPU-hours add up as they are written, and the calendar is the board's. */

import { describe, expect, test } from 'vitest';
import cases from '../../tests/golden/shares.json';
import type { UsageAnswer, UsageAveragesAnswer, UsageRow, UsageTotal } from '../src/api/usage';
import {
  beginOf,
  clockChanges,
  daysBetween,
  isSameClock,
  nameOf,
  neighbour,
  parseDay,
  queryOf,
  readStretch,
  reversedDays,
  soFar,
  spanOfStretch,
  stretchOf,
  type Stretch,
} from '../src/state/calendar';
import { meansOf, withAbsent } from '../src/state/lately';
import { personPath } from '../src/state/person';
import { columnsOf, fitting, telling } from '../src/pages/usage/columns';
import { shadesBetween } from '../src/pages/usage/shades';
import { comparedText, countedSince, tenthText } from '../src/pages/usage/spans';
import { rowName } from '../src/pages/usage/names';
import { usage } from '../src/text/en/usage';
import { words } from '../src/text/en/words';
import { Language } from '../src/text/language.svelte';
import { changeOf, HOUR_MS, kindLines, observedTenths, shared, usageLines } from '../src/state/usage';

const BERLIN = 'Europe/Berlin';
const day = (text: string) => parseDay(text)!;
const asked = (text: string) => readStretch(new URLSearchParams(text), day('2026-11-17'));
const hoursIn = (stretch: Stretch, zone: string) => {
  const { from, to } = spanOfStretch(stretch, zone);
  return (to - from) / 3600;
};
const sum = (numbers: number[]) => numbers.reduce((one, other) => one + other, 0);

function total(kinds: Partial<UsageTotal>): UsageTotal {
  const none = { used_ms: 0, idle_ms: 0, booked_ms: 0, free_ms: 0, broken_ms: 0, unobserved_ms: 0 };
  const told: typeof none = { ...none, ...(kinds as Partial<typeof none>) };
  const worth = { previous_used_ms: null, weighted_ms: null, memory_gib_hours: null, price: null };
  const reserved = { reserved_ms: null, reserved_used_ms: null };
  return { ...told, ...worth, ...reserved, span_ms: sum(Object.values(told)) };
}

function row(
  name: string | null,
  used: number,
  idle = 0,
  booked = 0,
  more: Partial<UsageRow> = {},
): UsageRow {
  const { span_ms: _, ...rest } = total({});
  const nobodys = { free_ms: null, broken_ms: null, unobserved_ms: null };
  const times = { used_ms: used * HOUR_MS, idle_ms: idle * HOUR_MS, booked_ms: booked * HOUR_MS };
  return { ...rest, ...nobodys, ...times, name, group: null, people: null, ...more };
}

describe('what adds up', () => {
  test('parts of 100.0 % are 100.0 %, whatever is cut off', () => {
    for (const parts of [[1, 1, 1], [1, 1, 1, 1, 1, 1, 1], [2, 3, 7, 0, 11, 1e-9], [5]])
      expect(sum(shared(parts, 1000))).toBe(1000);
    expect(shared([1, 1, 1], 1000)).toEqual([334, 333, 333]);
    expect(shared([0, 0], 1000)).toEqual([0, 0]);
  });

  test('six kinds are all of the time, in percent and in hours', () => {
    const third = (1000 * HOUR_MS) / 3;
    const lines = kindLines(
      total({ used_ms: third, idle_ms: third, free_ms: third, unobserved_ms: HOUR_MS / 3 }),
    );
    expect(sum(lines.map(({ tenths }) => tenths))).toBe(1000);
    expect(sum(lines.map(({ hours }) => hours))).toBe(1000);
    expect(lines.map(({ kind }) => kind)).toEqual(['used', 'idle', 'booked', 'free', 'broken', 'unobserved']);
  });

  test.each(cases.observed)('only all of the time is 100 %% observed: %o', (one) => {
    const seen = one.span_ms - one.unobserved_ms;
    const sums = total({ used_ms: seen, unobserved_ms: one.unobserved_ms });
    expect((observedTenths(sums) / 10).toFixed(1)).toBe(one.percent);
    expect(sum(kindLines(sums).map(({ tenths }) => tenths))).toBe(1000);
  });

  test.each([
    ...cases.prices.map(({ price, text }) => ['price', price, text] as const),
    ...cases.reserved.map(({ ms, text }) => ['reserved_ms', ms, text] as const),
  ])('a half is rounded up, as the board does: %s %d', (key, value, text) => {
    const english = new Language('en', { ...words, ...usage });
    const ana = row('ana', 0, 0, 0, { [key]: value });
    const answer = {
      total: total({ free_ms: HOUR_MS }),
      rows: [ana],
      currency: null,
    } as unknown as UsageAnswer;
    expect(columnsOf(answer, english, false)[0]!.write(ana)).toBe(text);
  });

  test('of few hours, tenths are told', () => {
    const lines = kindLines(total({ used_ms: 0.3 * HOUR_MS, free_ms: 23.7 * HOUR_MS }));
    expect(lines[0]!.hours).toBeCloseTo(0.3);
  });

  test('rows add up to the last line, and people to their group', () => {
    const people = [1, 2, 3].map((each) => row(`p${each}`, 100.4, 1.4));
    const groups = [
      row('a', 301.2, 4.2, 0, { people }),
      row(null, 700.4, 0.4, 0, { people: [row('x', 700.4, 0.4)] }),
    ];
    const { lines, used, idle } = usageLines(
      groups,
      total({ used_ms: 1001.6 * HOUR_MS, idle_ms: 4.6 * HOUR_MS, free_ms: 5000 * HOUR_MS }),
    );
    expect(sum(lines.map((line) => line.used))).toBe(used);
    expect(sum(lines.map((line) => line.idle))).toBe(idle);
    expect(sum(lines.map((line) => line.share))).toBe(1000);
    for (const line of lines)
      for (const kind of ['used', 'idle', 'share'] as const)
        expect(sum(line.people.map((person) => person[kind]))).toBe(line[kind]);
  });

  test('more than a quarter held idle, and more than a tenth left unused, is marked', () => {
    const rows = [row('even', 2000, 500, 200), row('much', 2000, 501, 201), row('little', 0, 0.001, 0.001)];
    const { lines } = usageLines(rows, total({ used_ms: 4000 * HOUR_MS, idle_ms: 1001 * HOUR_MS }));
    expect(lines.map(({ isIdle, isUnused }) => [isIdle, isUnused])).toEqual([
      [false, false],
      [true, true],
      [false, false],
    ]);
  });

  test('what is compared with nothing has no change', () => {
    expect([changeOf(109, 100), changeOf(89, 100), changeOf(5, 0), changeOf(5, null)]).toEqual([
      9,
      -11,
      null,
      null,
    ]);
  });
});

describe('the calendar of the board', () => {
  test('a month in which the clock goes back is an hour longer, and says so', () => {
    const october = asked('month=2026-10');
    expect(hoursIn(october, BERLIN)).toBe(745);
    expect(clockChanges(spanOfStretch(october, BERLIN), BERLIN)).toEqual([
      { day: day('2026-10-25'), seconds: -3600 },
    ]);
    expect(hoursIn(asked('month=2026-03'), BERLIN)).toBe(743);
    expect(clockChanges(spanOfStretch(asked('year=2026'), BERLIN), BERLIN)).toHaveLength(2);
    expect(clockChanges(spanOfStretch(asked('month=2026-11'), BERLIN), BERLIN)).toEqual([]);
    expect(hoursIn(october, 'UTC')).toBe(744);
  });

  test('a day whose midnight is left out begins as the board says it does', () => {
    // Clocks went from 24:00 to 01:00: Python reckons with the hour before.
    expect(beginOf(day('2024-09-08'), 'America/Santiago')).toBe(1725768000);
    expect(beginOf(day('2026-10-25'), BERLIN)).toBe(Date.UTC(2026, 9, 24, 22) / 1000);
    expect(beginOf(day('2026-10-26'), BERLIN)).toBe(Date.UTC(2026, 9, 25, 23) / 1000);
    expect(beginOf(day('2026-01-01'), 'Asia/Kolkata')).toBe(Date.UTC(2025, 11, 31, 18, 30) / 1000);
  });

  test('weeks begin on Monday and bear the number of ISO 8601', () => {
    for (const [date, name] of [
      ['2026-11-17', '2026-W47'],
      ['2027-01-01', '2026-W53'],
      ['2024-12-30', '2025-W01'],
      ['2026-01-01', '2026-W01'],
    ] as const) {
      const week = stretchOf('week', day(date));
      expect(nameOf(week)).toBe(name);
      expect(asked(`week=${name}`)).toEqual(week);
      expect(daysBetween(week.first, week.next)).toBe(7);
    }
  });

  test('what is shown is in the address, and the address shows it', () => {
    for (const text of [
      'week=2026-W42',
      'month=2026-10',
      'quarter=2026-Q4',
      'year=2026',
      'from=2026-10-03&to=2026-10-20',
    ]) {
      const found = Object.entries(queryOf(asked(text))).filter(([, value]) => value !== null) as string[][];
      expect(new URLSearchParams(found).toString()).toBe(text);
    }
  });

  test('an address that says nothing, or nonsense, is this month', () => {
    for (const text of [
      '',
      'month=2026-13',
      'week=2026-W54',
      'from=2026-02-30&to=2026-03-02',
      'from=2026-03-02&to=2026-03-01',
    ])
      expect(nameOf(asked(text))).toBe('2026-11');
  });

  test('of two days the end may be before the start, and that is said', () => {
    const reversed = (text: string) => reversedDays(new URLSearchParams(text));
    expect(reversed('from=2026-11-19&to=2026-11-01')).toEqual({
      from: day('2026-11-19'),
      to: day('2026-11-01'),
    });
    for (const text of ['', 'from=2026-11-01&to=2026-11-01', 'from=2026-11-19', 'from=x&to=2026-11-01'])
      expect(reversed(text)).toBeNull();
  });

  test('no address asks for more than the board counts at once', () => {
    const { first, next } = asked('from=0001-01-01&to=9999-12-31');
    expect(daysBetween(first, next)).toBe(732);
  });

  test('one leads to the next, over the end of the year too', () => {
    expect(nameOf(neighbour(asked('month=2026-12'), 1))).toBe('2027-01');
    expect(nameOf(neighbour(asked('quarter=2026-Q1'), -1))).toBe('2025-Q4');
    expect(queryOf(neighbour(asked('from=2026-10-03&to=2026-10-05'), -1))).toMatchObject({
      from: '2026-09-30',
      to: '2026-10-02',
    });
  });

  test('a month that goes on says how far it has come', () => {
    expect(soFar(asked('month=2026-11'), day('2026-11-17'))).toEqual({ day: 17, days: 30 });
    expect(soFar(asked('month=2026-10'), day('2026-11-17'))).toBeNull();
    expect(soFar(asked('month=2026-12'), day('2026-11-17'))).toBeNull();
  });

  test('two names of one clock are one clock', () => {
    const span = spanOfStretch(asked('month=2026-10'), 'UTC');
    expect(isSameClock('Etc/UTC', 'UTC', span)).toBe(true);
    expect(isSameClock('Europe/Berlin', 'Europe/Paris', span)).toBe(true);
    expect(isSameClock('Europe/Berlin', 'UTC', span)).toBe(false);
  });
});

test('whatever somebody is called, the address of their page is theirs', () => {
  for (const name of ['ana', 'a/b', '?q=1#x', 'ana@gpu01', '<b>', '%2e', '名前', '..a']) {
    const [path, query] = personPath(name);
    const url = new URL(path, 'http://board/sub/');
    expect([url.pathname, url.search, url.hash, query]).toEqual([
      `/sub/people/${encodeURIComponent(name)}`,
      '',
      '',
      {},
    ]);
  }
  // A path cannot hold these: the board shows their GPUs.
  for (const name of ['.', '..']) expect(personPath(name)[0]).toBe('');
});

test('who holds nothing now, and used some lately, is among people too; each is there once', () => {
  const mean = (hours: number, used: number | null) => ({ hours, used, reserved: null, trend: null });
  const windows = [2, 24].map((hours) => ({ hours, from: 0, to: 1 }));
  const people = [
    { name: 'Ana', group: null, means: [mean(2, 0), mean(24, 1.5)] },
    { name: 'ben', group: null, means: [mean(2, 0), mean(24, 0)] },
    { name: 'unknown', group: null, means: [mean(2, 1), mean(24, 1)] },
  ];
  const answer: UsageAveragesAnswer = { at: 0, windows, total: [], free: [], people };
  expect(withAbsent([], answer).map(({ user }) => user)).toEqual(['Ana']);
  const [ana] = withAbsent([], answer);
  expect(withAbsent([{ ...ana!, user: 'ana' }], answer)).toHaveLength(1);
  expect(meansOf(answer, 'ana')[1]!.used).toBe(1.5);
  // Of whom nothing was counted nothing is known: that is no zero.
  expect(meansOf(answer, 'new').map(({ used }) => used)).toEqual([null, null]);
});

test('from when it was counted is said where that is later or earlier than asked for', () => {
  const since = (from: number) => countedSince({ from, asked_from: 7200 });
  expect([since(7200), since(10_800), since(5400)]).toEqual([null, 10_800, 5400]);
});

test('less than a tenth of a GPU is not none', () => {
  const language = new Language('en', words);
  expect([0, 0.02, 0.05, 0.38].map((value) => tenthText(value, language))).toEqual([
    '0',
    '< 0.1',
    '0.1',
    '0.4',
  ]);
});

test('a sheet has room for so many rows: first people go, then those who used least', () => {
  const people = ['a', 'b', 'c'].map((name) => row(name, 100));
  const groups = [1, 2, 3].map((each) => row(`group ${each}`, 300, 0, 0, { people }));
  const { lines } = usageLines(groups, total({ used_ms: 900 * HOUR_MS, free_ms: 900 * HOUR_MS }));
  expect(fitting(lines, 12)).toEqual({ lines, left: [] });
  expect(fitting(lines, 11).lines.map((line) => line.people.length)).toEqual([0, 0, 0]);
  const cut = fitting(lines, 2);
  expect([cut.lines.length, cut.left.length]).toEqual([1, 2]);
});

test('what would be zeros alone has no row, be it of a person or of a group; the others add up as before', () => {
  const english = new Language('en', { ...words, ...usage });
  const little = { used_ms: 10 * 60_000 };
  const people = [row('ana', 4000), row('unknown', 0, 0, 0, little)];
  const rows = [
    row('a', 4000 + 1 / 6, 0, 0, { people }),
    row(null, 0, 0, 0, { ...little, people: [people[1]!] }),
    row('dan', 0, 0, 0, { reserved_ms: 3 * HOUR_MS, reserved_used_ms: 0 }),
  ];
  const whole = total({ used_ms: 4000 * HOUR_MS + 20 * 60_000 });
  const columns = columnsOf({ total: whole, rows, currency: null } as UsageAnswer, english, false);
  const lines = telling(usageLines(rows, whole).lines, columns);
  expect(lines.map(({ row: { name }, people: within }) => [name, within.length])).toEqual([
    ['a', 1],
    ['dan', 0],
  ]);
  expect(sum(lines.map(({ used }) => used))).toBe(usageLines(rows, whole).used);
});

test('what was booked has its columns where anything was, on paper too', () => {
  const english = new Language('en', { ...words, ...usage });
  const sums = total({ used_ms: 9000 * HOUR_MS });
  const answer = (rows: UsageRow[]) => ({ total: sums, rows, currency: null }) as unknown as UsageAnswer;
  const none = { reserved_ms: 0, reserved_used_ms: 0 };
  expect(columnsOf(answer([row('ana', 9), row('ben', 9, 0, 0, none)]), english, false)).toEqual([]);
  const some = row('ana', 9, 0, 0, { reserved_ms: 40 * HOUR_MS, reserved_used_ms: 10 * HOUR_MS });
  for (const paper of [false, true]) {
    const ben = row('ben', 9);
    const [booked, used] = columnsOf(answer([some, ben]), english, paper);
    expect([booked!.title, used!.title]).toEqual(['booked in all', 'of that used']);
    expect([booked!.write(some), used!.write(some), used!.write(ben)]).toEqual(['40', '10', '—']);
  }
});

test('in every column beside the kinds of time rows add up to the last line, and people to their group', () => {
  const english = new Language('en', { ...words, ...usage });
  let seed = 7;
  const random = (most: number) => (seed = (seed * 48_271) % 2_147_483_647) % most;
  const keys = ['reserved_ms', 'reserved_used_ms', 'weighted_ms', 'price', 'memory_gib_hours'] as const;
  const sums = (rows: UsageRow[]) =>
    Object.fromEntries(
      keys.map((key) => [key, Number(sum(rows.map((one) => one[key] ?? 0)).toFixed(4))]),
    ) as Record<(typeof keys)[number], number>;
  const figure = (text: string) => Math.round(100 * Number(text.replaceAll(',', '')));
  for (let round = 0; round < 40; round++) {
    const groups = Array.from({ length: 1 + random(6) }, (_, group) => {
      const people = Array.from({ length: random(5) }, (__, place) =>
        row(`p${group}-${place}`, random(100) / 7, random(9) / 7, 0, {
          reserved_ms: random(9 * HOUR_MS),
          reserved_used_ms: random(2 * HOUR_MS),
          weighted_ms: random(30 * HOUR_MS),
          price: random(100_000) / 10_000,
          memory_gib_hours: random(100_000) / 1000,
        }),
      );
      const [used_ms, idle_ms] = [
        sum(people.map((one) => one.used_ms)),
        sum(people.map((one) => one.idle_ms)),
      ];
      return row(`g${group}`, 0, 0, 0, { people, ...sums(people), used_ms, idle_ms });
    });
    const [used_ms, idle_ms] = [sum(groups.map((one) => one.used_ms)), sum(groups.map((one) => one.idle_ms))];
    const span = total({ used_ms, idle_ms, free_ms: (round % 2 ? 10 : 9000) * HOUR_MS });
    const answer = { total: { ...span, ...sums(groups) }, rows: groups, currency: null } as UsageAnswer;
    for (const { title, write, together } of columnsOf(answer, english, false)) {
      const whole = figure(write(answer.total));
      expect(sum(groups.map((one) => figure(write(one)))), title).toBe(whole);
      expect(figure(together(groups)), title).toBe(whole);
      for (const group of groups)
        expect(sum(group.people!.map((one) => figure(write(one)))), title).toBe(figure(write(group)));
    }
  }
});

test('a weight of 1 changes no figure, and weighted hours are told as finely as those used', () => {
  const english = new Language('en', { ...words, ...usage });
  const third = HOUR_MS / 3;
  const people = ['ana', 'ben', 'chen'].map((name) =>
    row(name, 1 / 3, 0.04, 0.04, { weighted_ms: third + 0.08 * HOUR_MS }),
  );
  const weighed = row('dora', 0.5, 0, 0, { weighted_ms: HOUR_MS });
  const rows = [...people, weighed];
  const parts = [1.5 * HOUR_MS, 0.12 * HOUR_MS, 0.12 * HOUR_MS];
  const sums = {
    ...total({ used_ms: parts[0]!, idle_ms: parts[1]!, booked_ms: parts[2]!, free_ms: HOUR_MS }),
    weighted_ms: sum(rows.map((one) => one.weighted_ms!)),
  };
  const [column] = columnsOf({ total: sums, rows, currency: null } as unknown as UsageAnswer, english, false);
  const { lines, used, idle, booked } = usageLines(rows, sums);
  for (const [place, each] of people.entries()) {
    const line = lines[place]!;
    expect(column!.write(each)).toBe((line.used + line.idle + line.booked).toFixed(1));
  }
  expect(column!.write(weighed)).toBe((lines[3]!.used + 0.5).toFixed(1));
  expect(column!.write(sums)).toBe((used + idle + booked + 0.5).toFixed(1));
});

test.each([
  ['2026-W44', 'W44 · Nov 1 · part of a week'],
  ['2026-W45', 'W45 · Nov 2 – 8'],
  ['2026-W49', 'W49 · Nov 30 · part of a week'],
])('of the week %s a month has: %s', (name, text) => {
  const november = asked('month=2026-11');
  const english = new Language('en', { ...words, ...usage });
  expect(rowName(name, 'week', november, english).replace(/\s/g, ' ')).toBe(text);
});

test('the head of the last column says with what its figures are compared: a week with the one before it', () => {
  const english = new Language('en', { ...words, ...usage });
  const year = { stretch: asked('year=2026'), soFar: { day: 323 } };
  expect(comparedText('week', year, english)).toBe('against the week before');
  expect(comparedText('person', year, english)).toBe('against 323 days before');
  const october = { stretch: asked('month=2026-10'), soFar: null };
  expect(comparedText('week', october, english)).toBe('against the week before');
  expect(comparedText('person', october, english)).toBe('since Sep');
});

test('hours that read alike look alike, and then none is the fullest', () => {
  const alike = shadesBetween(87.6, 88.4);
  expect([alike.differ, alike.of(87.6), alike.of(88.4)]).toEqual([false, 1, 1]);
  const unlike = shadesBetween(0, 88.4);
  expect([unlike.differ, unlike.of(0), unlike.of(87.6), unlike.of(44)]).toEqual([true, 0, 1, 0.5]);
});
