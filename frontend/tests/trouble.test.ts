import { describe, expect, test } from 'vitest';
import type { GpuRow, NodeRow, Problem } from '../src/api/wire';
import { Fleet } from '../src/state/fleet.svelte';
import { findTrouble } from '../src/state/trouble';
import { Language } from '../src/text/language.svelte';
import { words } from '../src/text/en/words';
import { kindLine, problemLine } from '../src/text/reasons';
import { gpu, node, snapshot } from './samples';

function problem(kind: string, change: Partial<Problem> = {}): Problem {
  return { kind, text: kind, remedy: '', detail: null, gpu_uuid: null, place: null, since: null, ...change };
}

function fleetOf(nodes: NodeRow[], gpus: GpuRow[] = []): Fleet {
  const fleet = new Fleet();
  fleet.queue(snapshot(nodes, gpus));
  fleet.flush();
  return fleet;
}

function found(nodes: NodeRow[], gpus: GpuRow[] = []) {
  const fleet = fleetOf(nodes, gpus);
  return findTrouble(fleet.nodes.values(), fleet.board);
}

function told(nodes: NodeRow[], gpus: GpuRow[] = []) {
  return found(nodes, gpus).causes.map(({ key, places }) => [
    key,
    places.map((place) => place.node.record.name + (place.label ? ` ${place.label}` : '')).join(),
  ]);
}

describe('What needs a look', () => {
  test('is told by cause, each with all its places in the order of names', () => {
    const lost = (uuid: string) => [problem('gpu-lost', { gpu_uuid: uuid })];
    const nodes = [
      node({ name: 'fine' }),
      node({ name: 'b-10', problems: lost('u') }),
      node({ name: 'b-9', problems: lost('v') }),
    ];
    const gpus = [gpu({ uuid: 'u', node: 'b-10', label: '6' }), gpu({ uuid: 'v', node: 'b-9', label: '2' })];
    expect(told(nodes, gpus)).toEqual([['gpu-lost false', 'b-9 2,b-10 6']]);
  });

  test('comes with the heaviest first, then with the newest', () => {
    const nodes = [
      node({ name: 'a', problems: [problem('clock-off', { since: 1900 })] }),
      node({ name: 'b', problems: [problem('second-file', { since: 1800 })] }),
      node({ name: 'c', problems: [problem('gpu-lost', { since: 100 })] }),
      node({ name: 'd', state: 'lost', sampled_at: 500 }),
      node({ name: 'e', problems: [problem('from-tomorrow', { since: 1999 })] }),
    ];
    expect(told(nodes).map(([, where]) => where)).toEqual(['d', 'c', 'b', 'a', 'e']);
  });

  test('keeps late nodes apart, who push nobody away', () => {
    const nodes = [node({ name: 'a', state: 'late' }), node({ name: 'b', state: 'lost' })];
    const { causes, count, late } = found(nodes);
    expect([causes.length, count, late.map(({ record }) => record.name)]).toEqual([1, 1, ['a']]);
  });

  test('keeps what was grave before a node fell silent, as the last that is known', () => {
    const mismatch = problem('driver-mismatch', { since: 1500 });
    const nodes = [
      node({ name: 'a', state: 'late', problems: [mismatch, problem('clock-off')] }),
      node({ name: 'b', state: 'lost', sampled_at: 1900, problems: [problem('silent-ssh'), mismatch] }),
      node({ name: 'c', problems: [mismatch] }),
    ];
    const { causes, count, late } = found(nodes);
    const places = causes.flatMap(({ key, places }) =>
      places.map(({ node, lastKnown }) => [key.split(' ')[0], node.record.name, lastKnown]),
    );
    expect(places).toEqual([
      ['lost', 'b', false],
      ['driver-mismatch', 'a', true],
      ['driver-mismatch', 'b', true],
      ['driver-mismatch', 'c', false],
    ]);
    expect([count, late]).toEqual([3, []]);
  });

  test('is not what has yet to report', () => {
    const nodes = [node({ name: 'a', state: 'never' }), node({ name: 'b' })];
    expect(found(nodes)).toEqual({ causes: [], late: [], count: 0, waiting: 1 });
  });

  test('has one cause for each number of an error, and for each way in which nodes are away', () => {
    const reason = { code: 'lost', text: '', values: {} };
    const nodes = [
      node({ name: 'a', problems: [problem('xid', { detail: '79' })] }),
      node({ name: 'b', problems: [problem('xid', { detail: '31' })] }),
      node({ name: 'c', state: 'lost', source: 'ssh', reason }),
      node({ name: 'd', state: 'lost', source: 'ssh 2', reason }),
      node({ name: 'e', state: 'lost', source: 'push', reason }),
    ];
    expect(told(nodes).map(([, where]) => where)).toEqual(['c,d', 'e', 'a', 'b']);
  });

  test('leaves trifles out where something grave is wrong', () => {
    const nodes = [node({ name: 'a', problems: [problem('gpu-lost'), problem('clock-off')] })];
    expect(told(nodes)).toEqual([['gpu-lost false', 'a']]);
  });
});

describe('A problem in a line', () => {
  const language = new Language('en', words);

  function line(change: Partial<Problem>) {
    const fleet = fleetOf([node()], [gpu({ uuid: 'vm:2', label: '2' })]);
    return problemLine(problem('gpu-lost', change), fleet.nodes.get('dgx-01')!, language);
  }

  test('names its GPU once, by its number, or as the node does where it is not here', () => {
    const said = { text: 'it has fallen off the bus: no answer', detail: 'no answer' };
    const here = { ...said, gpu_uuid: 'vm:2', place: 'GPU 2 (NVIDIA Orin (nvgpu), vm:2)' };
    expect(line(here)).toBe('GPU 2: it has fallen off the bus: no answer');
    const gone = { ...said, gpu_uuid: 'vm:3', place: 'GPU 3 (NVIDIA Orin (nvgpu), vm:3)' };
    expect(line(gone)).toBe('GPU 3 (NVIDIA Orin (nvgpu), vm:3): it has fallen off the bus: no answer');
  });

  test('calls other GPUs by their numbers too', () => {
    const detail = '7 of 8, missing vm:2';
    expect(line({ text: `not all answer: ${detail}`, detail })).toBe('not all answer: 7 of 8, missing GPU 2');
  });

  test('leaves out what is true of one alone where several have it', () => {
    const lost = problem('gpu-lost', { text: 'lost: no answer', detail: 'no answer', place: 'GPU 2 (vm:2)' });
    expect(kindLine(lost, language)).toBe('lost');
    expect(kindLine(problem('xid', { text: 'error: 79', detail: '79' }), language)).toBe('error: 79');
  });
});
