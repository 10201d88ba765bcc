import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Clock } from '../src/state/clock.svelte';
import { Connection } from '../src/state/connection.svelte';
import { Fleet } from '../src/state/fleet.svelte';
import { change, gpu, node, snapshot } from './samples';

class FakeSocket {
  static last: FakeSocket;
  readyState = 1;
  binaryType = '';
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: string }) => void) | null = null;
  onclose: ((event: { code: number }) => void) | null = null;
  constructor() {
    FakeSocket.last = this;
  }
  close(): void {
    this.readyState = 3;
  }
}

let visibility = 'visible';

function start() {
  const fleet = new Fleet();
  const clock = new Clock(() => Date.now() / 1000);
  const connection = new Connection(fleet, clock, {
    address: new URL('http://board.example/api/v1/stream'),
    socket: () => new FakeSocket() as unknown as WebSocket,
    random: () => 1,
  });
  const stop = connection.start();
  return { clock, fleet, connection, stop };
}

async function hear(message: unknown): Promise<void> {
  FakeSocket.last.onmessage?.({ data: JSON.stringify(message) });
  await vi.advanceTimersByTimeAsync(20);
}

async function close(code: number): Promise<void> {
  FakeSocket.last.readyState = 3;
  FakeSocket.last.onclose?.({ code });
  await vi.advanceTimersByTimeAsync(0);
}

beforeEach(() => {
  vi.useFakeTimers();
  visibility = 'visible';
  vi.stubGlobal('WebSocket', { OPEN: 1 });
  vi.stubGlobal('document', {
    get visibilityState() {
      return visibility;
    },
    addEventListener: () => {},
    removeEventListener: () => {},
  });
  vi.stubGlobal('addEventListener', () => {});
  vi.stubGlobal('removeEventListener', () => {});
  vi.stubGlobal('requestAnimationFrame', (act: () => void) => setTimeout(act, 16));
  vi.stubGlobal('cancelAnimationFrame', (id: number) => clearTimeout(id));
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

describe('the connection', () => {
  test('is live with the first data, and shows it in the next frame', async () => {
    const { fleet, connection, stop } = start();
    expect(connection.status).toBe('connecting');
    await hear(snapshot([node()], [gpu()]));
    expect(connection.isCurrent).toBe(true);
    expect(fleet.counts.free).toBe(1);
    stop();
  });

  test('shows the first data at once, whatever the pace, and is not live before', async () => {
    const { fleet, connection, stop } = start();
    connection.paceSeconds = 60;
    await vi.advanceTimersByTimeAsync(100);
    FakeSocket.last.onmessage?.({ data: JSON.stringify(snapshot([node()], [gpu()])) });
    await vi.advanceTimersByTimeAsync(1);
    expect(connection.status).toBe('connecting');
    await vi.advanceTimersByTimeAsync(20);
    expect([connection.status, fleet.gpus.size]).toEqual(['live', 1]);
    await hear(change([], [gpu({ verdict: 'busy' })]));
    expect(fleet.counts.busy).toBe(0);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(fleet.counts.busy).toBe(1);
    stop();
  });

  test('is not called live after a break that lasts', async () => {
    const { connection, stop } = start();
    await hear(snapshot([node()], [gpu()]));
    await close(1006);
    expect(connection.isCurrent).toBe(true);
    await vi.advanceTimersByTimeAsync(2000);
    expect(connection.status).toBe('reconnecting');
    expect(connection.isCurrent).toBe(false);
    await hear(snapshot([node()], [gpu()], { sequence: 9 }));
    expect(connection.isCurrent).toBe(true);
    stop();
  });

  test('a break mended at once is not worth a word', async () => {
    const { connection, stop } = start();
    await hear(snapshot([node()], [gpu()]));
    await close(1012);
    await vi.advanceTimersByTimeAsync(1001);
    await hear(change([], [gpu({ verdict: 'busy' })]));
    await vi.advanceTimersByTimeAsync(5000);
    expect(connection.status).toBe('live');
    expect(connection.restartedAt).toBeNull();
    stop();
  });

  test('notices another run of the board', async () => {
    const { connection, stop } = start();
    await hear(snapshot([node()], [gpu()], { stream: 'run-1' }));
    await hear(snapshot([node()], [gpu()], { stream: 'run-2', at: 2500 }));
    expect(connection.restartedAt).toBe(2500);
    stop();
  });

  test('says when it is refused', async () => {
    const { connection, stop } = start();
    await close(4401);
    await vi.advanceTimersByTimeAsync(1);
    expect(connection.status).toBe('refused');
    stop();
  });

  test('paused, it keeps what comes and shows it when resumed; it is not live meanwhile', async () => {
    const { fleet, connection, stop } = start();
    await hear(snapshot([node()], [gpu()]));
    connection.pause();
    await hear(change([], [gpu({ verdict: 'busy' })]));
    expect(fleet.counts.free).toBe(1);
    expect(connection.isCurrent).toBe(false);
    connection.resume();
    await vi.advanceTimersByTimeAsync(20);
    expect(fleet.counts.busy).toBe(1);
    stop();
  });

  test('redraws no oftener than asked', async () => {
    const { fleet, connection, stop } = start();
    await hear(snapshot([node()], [gpu()]));
    connection.paceSeconds = 5;
    await hear(change([], [gpu({ verdict: 'busy' })], { sequence: 2 }));
    await vi.advanceTimersByTimeAsync(3000);
    expect(fleet.counts.busy).toBe(0);
    await vi.advanceTimersByTimeAsync(3000);
    expect(fleet.counts.busy).toBe(1);
    stop();
  });

  test('a hidden tab is redrawn now and then, for its title', async () => {
    const { fleet, stop } = start();
    await hear(snapshot([node()], [gpu()]));
    visibility = 'hidden';
    await hear(change([], [gpu({ verdict: 'busy' })], { sequence: 2 }));
    expect(fleet.counts.busy).toBe(0);
    await hear({ kind: 'heartbeat', sequence: 2, at: 2010 });
    await vi.advanceTimersByTimeAsync(11_000);
    expect(fleet.counts.busy).toBe(1);
    stop();
  });

  test('ages stand while what is shown is old, and go on with the next data', async () => {
    const { clock, connection, stop } = start();
    const ticking = clock.start();
    await hear(snapshot([node()], [gpu()], { at: 2000 }));
    await vi.advanceTimersByTimeAsync(12_000);
    expect([clock.shown, clock.coarse]).toEqual([2012, 2010]);
    connection.pause();
    await vi.advanceTimersByTimeAsync(2000);
    expect([clock.second, clock.shown, clock.coarse]).toEqual([2014, 2000, 2000]);
    connection.resume();
    await hear({ kind: 'heartbeat', sequence: 1, at: 2030 });
    expect(clock.shown).toBe(2030);
    await close(1006);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(clock.shown).toBe(2030);
    ticking();
    stop();
  });
});

describe('while the past is shown', () => {
  const now = snapshot([node()], [gpu({ verdict: 'busy' })]);
  const before = snapshot([node()], [gpu({ verdict: 'free' })], { at: 1000 });

  test('what comes in does not touch it, and nothing of it is current', async () => {
    const { connection, fleet, stop } = start();
    FakeSocket.last.onopen?.();
    await hear(now);
    connection.past = true;
    fleet.queue(before);
    fleet.flush();
    await hear(change([], [gpu({ verdict: 'broken' })]));
    expect([fleet.at, fleet.gpus.get('GPU-1')?.record.verdict]).toEqual([1000, 'free']);
    expect([connection.status, connection.isCurrent]).toEqual(['live', false]);
    stop();
  });

  test('its clock stands at that moment', async () => {
    const { clock, connection, fleet, stop } = start();
    await hear(now);
    connection.past = true;
    fleet.queue(before);
    fleet.flush();
    expect(clock.shown).toBe(1000);
    stop();
  });

  test('nothing of it is called live on the way back, until the present has come', async () => {
    const { connection, fleet, stop } = start();
    await hear(now);
    connection.past = true;
    fleet.queue(before);
    fleet.flush();
    const old = FakeSocket.last;
    connection.past = false;
    expect(FakeSocket.last).not.toBe(old);
    expect([connection.past, connection.isCurrent]).toEqual([true, false]);
    await hear({ ...now, sequence: 5, at: 2010 });
    expect([connection.past, connection.isCurrent]).toEqual([false, true]);
    expect([fleet.at, fleet.gpus.get('GPU-1')?.record.verdict]).toEqual([2010, 'busy']);
    stop();
  });

  test('the present is not shown before it, when a link leads there', async () => {
    const { connection, fleet, stop } = start();
    connection.past = true;
    await hear(now);
    expect(fleet.at).toBeNull();
    stop();
  });
});

test('a stream that was taken back says so and begins anew', async () => {
  const addresses: string[] = [];
  const connection = new Connection(new Fleet(), new Clock(() => Date.now() / 1000), {
    address: new URL('http://board.example/api/v1/stream'),
    socket: (address) => {
      addresses.push(address);
      return new FakeSocket() as unknown as WebSocket;
    },
    random: () => 1,
  });
  const stop = connection.start();
  await hear(snapshot([node()], [gpu()]));
  await close(4001);
  expect(connection.why).toBe('ended');
  await vi.advanceTimersByTimeAsync(200);
  // Not from where it was: this viewer may see something else now.
  expect(addresses).toEqual(Array(2).fill('ws://board.example/api/v1/stream'));
  stop();
});

test('who looks is asked for at once when the stream was taken back, or tells more or less than before', async () => {
  const doubted = vi.fn();
  const parts = {
    address: new URL('http://board.example/api/v1/stream'),
    socket: () => new FakeSocket() as unknown as WebSocket,
  };
  const clock = new Clock(() => Date.now() / 1000);
  const stop = new Connection(new Fleet(), clock, parts, doubted).start();
  await hear(snapshot([node()], [gpu()]));
  await close(1012);
  await vi.advanceTimersByTimeAsync(2000);
  await hear(snapshot([node()], [gpu()]));
  expect(doubted).not.toHaveBeenCalled();
  await close(4001);
  expect(doubted).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(200);
  await hear(snapshot([node()], [gpu()], { tier: 'counts' }));
  expect(doubted).toHaveBeenCalledTimes(2);
  stop();
});
