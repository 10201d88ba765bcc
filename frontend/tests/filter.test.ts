import { describe, expect, test } from 'vitest';
import { VERDICTS, type GpuRow } from '../src/api/wire';
import {
  chosenVerdicts,
  parseFilter,
  toggleTerm,
  toggleVerdict,
  wordTerm,
  type Facts,
} from '../src/state/filter';
import { factsFor, matches } from '../src/state/passing';
import { Fleet } from '../src/state/fleet.svelte';
import { cure, nearMisses } from '../src/state/hints';
import { LANGUAGES } from '../src/text/language.svelte';
import { gpu, node, snapshot, using } from './samples';

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
    expect(passes('user=dupont', { gpu: gpu({ users: using('dupont') }) })).toBe(true);
    expect(passes('user=dupont', { gpu: gpu({ users: using('dupond') }) })).toBe(false);
    expect(passes('an', { gpu: gpu({ users: using('ana') }) })).toBe(true);
    expect(
      passes('user:ana', {
        gpu: gpu({ claim: { who: 'ana', until: 1, comment: null, is_unverified: false, behind: [] } }),
      }),
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

  test('finds by a bare name who had it, waits for it, or was on it when its node fell silent', () => {
    const claim = { who: 'ana', until: 1, comment: null, is_unverified: false, behind: [] };
    const rows = [
      gpu({ ended_claim: claim }),
      gpu({ claim: { ...claim, who: 'bob', behind: [claim] } }),
      gpu({ verdict: 'stale', users: using('ana') }),
    ];
    expect(rows.map((row) => passes('ana', { gpu: row }))).toEqual([true, true, true]);
    // As the people page counts: what somebody has now.
    expect(rows.map((row) => passes('user:ana', { gpu: row }))).toEqual([false, false, false]);
  });

  test('a term that cannot be read takes nothing away', () => {
    expect(passes('is:banana')).toBe(true);
    expect(passes('busy is:banana')).toBe(false);
  });

  test('"me" is whom the viewer said they are, and nobody until then', () => {
    const mine = { gpu: gpu({ users: using('ana') }) };
    expect(passes('user:me', { ...mine, me: 'ana' })).toBe(true);
    expect(passes('user:me', mine)).toBe(false);
    expect(passes('user:me', { ...mine, me: 'Ana' })).toBe(true);
  });

  test('compares the use that is shown: the mean of the last minute', () => {
    const jumping = { utilization_percent: 0, utilization_minute_percent: 80 };
    const found = (change: Partial<GpuRow>) =>
      ['use>50', 'use<5'].map((text) => passes(text, { gpu: gpu({ ...jumping, ...change }) }));
    expect(found({ verdict: 'busy' })).toEqual([true, false]);
    expect(found({ verdict: 'free' })).toEqual([false, true]);
  });

  test('what is unknown fulfils no comparison, in either direction', () => {
    const dark = {
      gpu: gpu({
        memory_used_bytes: null,
        utilization_percent: null,
        utilization_minute_percent: null,
        since: null,
      }),
    };
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

  test('a model that was renamed is found by the name of the driver too', () => {
    const renamed = gpu({ model: 'Big Red', driver_model: 'AMD Instinct MI300X' });
    for (const name of ['model:mi300x', 'model:"big red"', 'instinct']) {
      expect(passes(name, { gpu: renamed })).toBe(true);
      expect(passes(name, { gpu: gpu({ model: 'H100', driver_model: 'NVIDIA H100 PCIe' }) })).toBe(false);
    }
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
    expect(passes('node:a.*', {})).toBe(false);
    expect(passes('node:"a.*["', {})).toBe(false);
  });

  test('a model is asked about by all that names it: none takes its answer from another', () => {
    const { terms } = parseFilter('model:h100');
    const test = (change: Partial<GpuRow>) =>
      terms[0]!.test({ gpu: gpu(change), node: node(), nodeFree: 0, now: 0, me: null });
    const asked = [
      { model: 'H100', driver_model: 'x,y' },
      { model: 'A10', driver_model: null },
      { model: 'H100', driver_model: 'x,y' },
      { model: 'A10', driver_model: 'NVIDIA H100' },
      { model: 'A10,NVIDIA H100', driver_model: null },
      { model: null, driver_model: null },
    ];
    expect(asked.map(test)).toEqual([true, false, true, true, true, false]);
  });
});

describe('the filter forgives', () => {
  test('a figure before GB is a size, not a part of a name', () => {
    const small = gpu({ model: 'RTX 4090', memory_total_bytes: 24 * GIB });
    expect(passes('gpus with 40 gb', { gpu: small })).toBe(false);
    expect(passes('40', { gpu: small })).toBe(true);
  });

  test.each([
    ['memory >= 40G', true],
    ['memory >= 90 GB', false],
    ['memory >= 40 GB free', true],
    ['memory ≥ 40', true],
    ['gpus with 40 gb', true],
    ['gpus with 90 gb', false],
    ['h100 80GB', true],
    ['Karten mit 48 GiB', true],
    ['not 40 gb', false],
    ['memory:24..48', false],
    ['memory:48..96', true],
    ['memory=48-96', true],
    ['memory:48..', true],
    ['memory:..48', false],
    ['memory:80,24', true],
    ['memory:>=90G', false],
    ['node=dgx-01', true],
    ['node = dgx-02', false],
    ['node!=dgx-01', false],
    ['node != dgx-02', true],
    ['model: h100', true],
    ['busy or free', true],
    ['busy oder idle', false],
    ['busy, free', true],
    ['busy or not idle', true],
    ['free and memory>=40G', true],
    ['not busy', true],
    ['not free', false],
    ['!free', false],
    ['nicht frei', false],
    ['model:a100 or free', true],
    ['node:dgx-02 or dgx-01', true],
    ['dgx-[01-04]', true],
    ['dgx-[02-04]', false],
    ['node:dgx-[1,01]', true],
    ['node:dg*-[01-04]', true],
    ['H100-80', true],
    ['h100_40', false],
    ['frei', true],
    ['libre', true],
    ['可用', true],
    ['occupe', false],
    ['en panne', false],
    ['is:frei', true],
    ['free>10min', true],
    ['free>1h', false],
    ['frei>=1', true],
    ['idle>1h', false],
    ['group:rack-a', true],
    ['group:rack-[1-2]', false],
    ['free or', true],
    ['"not"', true],
  ])('%j on a free H100: %s', (text, expected) => {
    const about = { node: node({ groups: ['rack-a', 'notes'] }) };
    expect(parseFilter(text).errors).toEqual([]);
    expect(passes(text, { ...about, gpu: gpu({ node: text === '"not"' ? 'not-01' : 'dgx-01' }) })).toBe(
      expected,
    );
  });

  test('every language says the verdicts, and a link in one works in all', async () => {
    for (const { load } of Object.values(LANGUAGES)) {
      const words = await load();
      for (const verdict of VERDICTS)
        for (const word of [words[verdict] as string, (words[verdict] as string).toUpperCase()]) {
          expect(passes(word, { gpu: gpu({ verdict }) }), word).toBe(true);
          expect(passes(word, { gpu: gpu({ verdict: verdict === 'busy' ? 'idle' : 'busy' }) }), word).toBe(
            false,
          );
        }
    }
  });

  test('idle>1h is idle, and for so long', () => {
    const idle = (since: number) => ({ gpu: gpu({ verdict: 'idle', since }), now: 10_000 });
    expect(passes('idle>1h', idle(5000))).toBe(true);
    expect(passes('untätig > 1 h', idle(5000))).toBe(true);
    expect(passes('idle>1h', idle(9000))).toBe(false);
    expect(passes('idle>1h', { gpu: gpu({ verdict: 'busy', since: 0 }), now: 10_000 })).toBe(false);
  });

  test.each([
    ['gpus>=4', 'unknownKey', 'free>=4'],
    ['gpus=4', 'unknownKey', 'free>=4'],
    ['vram>40', 'unknownKey', 'memory>40'],
    ['host:dgx-01', 'unknownKey', 'node:dgx-01'],
    ['modle:h100', 'unknownKey', 'model:h100'],
    ['Speicher >= 40G', 'unknownKey', 'memory>=40G'],
    ['colour:red', 'unknownKey', null],
    ['memory>=lots', 'badNumber', 'memory>=40G'],
    ['since>2hours', 'badNumber', 'since>2h'],
    ['idle>', 'badNumber', 'idle>1h'],
    ['gebucht>=', 'badNumber', 'gebucht>=1h'],
    ['free>', 'badNumber', 'free>4'],
    ['-', 'noWord', null],
    ['!', 'noWord', null],
    ['not', 'noWord', null],
    ['((', 'noWord', null],
    ['is:available', 'badWord', 'is:free'],
    ['is:buzy', 'badWord', 'is:busy'],
    ['user>ana', 'badSign', 'user:ana'],
    ['gpu[01-', 'badRange', 'gpu[01]'],
    ['node:gpu[3-1]', 'badRange', 'node:gpu[1-3]'],
    ['model:"rtx', 'openQuote', 'model:"rtx"'],
  ])('%j is named as %s, takes nothing away, and is cured by %j', (text, code, cured) => {
    const { errors } = parseFilter(text);
    expect(errors.map((error) => error.code)).toEqual([code]);
    if (code !== 'openQuote') expect(passes(text)).toBe(true);
    expect(cure(`free ${text}`, parseFilter(`free ${text}`).errors[0]!)).toBe(cured && `free ${cured}`);
  });

  test('a size without a word is one of memory', () => {
    expect(cure('>=40G', parseFilter('>=40G').errors[0]!)).toBe('memory>=40G');
  });

  test('a word that is half typed takes nothing away', () => {
    for (const text of ['user:', 'model:', 'is:', 'node:', 'free,']) {
      expect(parseFilter(text).errors, text).toEqual([]);
      expect(passes(text), text).toBe(true);
    }
  });

  test('enough free ones are those that fit the rest, whoever is on this one', () => {
    const fleet = new Fleet();
    const small = { memory_total_bytes: 24 * GIB };
    const mixed = [0, 1, 2, 3].map((index) =>
      gpu({ uuid: `m${index}`, node: 'mixed', index, label: `${index}`, ...(index > 1 ? small : {}) }),
    );
    const large = [0, 1, 2, 3].map((index) =>
      gpu({ uuid: `l${index}`, node: 'large', index, label: `${index}`, verdict: index ? 'free' : 'busy' }),
    );
    fleet.queue(snapshot([node({ name: 'mixed' }), node({ name: 'large' })], [...mixed, ...large]));
    fleet.flush();
    const found = (text: string) => {
      const filter = parseFilter(text);
      const factsOf = factsFor(filter, 0, null);
      return [...fleet.nodes.values()].flatMap((node) =>
        node.gpus.filter((gpu) => matches(filter, factsOf(gpu, node))).map((gpu) => gpu.record.uuid),
      );
    };
    expect(found('free>=3 memory>=40G free')).toEqual(['l1', 'l2', 'l3']);
    expect(found('free>=4')).toEqual(['m0', 'm1', 'm2', 'm3']);
    expect(found('free>=3 memory>=40G busy')).toEqual(['l0']);
  });

  test('a long text of nothing is read at once', () => {
    for (const text of [' '.repeat(50_000), 'a'.repeat(50_000), '['.repeat(20_000), '1 '.repeat(20_000)])
      expect(parseFilter(`${text}=`).terms.length).toBeLessThan(20_001);
  });
});

describe('what was nearly found', () => {
  const fleet = new Fleet();
  fleet.queue(
    snapshot(
      ['nlp-41', 'nlp-42', 'dgx-01', 'dgx-02'].map((name) => node({ name, groups: ['rack-a'] })),
      ['nlp-41', 'nlp-42', 'dgx-01', 'dgx-02'].map((name, place) =>
        gpu({ uuid: name, node: name, users: place ? [] : using('dupont') }),
      ),
    ),
  );
  fleet.flush();
  test.each([
    ['node:nlp-0042', ['node:nlp-42']],
    ['free nlp-042', ['free node:nlp-42']],
    ['dgx-0[12]', ['dgx-0[1,2]']],
    ['user:dupond', ['user:"dupont"']],
    ['user dupont', ['user:dupont']],
    ['idle Nutzer dupont', ['idle user:dupont']],
    ['group:racka', ['group:rack-a']],
    ['fre memory>=40G', ['memory>=40G free']],
    ['available', ['free']],
    ['node:dgx-01 busy', []],
    ['node:entirely-else', []],
  ])('%j: %j', (text, expected) => {
    expect(nearMisses(text, fleet.nodes.values(), null).map((near) => near.text)).toEqual(expected);
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
    expect([...chosenVerdicts('frei or inactif dgx')]).toEqual(['free', 'idle']);
  });

  test('a term goes in and out again', () => {
    expect(toggleTerm('free', 'model:h100')).toBe('free model:h100');
    expect(toggleTerm('free model:h100', 'model:h100')).toBe('free');
    expect(toggleTerm('free memory >= 40 GB', 'memory>=40GB')).toBe('free');
  });
});
