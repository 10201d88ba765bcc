/** What somebody has: the table of cases that the board's own tests read too. One number, wherever the page says it. */

import { describe, expect, test } from 'vitest';
import cases from '../../tests/golden/people.json';
import type { ClaimView, GpuRow } from '../src/api/wire';
import { arrange } from '../src/state/arrange';
import { facets } from '../src/state/facets';
import { parseFilter, wordTerm } from '../src/state/filter';
import { countVerdicts, Fleet } from '../src/state/fleet.svelte';
import { places } from '../src/state/jump';
import { passing } from '../src/state/passing';
import { isMine, people } from '../src/state/people';
import { gpu, node, snapshot, using } from './samples';

interface Case {
  verdict: string;
  users: string[] | null;
  claim: string | null;
  counted?: boolean;
  ended?: string;
  behind?: string;
  unverified?: boolean;
}

function booking(
  who: string | null | undefined,
  is_unverified = false,
  ...behind: ClaimView[]
): ClaimView | null {
  return who ? { who, until: null, comment: null, is_unverified, behind } : null;
}

function rowOf(each: Case, place: number): GpuRow {
  return gpu({
    uuid: `GPU-${place}`,
    index: place,
    label: String(place),
    counted: each.counted ?? true,
    verdict: each.verdict as GpuRow['verdict'],
    users: each.users && using(...each.users),
    claim: booking(each.claim, each.unverified, ...(each.behind ? [booking(each.behind)!] : [])),
    ended_claim: booking(each.ended),
  });
}

describe.each(cases)('$case', ({ gpus, people: told }) => {
  const fleet = new Fleet();
  fleet.queue(snapshot([node()], (gpus as Case[]).map(rowOf)));
  fleet.flush();
  const nodes = () => fleet.nodes.values();
  const totals = Object.fromEntries(Object.entries(told).map(([name, { total }]) => [name, total]));
  const names = Object.keys(told);
  const byName = (count: (name: string) => number | undefined) =>
    Object.fromEntries(names.map((name) => [name, count(name)]));
  const shown = (text: string, me: string | null = null) => {
    const passes = passing(parseFilter(text), 0, me);
    return countVerdicts([...nodes()].flatMap((each) => each.gpus.filter((one) => passes(one, each)))).total;
  };

  test('on the people page', () => {
    const found = people(nodes()).map(({ user, gpus, idle, booked, held, holdings }) => [
      user,
      { gpus, idle, booked, held, total: holdings.flatMap((each) => each.gpus).length },
    ]);
    expect(Object.fromEntries(found)).toEqual(told);
  });

  test('beneath the filter', () => {
    const facet = facets({ text: 'user:', nodes: nodes(), now: 0, me: null, named: true }).find(
      ({ key }) => key === 'user',
    );
    const counts = (facet?.choices ?? []).map(({ value, count }) => [value, count]);
    expect(Object.fromEntries(counts)).toEqual(totals);
  });

  test('by what the filter finds, however it is asked', () => {
    expect(byName((name) => shown(wordTerm('user', name)))).toEqual(totals);
    expect(byName((name) => shown('user:me', name))).toEqual(totals);
    expect(byName((name) => shown('is:mine', name.toUpperCase()))).toEqual(totals);
  });

  test('among the places to go to', () => {
    const asked = { nodes: [...nodes()], named: true, pages: [] };
    const found = (name: string) =>
      places({ ...asked, query: name }).find((place) => place.kind === 'person' && place.name === name);
    expect(byName((name) => (found(name) as { gpus: number } | undefined)?.gpus)).toEqual(totals);
  });

  test('in the sections of people', () => {
    const sections = arrange(nodes(), ({ record }) => record.counted, 'user', 'name', false);
    const counts = sections.filter(({ title }) => title).map(({ title, counts }) => [title, counts.total]);
    expect(Object.fromEntries(counts)).toEqual(totals);
  });

  test('in the cells that are marked as the viewer’s', () => {
    const mine = (me: string) =>
      [...fleet.gpus.values()].filter(({ record }) => record.counted && isMine({ gpu: record, me })).length;
    expect(byName(mine)).toEqual(totals);
  });
});
