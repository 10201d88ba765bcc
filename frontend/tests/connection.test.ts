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
