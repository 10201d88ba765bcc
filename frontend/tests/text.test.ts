import { describe, expect, test } from 'vitest';
import { en, type Key } from '../src/text/en';
import { chooseLanguage, Language, LANGUAGES, type Tag } from '../src/text/language.svelte';
import { reasonText } from '../src/text/reasons';

const tags = Object.keys(LANGUAGES) as Tag[];

function holes(entry: string | { one?: string; other: string }): string {
  const text = typeof entry === 'string' ? entry : entry.other;
  return [...new Set(text.match(/\{\w+\}/g) ?? [])].sort().join(' ');
}

describe.each(tags)('%s', (tag) => {
  test('has the same sentences with the same holes as English', async () => {
    const words = await LANGUAGES[tag].load();
    expect(Object.keys(words).sort()).toEqual(Object.keys(en).sort());
    for (const key of Object.keys(en) as Key[])
      expect([key, holes(words[key])]).toEqual([key, holes(en[key])]);
  });

  test('leaves no hole open when it says how long and how much', async () => {
    const language = new Language(tag, await LANGUAGES[tag].load());
    for (const seconds of [0, 59, 61, 3600, 6000, 90_000, 1e6])
      expect(language.duration(seconds)).not.toMatch(/[{}]/);
    expect(language.memory(80 * 2 ** 30)).toMatch(/^80 GiB$/);
  });
});

describe('the language', () => {
  test.each([
    [['fr-CA', 'en'], 'fr'],
    [['zh-Hant-TW'], 'zh-TW'],
    [['zh-CN'], 'zh-TW'],
    [['ja', 'de-AT'], 'de'],
    [['ja'], 'en'],
    [[], 'en'],
  ])('for a viewer who reads %j is %s', (wanted, tag) => {
    expect(chooseLanguage(wanted)).toBe(tag);
  });

  test('counts one and many', () => {
    const language = new Language('en', en);
    expect(language.say('gpus', { count: 1 })).toBe('1 GPU');
    expect(language.say('gpus', { count: 1200 })).toBe('1,200 GPUs');
  });

  test('what cannot be told is a dash, never zero', () => {
    const { number, memory, duration, decimal } = new Language('en', en);
    for (const write of [number, memory, duration, decimal]) expect(write(null)).toBe('—');
    expect(decimal(-0.0002)).toBe('0');
  });
});

describe('a reason', () => {
  const language = new Language('en', en);
  const say = (code: string, values: Record<string, unknown> = {}, since: number | null = null) =>
    reasonText({ code, values, text: 'as the board says' }, 10_000, language, since);

  test('is said in the words of the viewer', () => {
    expect(say('idle', { users: ['ana', 'bob'], memory_bytes: 22 * 2 ** 30, seconds: 10_800 })).toBe(
      '22 GiB held by ana and bob, no work for 3 h.',
    );
    expect(say('xid', { xid: 79 })).toBe('The driver reported XID 79.');
    expect(say('error', { detail: 'no such host' })).toContain('no such host');
  });

  test('does not name people who are hidden', () => {
    expect(say('idle', { memory_bytes: 2 ** 30, seconds: 3600 })).toBe('1 GiB held, no work for 1 h.');
    expect(say('booked', { until: 12_000 })).toMatch(/^Booked until/);
  });

  test('keeps the English of the board where a word or a value is missing', () => {
    expect(say('melted')).toBe('as the board says');
    expect(say('xid')).toBe('as the board says');
    expect(say('memory', { bytes: 5 })).toBe('as the board says');
  });

  test('grows older than the message that brought it', () => {
    expect(say('lost', { seconds: 60 }, 10_000 - 7200)).toContain('2 h');
  });

  test('cannot smuggle in other sentences through its values', () => {
    expect(say('process', { users: ['{time}', '<b>x</b>'] })).toContain('<b>x</b>');
  });
});
