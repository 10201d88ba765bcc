import { describe, expect, test } from 'vitest';
import { facets, type FacetKey } from '../src/state/facets';
import { Fleet } from '../src/state/fleet.svelte';
import { places } from '../src/state/jump';
import { people } from '../src/state/people';
import { gpu, node, snapshot, using } from './samples';

const GIB = 2 ** 30;
const fleet = new Fleet();
fleet.queue(
  snapshot(
    [
      node({ name: 'dgx-01', groups: ['rack-a'] }),
      node({ name: 'dgx-02', groups: ['rack-a'] }),
      node({ name: 'nlp-7', display_name: 'Old one' }),
    ],
    [
      gpu({ uuid: 'GPU-aaaaaa1', node: 'dgx-01', label: '0' }),
      gpu({ uuid: 'GPU-aaaaaa2', node: 'dgx-01', label: '1', verdict: 'busy', users: using('ana') }),
      gpu({ uuid: 'GPU-aaaaaa3', node: 'dgx-02', label: '0', verdict: 'idle', users: using('bob') }),
      gpu({ uuid: 'GPU-aaaaaa4', node: 'nlp-7', label: '0', model: 'A10', memory_total_bytes: 24 * GIB }),
      gpu({ uuid: 'GPU-aaaaaa5', node: 'nlp-7', label: '1', counted: false }),
    ],
  ),
);
fleet.flush();

function offered(text: string, key: FacetKey, named = true): Record<string, number | null> {
  const all = facets({ text, nodes: fleet.nodes.values(), now: 2000, me: null, named });
  const facet = all.find((each) => each.key === key);
  return Object.fromEntries((facet?.choices ?? []).map(({ value, count }) => [value, count]));
}
function chosen(text: string, key: FacetKey, value: string): string | undefined {
  const all = facets({ text, nodes: fleet.nodes.values(), now: 2000, me: null, named: true, whole: text });
  return all.find((each) => each.key === key)?.choices.find((each) => each.value === value)?.text;
}

describe('what the filter could say next', () => {
  test('counts what is counted, by all terms but its own', () => {
    expect(offered('', 'is')).toEqual({ free: 2, busy: 1, idle: 1 });
    expect(offered('', 'memory')).toEqual({ 24: 4, 80: 3 });
    expect(offered('', 'node')).toEqual({ 'dgx-*': 3 });
    expect(offered('free ', 'is')).toEqual({ free: 2, busy: 1, idle: 1 });
    expect(offered('free ', 'model')).toEqual({ 'H100 80 GB': 1, 'A10 24 GB': 1 });
    expect(offered('free memory>=80G ', 'is')).toEqual({ free: 1, busy: 1, idle: 1 });
    expect(offered('group:rack-a ', 'user')).toEqual({ ana: 1, bob: 1 });
    expect(offered('use>50 ', 'group')).toEqual({});
  });

  test('the first six of many names are offered, in their order, whatever order they came in', () => {
    const names = ['n10', 'n2', 'n9', 'n1', 'n7', 'n3', 'n8', 'n11'];
    const lab = new Fleet();
    lab.queue(
      snapshot(
        names.map((name) => node({ name })),
        [...names, 'n11'].map((name, place) => gpu({ uuid: `u${place}`, node: name, label: `${place}` })),
      ),
    );
    lab.flush();
    const all = facets({ text: 'node:n', nodes: lab.nodes.values(), now: 2000, me: null, named: true });
    expect(all[0]!.choices.map(({ value }) => value)).toEqual(['n*', 'n11', 'n1', 'n2', 'n3', 'n7']);
  });

  test('people have as many as on their own page: silent nodes tell nothing, and case makes nobody another', () => {
    const lab = new Fleet();
    const of = (label: string, change: Parameters<typeof gpu>[0]) => gpu({ uuid: label, label, ...change });
    const claim = { who: 'ANA', until: 9000, comment: null, is_unverified: false, behind: [] };
    lab.queue(
      snapshot(
        [node()],
        [
          of('0', { verdict: 'busy', users: using('ana') }),
          of('1', { verdict: 'busy', users: using('Ana') }),
          of('2', { verdict: 'stale', users: using('ana') }),
          of('3', { verdict: 'booked', claim }),
        ],
      ),
    );
    lab.flush();
    const all = facets({ text: '', nodes: lab.nodes.values(), now: 2000, me: null, named: true });
    const [person, ...others] = people(lab.nodes.values());
    expect(others).toEqual([]);
    expect(all.find(({ key }) => key === 'user')?.choices.map(({ value, count }) => [value, count])).toEqual([
      ['ana', person!.gpus + person!.booked],
    ]);
  });

  test('nobody is offered where names are hidden', () => {
    expect(offered('', 'user', false)).toEqual({});
    expect(Object.keys(offered('us', 'word', false))).toEqual(['use<']);
  });

  test('a word that is begun is completed, whatever it finds', () => {
    expect(offered('busy nlp', 'node')).toEqual({ 'nlp-7': 0 });
    expect(offered('model:a1', 'model')).toEqual({ 'A10 24 GB': 1 });
    expect(offered('mem', 'word')).toEqual({ 'memory>=': null, 'memory_free>=': null });
    expect(offered('memory>=', 'memory')).toEqual({ 24: 4, 80: 3 });
  });

  test('a choice goes in and out again; several of a kind mean either', () => {
    expect(chosen('', 'is', 'free')).toBe('free');
    expect(chosen('free', 'memory', '80')).toBe('free memory>=80G');
    expect(chosen('free memory>=24G', 'memory', '80')).toBe('free memory>=80G');
    expect(chosen('memory>=80G', 'memory', '80')).toBe('');
    expect(chosen('group:rack-b', 'group', 'rack-a')).toBe('group:rack-b,rack-a');
    expect(chosen('group:rack-a free', 'group', 'rack-a')).toBe('free');
    expect(chosen('', 'model', 'H100 80 GB')).toBe('model:"H100 80 GB"');
  });
});

describe('jumping', () => {
  const pages = [
    { name: 'Board', path: '' },
    { name: 'People', path: 'people' },
  ];
  const found = (query: string, named = true) =>
    places({ query, nodes: fleet.nodes.values(), named, pages }).map(
      (place) => `${place.kind} ${place.name}`,
    );
  test.each([
    ['dgx2', 'node dgx-02'],
    ['dgx-01', 'node dgx-01'],
    ['old', 'node nlp-7'],
    ['dgx-01 1', 'gpu dgx-01 GPU 1'],
    ['dgx1:1', 'gpu dgx-01 GPU 1'],
    ['dgx-01 gpu 0', 'gpu dgx-01 GPU 0'],
    ['gpu-aaaaaa3', 'gpu dgx-02 GPU 0'],
    ['bob', 'person bob'],
    ['peo', 'page People'],
    ['pple', 'page People'],
  ])('%j leads to %s', (query, first) => {
    expect(found(query)[0]).toBe(first);
  });

  test('nobody is named where names are hidden, and nothing is found where nothing is', () => {
    expect(found('bob', false)).not.toContain('person bob');
    expect(found('zzz')).toEqual([]);
  });
});
