import { describe, expect, test } from 'vitest';
import type { ComponentView } from '../src/api/wire';
import { Fleet } from '../src/state/fleet.svelte';
import { change, gpu, node, snapshot } from './samples';

function fleetOf(...parameters: Parameters<typeof snapshot>): Fleet {
  const fleet = new Fleet();
  fleet.queue(snapshot(...parameters));
  fleet.flush();
  return fleet;
}

describe('the fleet', () => {
  test('shows nothing before it is told to', () => {
    const fleet = new Fleet();
    fleet.queue(snapshot([node()], [gpu()]));
    expect(fleet.gpus.size).toBe(0);
    expect(fleet.at).toBeNull();
  });

  test('keeps the GPUs of a node in the order of the driver', () => {
    const fleet = fleetOf([node()], [gpu({ uuid: 'b', index: 1 }), gpu({ uuid: 'a', index: 0 })]);
    expect(fleet.nodes.get('dgx-01')?.gpus.map((each) => each.record.uuid)).toEqual(['a', 'b']);
  });

  test('keeps the troubles of the board until a frame says otherwise', () => {
    const consul: ComponentView = {
      component: 'consul',
      kind: 'consul',
      name: 'gpu-host',
      state: 'trouble',
      nodes: null,
      code: 'timeout',
      reason: 'no answer',
      since: 900,
    };
    const fleet = fleetOf([node()], [gpu()], { troubles: [consul] });
    fleet.queue(change([], [gpu({ verdict: 'busy' })]));
    expect(fleet.troubles).toEqual([consul]);
    fleet.queue(change([], [], { troubles: [] }));
    expect(fleet.troubles).toEqual([]);
  });

  test('counts verdicts, and a stale GPU is never among the free', () => {
    const fleet = fleetOf([node()], [gpu({ uuid: 'a' }), gpu({ uuid: 'b', index: 1, verdict: 'stale' })]);
    expect(fleet.counts).toMatchObject({ free: 1, stale: 1, total: 2 });
  });

  test('a change replaces whole rows and leaves the others alone', () => {
    const fleet = fleetOf([node()], [gpu({ uuid: 'a' }), gpu({ uuid: 'b', index: 1 })]);
    const untouched = fleet.gpus.get('b')?.record;
    fleet.queue(change([], [gpu({ uuid: 'a', verdict: 'busy' })]));
    fleet.flush();
    expect(fleet.gpus.get('a')?.live.verdict).toBe('busy');
    expect(fleet.gpus.get('b')?.record).toBe(untouched);
    expect(fleet.counts.free).toBe(1);
  });

  test('many changes between two redraws cost one row per GPU, the newest', () => {
    const fleet = fleetOf([node()], [gpu()]);
    const before = fleet.version;
    for (let use = 1; use <= 50; use++)
      fleet.queue(change([], [gpu({ utilization_percent: use })], { sequence: use + 1 }));
    fleet.flush();
    expect(fleet.gpus.get('GPU-1')?.record.utilization_percent).toBe(50);
    expect(fleet.version).toBe(before + 1);
  });

  test('what is gone leaves the node and the counts', () => {
    const fleet = fleetOf([node()], [gpu({ uuid: 'a' }), gpu({ uuid: 'b', index: 1 })]);
    fleet.queue(change([], [], { gone: { nodes: [], gpus: ['a'] } }));
    fleet.flush();
    expect(fleet.nodes.get('dgx-01')?.liveGpus).toHaveLength(1);
    expect(fleet.counts.total).toBe(1);
  });

  test('a new snapshot forgets what it does not name, and what waited before it', () => {
    const fleet = fleetOf([node()], [gpu({ uuid: 'a' })]);
    fleet.queue(change([], [gpu({ uuid: 'x', index: 5 })]));
    fleet.queue(
      snapshot([node({ name: 'nlp-01' })], [gpu({ uuid: 'c', node: 'nlp-01' })], { stream: 'run-2' }),
    );
    fleet.flush();
    expect([...fleet.gpus.keys()]).toEqual(['c']);
    expect([...fleet.nodes.keys()]).toEqual(['nlp-01']);
  });

  test('a verdict this page does not know is unknown, not free', () => {
    const fleet = fleetOf([node()], [gpu({ verdict: 'reserved' as never })]);
    expect(fleet.counts).toMatchObject({ unknown: 1, free: 0 });
  });

  test('a heartbeat moves the time of the data and nothing else', () => {
    const fleet = fleetOf([node()], [gpu()]);
    const before = fleet.version;
    fleet.queue({ kind: 'heartbeat', at: 2050 });
    fleet.flush();
    expect(fleet.at).toBe(2050);
    expect(fleet.version).toBe(before);
  });

  test('an empty fleet is a fleet', () => {
    const fleet = fleetOf([], []);
    expect(fleet.counts.total).toBe(0);
    expect(fleet.at).toBe(2000);
  });

  test('of a board without nodes nothing is known, not zero free', () => {
    expect(fleetOf([], []).isKnown).toBe(false);
    expect(fleetOf([node()], []).isKnown).toBe(true);
    expect(fleetOf([node({ gpus_known: false })], []).isKnown).toBe(false);
  });

  test('a board that has run for less than half a minute is starting', () => {
    const { board } = snapshot([], []);
    const started = (started_at: number) => fleetOf([], [], { board: { ...board, started_at } }).isStarting;
    expect([started(1990), started(1970), started(0)]).toEqual([true, false, false]);
  });
});
