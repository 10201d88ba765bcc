import { describe, expect, test } from 'vitest';
import {
  chosenVerdicts,
  matches,
  parseFilter,
  toggleTerm,
  toggleVerdict,
  wordTerm,
  type Facts,
} from '../src/state/filter';
import { gpu, node, using } from './samples';

const GIB = 2 ** 30;

function facts(change: Partial<Facts> = {}): Facts {
  return { gpu: gpu(), node: node(), nodeFree: 1, now: 2000, me: null, ...change };
}

function passes(text: string, change: Partial<Facts> = {}): boolean {
  return matches(parseFilter(text), facts(change));
}

describe('the filter', () => {
  test.each([
    ['', true],
    ['free', true],
    ['busy', false],
    ['free,busy', true],
    ['-busy', true],
    ['-free', false],
    ['is:free', true],
    ['is:busy,free', true],
    ['dgx', true],
    ['nlp', false],
    ['H1', true],
    ['node:dgx', false],
    ['node:dgx-01', true],
    ['node:dgx-*', true],
    ['node:*-02', false],
    ['model:h100', true],
    ['model:a100,h100', true],
    ['memory>=40G', true],
    ['mem>=90G', false],
    ['memory>=40', true],
    ['memory>40960M', true],
    ['use<5', true],
    ['temperature>80', false],
    ['temp=40', true],
    ['power<100W', true],
    ['since>10m', true],
    ['since>1h', false],
    ['free>=2', false],
    ['free>=1', true],
    ['free model:h100 memory>=40G node:dgx-0*', true],
    ['free nothing-like-this', false],
    ['"dgx-01"', true],
  ])('%j on a free H100: %s', (text, expected) => {
    expect(parseFilter(text).errors).toEqual([]);
    expect(passes(text)).toBe(expected);
  });

  test('finds people by their processes and by their claim', () => {
    expect(passes('user:ana', { gpu: gpu({ users: using('bob', 'ana') }) })).toBe(true);
    expect(passes('user:na', { gpu: gpu({ users: using('ana') }) })).toBe(false);
    expect(passes('an', { gpu: gpu({ users: using('ana') }) })).toBe(true);
    expect(
      passes('user:ana', { gpu: gpu({ claim: { who: 'ana', until: 1, comment: null, behind: [] } }) }),
    ).toBe(true);
    expect(passes('user:ana', { gpu: gpu({ users: null }) })).toBe(false);
  });

  test('finds people by every name that their row has', () => {
    const dmitri = using('Дмитрий Иванов')!.map((use) => ({ ...use, user: 'dmitri' }));
    for (const text of ['user:dmitri', 'dmitri', 'user:дмитрий', 'user:ИВАНОВ', 'user:"Дмитрий Иванов"'])
      expect(passes(text, { gpu: gpu({ users: dmitri }) }), text).toBe(true);
    expect(passes('user:"Дмитрий"', { gpu: gpu({ users: dmitri }) })).toBe(false);
  });

  test('finds people by the beginning of a word of their name, by all of it in quotes', () => {
    const long = { gpu: gpu({ users: using('Maximiliane von Hohenberg-Lindau') }) };
    for (const text of ['user:maximiliane', 'user:max', 'user:lindau', 'user:von,bob', '-user:liane'])
      expect(passes(text, long), text).toBe(true);
    expect(passes('user:lin', { gpu: gpu({ users: using('linda') }) })).toBe(true);
    expect(passes(wordTerm('user', 'lin'), { gpu: gpu({ users: using('linda') }) })).toBe(false);
    expect(passes(wordTerm('user', 'lin'), { gpu: gpu({ users: using('Lin') }) })).toBe(true);
  });

  test('finds whose booking has ended, and who waits behind one', () => {
    const claim = { who: 'ana', until: 1, comment: null, behind: [] };
    expect(passes('user:ana', { gpu: gpu({ ended_claim: claim }) })).toBe(true);
    const behind = { ...claim, who: 'bob', behind: [claim] };
    expect(passes('user:ana', { gpu: gpu({ claim: behind }) })).toBe(true);
  });

  test('a term that cannot be read takes nothing away', () => {
    expect(passes('is:banana')).toBe(true);
    expect(passes('busy is:banana')).toBe(false);
  });

  test('"me" is whom the viewer said they are, and nobody until then', () => {
    const mine = { gpu: gpu({ users: using('ana') }) };
    expect(passes('user:me', { ...mine, me: 'ana' })).toBe(true);
    expect(passes('user:me', mine)).toBe(false);
  });

  test('what is unknown fulfils no comparison, in either direction', () => {
    const dark = { gpu: gpu({ memory_used_bytes: null, utilization_percent: null, since: null }) };
    for (const text of ['memory_free>=0', 'memory_free<9999', 'use<5', 'use>=0', 'since>0s'])
      expect(passes(text, dark)).toBe(false);
  });

  test('memory is the size of the card, memory_free what is left', () => {
    expect(passes('memory>=40G', { gpu: gpu({ memory_used_bytes: 60 * GIB }) })).toBe(true);
    expect(passes('memory_free>=40G', { gpu: gpu({ memory_used_bytes: 60 * GIB }) })).toBe(false);
  });

  test('quotes keep spaces together', () => {
    expect(passes('model:"rtx 4090"', { gpu: gpu({ model: 'RTX 4090' }) })).toBe(true);
    expect(passes('model:"h100 80 GB"', { gpu: gpu({ model: 'H100 80G' }) })).toBe(true);
    expect(passes('model:"rtx 3090"', { gpu: gpu({ model: 'RTX 4090' }) })).toBe(false);
  });

  test('flags are found like verdicts', () => {
    expect(passes('is:hot', { gpu: gpu({ flags: ['hot'] }) })).toBe(true);
    expect(passes('is:orphaned-memory', { gpu: gpu({ flags: ['orphaned_memory'] }) })).toBe(true);
  });

  test.each([
    ['colour:red', 'unknownKey'],
    ['constructor:red', 'unknownKey'],
    ['valueOf>3', 'unknownKey'],
    ['size>3', 'unknownKey'],
    ['memory>=lots', 'badNumber'],
    ['use<', 'badNumber'],
    ['is:purple', 'badWord'],
    ['model:"rtx', 'openQuote'],
  ])('%j is named as %s', (text, code) => {
    expect(parseFilter(text).errors.map((error) => error.code)).toContain(code);
  });

  test('text from outside never becomes a pattern of its own', () => {
    expect(passes('node:(((', {})).toBe(false);
    expect(passes('node:a.*[', {})).toBe(false);
  });
});

describe('the chips', () => {
  test('write the same words a person would', () => {
    expect(toggleVerdict('', 'free')).toBe('free');
    expect(toggleVerdict('free model:h100', 'idle')).toBe('free,idle model:h100');
    expect(toggleVerdict('free,idle model:h100', 'free')).toBe('idle model:h100');
    expect(toggleVerdict('free,idle model:h100', null)).toBe('model:h100');
  });

  test('read what a person wrote', () => {
    expect([...chosenVerdicts('is:free,busy dgx')]).toEqual(['free', 'busy']);
    expect([...chosenVerdicts('-free')]).toEqual([]);
  });

  test('a term goes in and out again', () => {
    expect(toggleTerm('free', 'model:h100')).toBe('free model:h100');
    expect(toggleTerm('free model:h100', 'model:h100')).toBe('free');
  });
});
