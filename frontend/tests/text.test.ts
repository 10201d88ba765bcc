import { describe, expect, test } from 'vitest';
import { words as en } from '../src/text/en/words';
import { more } from '../src/text/en/more';
import { past } from '../src/text/en/past';
import { account } from '../src/text/en/account';
import { bookings } from '../src/text/en/bookings';
import { usage } from '../src/text/en/usage';
import { chooseLanguage, Language, LANGUAGES, type Tag } from '../src/text/language.svelte';
import { LATER } from '../src/text/later';
import { clockText, problemLine, problemText, reasonText } from '../src/text/reasons';
import { partText, remedyText } from '../src/text/remedy';

const english = { ...en, ...more, ...past, ...account, ...bookings, ...usage };
const tags = Object.keys(LANGUAGES) as Tag[];

function holes(entry: string | { one?: string; other: string }): string {
  const text = typeof entry === 'string' ? entry : entry.other;
  return [...new Set(text.match(/\{\w+\}/g) ?? [])].sort().join(' ');
}

test('what follows a colon goes on small in French, with the space before the sign; Chinese has its own signs', async () => {
  const { remedies } = LATER.fr;
  const own = Object.values(await remedies());
  expect(own.filter((text) => /^\p{Lu}/u.test(text!))).toEqual([]);
  const lost = { kind: 'gpu-lost', text: '', detail: null, gpu_uuid: 'GPU-6', place: 'GPU 6' } as never;
  const line = async (tag: Tag) => {
    const words = { ...(await LANGUAGES[tag].load()), ...(await LATER[tag].trouble()) };
    return problemLine(lost, { record: {} as never, gpus: [] }, new Language(tag, words));
  };
  expect(await line('fr')).toBe('GPU 6\u00a0: Disparu du bus');
  expect(await line('zh-CN')).toMatch(/^GPU 6：/);
  for (const tag of ['zh-CN', 'zh-TW'] as const) {
    const { idleExplained } = await LATER[tag].more();
    expect(idleExplained).toMatch(/。$/);
  }
});

test('simplified Chinese counts GPUs with one word', async () => {
  const all = JSON.stringify([await LANGUAGES['zh-CN'].load(), await LATER['zh-CN'].more()]);
  expect(all.match(/.{0,9}(\} ?块|块 ?GPU|每块)/g)).toBeNull();
});

test('French never begins a line with a sign', async () => {
  const { load } = LANGUAGES.fr;
  const { more, trouble, remedies } = LATER.fr;
  const all = JSON.stringify([await load(), await more(), await trouble(), await remedies()]);
  expect(all.match(/.{9} [:;?!»]|« .{9}/g)).toBeNull();
  expect(all.match(/\u00a0[:;?!»]|«\u00a0/g)!.length).toBeGreaterThan(100);
});

describe.each(tags)('%s', (tag) => {
  test('has the same sentences with the same holes as English', async () => {
    const first = await LANGUAGES[tag].load();
    expect(Object.keys(first).sort()).toEqual(Object.keys(en).sort());
    const words = { ...first, ...(await LATER[tag].more()) };
    expect(Object.keys(words).sort()).toEqual(Object.keys(english).sort());
    for (const key of Object.keys(english) as (keyof typeof english)[])
      expect([key, holes(words[key])]).toEqual([key, holes(english[key])]);
  });

  test('calls nothing free of a time that is over', async () => {
    const words = { ...(await LANGUAGES[tag].load()), ...(await LATER[tag].more()) };
    type Known = keyof typeof words;
    const present = new Language(tag, words);
    const past = new Language(tag, words, () => true);
    const keys = Object.keys(words) as Known[];
    // Explanations, names of keys, kinds of time, what is only said of the past, what is not said of old data, and what nobody knows hold at any time.
    const timeless =
      /^(was_|past_|usage_free|about_|word_|key_|sort_|searchHint|totalsSpoken|freeUnknown|freshExplained|deadParent|error_)/;
    const free = {
      en: /\bfreed?\b(?! the)/,
      de: /\bfrei\b/,
      fr: /\blib(re|éré)s?\b/,
      'zh-TW': /可用|釋出/,
      'zh-CN': /可用|释放/,
    }[tag];
    const offering = keys.filter((key) => !timeless.test(key) && free.test(present.say(key, { count: 1 })));
    expect(offering).toContain('free');
    const pastOf = (key: Known) => `was_${key}` as Known;
    expect(offering.filter((key) => !keys.includes(pastOf(key)))).toEqual([]);
    for (const key of keys.filter((each) => keys.includes(pastOf(each)))) {
      expect([key, holes(words[pastOf(key)])]).toEqual([key, holes(words[key])]);
      for (const count of [1, 2]) expect(past.say(key, { count })).not.toBe(present.say(key, { count }));
    }
  });

  test('leaves no hole open when it says how long and how much', async () => {
    const language = new Language(tag, await LANGUAGES[tag].load());
    for (const seconds of [0, 59, 61, 3600, 6000, 90_000, 1e6])
      expect(language.duration(seconds)).not.toMatch(/[{}]/);
    expect(language.memory(80 * 2 ** 30)).toMatch(/^80 GB$/);
  });

  test('learns the words of what opens later when it opens', async () => {
    const language = new Language(tag, await LANGUAGES[tag].load());
    expect(language.knows('help')).toBe(false);
    await language.complete();
    expect(language.knows('help') && language.knows('free')).toBe(true);
  });
});

// Whatever the board draws before anything is opened has only the first words.
test('no word has two meanings: what comes later takes no key of what is here', () => {
  expect(Object.keys(more).filter((key) => key in en)).toEqual([]);
});

test('nothing that comes with the board says a word that comes later', () => {
  const sources = import.meta.glob<string>('../src/**/*.{ts,svelte}', {
    query: '?raw',
    import: 'default',
    eager: true,
  });
  const reached = new Set<string>();
  const follow = (path: string) => {
    const source = sources[path];
    if (source === undefined || reached.has(path)) return;
    reached.add(path);
    for (const [, from] of source.matchAll(/^\s*(?:import|export) (?!type)[^;]*?from '(\.[^']+)'/gm)) {
      const { pathname } = new URL(from!, `file:///${path.slice(3)}`);
      for (const ending of ['', '.ts']) follow(`..${pathname}${ending}`);
    }
  };
  follow('../src/main.ts');
  expect(reached).toContain('../src/pages/board/Answer.svelte');
  const said = [...reached].flatMap((path) =>
    [...sources[path]!.matchAll(/say\(\s*'([\w-]+)'/g)].map(([, key]) => key!),
  );
  expect(said.filter((key) => !(key in en))).toEqual([]);
});

test.each([
  ['de', /(?<=[\p{Ll},;:] )(Sie|Ihr\p{Ll}*|Ihnen)\b|\bSie (dürfen|haben|sind|können)\b/u],
  ['zh-CN', /您/],
  ['zh-TW', /您/],
])('%s calls whoever looks by one word everywhere', (tag, formal) => {
  const texts = import.meta.glob<string>('../src/text/*/*.ts', {
    query: '?raw',
    import: 'default',
    eager: true,
  });
  const own = Object.entries(texts).filter(([path]) => path.includes(`/${tag}/`));
  expect(own.length).toBeGreaterThan(5);
  const lines = own.flatMap(([, text]) => text.split('\n')).filter((line) => formal.test(line));
  expect(lines).toEqual([]);
});

describe('the language', () => {
  test.each([
    [['fr-CA', 'en'], 'fr'],
    [['zh-Hant-TW'], 'zh-TW'],
    [['zh-CN'], 'zh-CN'],
    [['zh-SG'], 'zh-CN'],
    [['zh-Hans-TW'], 'zh-CN'],
    [['zh'], 'zh-CN'],
    [['zh-HK', 'en'], 'zh-TW'],
    [['zh-TW'], 'zh-TW'],
    [['ja', 'de-AT'], 'de'],
    [['ja'], 'en'],
    [[], 'en'],
  ])('for a viewer who reads %j is %s', (wanted, tag) => {
    expect(chooseLanguage(wanted)).toBe(tag);
  });

  test('counts one and many', () => {
    const language = new Language('en', english);
    expect(language.say('gpus', { count: 1 })).toBe('1 GPU');
    expect(language.say('gpus', { count: 1200 })).toBe('1,200 GPUs');
  });

  test('names another day, also to the second', () => {
    const { exactTime, moment } = new Language('en', english);
    expect(moment(86_400 * 3)).toMatch(/Jan.* 1970, \d\d:\d\d:\d\d$/);
    expect(exactTime(86_400 * 3, 86_400 * 3 + 1)).toMatch(/^\d\d:\d\d:\d\d$/);
    expect(exactTime(86_400 * 3, 86_400 * 9)).toMatch(/Jan.* \d\d:\d\d:\d\d$/);
  });

  test('what ends at midnight ends with the day before', () => {
    const { shortEnd } = new Language('en', english);
    const at = (day: number, hours = 0) => new Date(2026, 10, day, hours).getTime() / 1000;
    // The 18th is a Wednesday.
    expect(shortEnd(at(18), at(16, 12))).toBe('Tue');
    expect(shortEnd(at(18, 9), at(16, 12))).toBe('Wed');
    expect(shortEnd(at(17), at(16, 12))).toBe('23:59');
    expect(shortEnd(at(16, 18), at(16, 12))).toBe('18:00');
  });

  test('what cannot be told is a dash, never zero', () => {
    const { number, memory, duration, decimal } = new Language('en', english);
    for (const write of [number, memory, duration, decimal]) expect(write(null)).toBe('—');
    expect(decimal(-0.0002)).toBe('0');
  });
});

describe('a reason', () => {
  const language = new Language('en', english);
  const say = (code: string, values: Record<string, unknown> = {}, since: number | null = null) =>
    reasonText({ code, values, text: 'as the board says' }, 10_000, language, since);

  test('is said in the words of the viewer', () => {
    expect(say('idle', { users: ['ana', 'bob'], memory_bytes: 22 * 2 ** 30, seconds: 10_800 })).toBe(
      '22 GB held by ana and bob, no work for 3 h.',
    );
    expect(say('error', { detail: 'no such host' })).toContain('no such host');
  });

  test('does not name people who are hidden', () => {
    expect(say('memory', { memory_bytes: 2 ** 30 })).toBe('1 GB held.');
    expect(say('idle', { memory_bytes: 2 ** 30, seconds: 3600 })).toBe('1 GB held, no work for 1 h.');
    expect(say('booked', { until: 12_000 })).toMatch(/^Booked until/);
  });

  test('keeps the English of the board where a word or a value is missing', () => {
    expect(say('melted')).toBe('as the board says');
    expect(say('utilization')).toBe('as the board says');
  });

  test('grows older than the message that brought it', () => {
    expect(say('lost', { seconds: 60 }, 10_000 - 7200)).toContain('2 h');
  });

  test('cannot smuggle in other sentences through its values', () => {
    expect(say('process', { users: ['{time}', '<b>x</b>'] })).toContain('<b>x</b>');
  });
});

describe('a problem of a node', () => {
  const others = tags.filter((tag) => tag !== 'en');
  const documented = Object.values(
    import.meta.glob<string>('../../docs/reference/problems.md', {
      query: '?raw',
      import: 'default',
      eager: true,
    }),
  ).flatMap((page) => [...page.matchAll(/^## ([\w-]+)/gm)].map(([, kind]) => kind!));
  // Their sentences name nodes and sources in the middle.
  const namesInside = ['duplicate-gpu', 'duplicate-node'];
  const problem = (kind: string, text: string, detail: string | null = null) => ({
    kind,
    text: detail === null ? text : `${text}: ${detail}`,
    detail,
    remedy: 'as the node says',
    gpu_uuid: null,
    place: null,
    since: null,
  });
  const inGerman = async () => {
    const language = new Language('de', await LANGUAGES.de.load());
    await language.learn('trouble');
    await language.learn('remedies');
    return language;
  };

  test.each(others)('has words and a remedy in %s, for every documented kind', async (tag) => {
    const every = async (spoken: Tag) => ({
      ...(await LATER[spoken].trouble()),
      ...(await LATER[spoken].remedies()),
    });
    const words = await every(tag);
    expect(documented.length).toBeGreaterThan(15);
    const wanted = documented.flatMap((kind) =>
      namesInside.includes(kind) ? [`remedy_${kind}`] : [`problem_${kind}`, `remedy_${kind}`],
    );
    expect(wanted.filter((key) => !(key in words))).toEqual([]);
    expect(Object.keys(words).sort()).toEqual(Object.keys(await every('de')).sort());
  });

  test('keeps the names and numbers of the node', async () => {
    const language = await inGerman();
    const hung = problem('driver-hung', 'the driver (535.1) does not answer', 'nvidia-smi: did not end');
    expect(problemText(hung, language)).toBe('Der Treiber antwortet nicht: nvidia-smi: did not end');
    const lost = problem('gpu-lost', 'the GPU has fallen off the bus: so the driver says');
    expect(problemText(lost, language)).toBe('Vom Bus gefallen');
    expect(remedyText(lost, language)).toMatch(/^Neu starten/);
  });

  test('keeps the words of the node where we have none', async () => {
    const language = await inGerman();
    expect(problemText(problem('on-fire', 'it burns: badly'), language)).toBe('it burns: badly');
    expect(remedyText(problem('on-fire', ''), language)).toBe('as the node says');
    const spoken = new Language('en', english);
    await spoken.learn('trouble');
    expect(problemText(problem('driver-hung', 'the driver does not answer'), spoken)).toBe(
      'the driver does not answer',
    );
  });

  test('of a clock is told from its offset, in every language and as on the page of its node', async () => {
    const wrong = problem('clock-off', "the node's clock is wrong", "2h 59m ahead of the board's");
    const german = await inGerman();
    expect(problemText(wrong, german, 10_799)).toBe(
      'Die Uhr des Knotens geht falsch: 2\u00a0h\u00a059 vor der Tafel',
    );
    const spoken = new Language('en', english);
    expect(problemText(wrong, spoken, -7200)).toBe("the node's clock is wrong: 2 h behind the board");
    expect(clockText(-7200, spoken)).toBe('2 h behind the board');
  });

  test('cannot fill in holes of its own', async () => {
    const hung = problem('driver-hung', 'the driver does not answer', '{count} {time}');
    expect(problemText(hung, await inGerman())).toContain(': {count} {time}');
  });

  test('is said in the new language after a change of language', async () => {
    const language = await inGerman();
    await language.change('fr');
    expect(problemText(problem('driver-hung', ''), language)).toBe('Le pilote ne répond pas');
    await language.change('en');
    expect(language.knows('problem_driver-hung')).toBe(false);
  });

  test('of a GPU is said as the problem that it is, with its detail', async () => {
    const reason = { code: 'xid', values: { remedy: 'x', detail: 'Xid 79' }, text: 'the driver …: Xid 79' };
    expect(reasonText(reason, 0, await inGerman())).toBe(
      'Der Treiber hat einen Fehler der GPU gemeldet: Xid 79',
    );
  });

  test('of an older agent, which says in the detail which GPU it is, is shown as it is', () => {
    const detail = 'GPU 2 (GPU-2b): no answer';
    const reason = { code: 'gpu-lost', values: { detail }, text: `fallen off the bus: ${detail}` };
    expect(reasonText(reason, 0, new Language('en', english))).toBe(`fallen off the bus: ${detail}`);
  });

  test('of a part of the board is said in the words of the viewer, and exactly to who sees names', async () => {
    const part = {
      component: 'storage',
      kind: 'storage',
      name: null as string | null,
      state: 'trouble' as const,
      nodes: null,
      code: 'storage',
      reason: 'the state directory cannot be used',
      since: 0,
    };
    const language = await inGerman();
    expect(partText(part, 0, language)).toBe('Die Datenbank der Tafel ist nicht benutzbar.');
    const exact = { ...part, name: '/var/lib/gpuboard', reason: '/var/lib/gpuboard: read-only' };
    expect(partText(exact, 0, language)).toBe(
      'Die Datenbank der Tafel ist nicht benutzbar. (/var/lib/gpuboard: read-only)',
    );
    expect(partText(exact, 0, new Language('en', english))).toBe('/var/lib/gpuboard: read-only');
  });

  test('of a source is said in short', async () => {
    const reason = {
      code: 'auth-failed',
      values: { remedy: 'x' },
      text: 'gpu-7 refused the login of ana; x',
    };
    expect(reasonText(reason, 0, await inGerman())).toBe('Der Knoten lässt die Tafel nicht hinein.');
  });
});
