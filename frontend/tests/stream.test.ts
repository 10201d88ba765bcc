import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { decode, Stream, type Absence } from '../src/api/stream';
import type { StreamMessage } from '../src/api/wire';
import { change, snapshot } from './samples';

class FakeSocket {
  static all: FakeSocket[] = [];
  readyState = 0;
  binaryType = '';
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: string }) => void) | null = null;
  onclose: ((event: { code: number }) => void) | null = null;

  constructor(readonly address: string) {
    FakeSocket.all.push(this);
  }
  close(): void {
    this.readyState = 3;
  }
  open(): void {
    this.readyState = 1;
    this.onopen?.();
  }
  async say(message: StreamMessage): Promise<void> {
    this.onmessage?.({ data: JSON.stringify(message) });
    await vi.advanceTimersByTimeAsync(0);
  }
  async end(code: number): Promise<void> {
    this.readyState = 3;
    this.onclose?.({ code });
    await vi.advanceTimersByTimeAsync(0);
  }
}

function start(ask?: (tag: string | null) => Promise<Response>) {
  const heard: StreamMessage[] = [];
  const lost: [Absence, number][] = [];
  const asking: (number | null)[] = [];
  const stream = new Stream(
    {
      address: new URL('http://board.example/gpus/api/v1/stream'),
      socket: (address) => new FakeSocket(address) as unknown as WebSocket,
      random: () => 1,
      ...(ask ? { ask } : {}),
    },
    {
      asking: (seconds) => asking.push(seconds),
      message: (message) => heard.push(message),
      lost: (why, wait) => lost.push([why, wait]),
    },
  );
  const stop = stream.start();
  return { asking, heard, lost, stop, stream, socket: () => FakeSocket.all.at(-1)! };
}

beforeEach(() => {
  vi.useFakeTimers();
  FakeSocket.all = [];
});
afterEach(() => {
  vi.useRealTimers();
});

describe('the stream', () => {
  test('asks below the path of the board, and hands messages on in order', async () => {
    const { heard, socket, stop } = start();
    expect(socket().address).toBe('ws://board.example/gpus/api/v1/stream');
    socket().open();
    await socket().say(snapshot([], []));
    await socket().say(change([], []));
    expect(heard.map((message) => message.kind)).toEqual(['snapshot', 'change']);
    stop();
  });

  test('resumes where it stopped', async () => {
    const { lost, socket, stop } = start();
    socket().open();
    await socket().say(snapshot([], [], { stream: 'run-1', sequence: 41 }));
    await socket().say(change([], [], { sequence: 42 }));
    await socket().end(1012);
    expect(lost).toEqual([['restarting', 1]]);
    await vi.advanceTimersByTimeAsync(1000);
    expect(socket().address).toContain('?stream=run-1&after=42');
    stop();
  });

  test('a gap in the sequence throws the past away and asks for a snapshot', async () => {
    const { heard, lost, socket, stop } = start();
    socket().open();
    await socket().say(snapshot([], [], { sequence: 41 }));
    await socket().say(change([], [], { sequence: 43 }));
    expect(lost[0]?.[0]).toBe('gap');
    expect(heard).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1000);
    expect(socket().address).not.toContain('after=');
    stop();
  });

  test('silence is a lost connection, even if the socket looks open', async () => {
    const { lost, socket, stop } = start();
    socket().open();
    await socket().say(snapshot([], []));
    await vi.advanceTimersByTimeAsync(15_000);
    expect(lost[0]?.[0]).toBe('silent');
    stop();
  });

  test('waits longer each time, and tries for ever', async () => {
    const { lost, socket, stop } = start();
    for (let round = 0; round < 12; round++) {
      await socket().end(1006);
      await vi.advanceTimersByTimeAsync(lost.at(-1)![1] * 1000);
    }
    expect(lost.map(([, wait]) => wait).slice(0, 7)).toEqual([1, 2, 4, 8, 16, 30, 30]);
    expect(FakeSocket.all.length).toBeGreaterThan(12);
    stop();
  });

  test('says refused for 4401, and for a handshake that plain HTTP explains', async () => {
    const first = start();
    first.socket().open();
    await first.socket().end(4401);
    expect(first.lost[0]?.[0]).toBe('refused');
    first.stop();
    const second = start(() => Promise.resolve(new Response(null, { status: 401 })));
    await second.socket().end(1006);
    expect(second.lost[0]?.[0]).toBe('refused');
    second.stop();
  });

  test('asks for the snapshot where no WebSocket gets through, and tries that again each minute', async () => {
    const tags: (string | null)[] = [];
    const answer = () => new Response(JSON.stringify(snapshot([], [])), { headers: { etag: '"7"' } });
    const unchanged = () =>
      new Response(null, { status: 304, headers: { date: 'Thu, 01 Jan 1970 00:33:40 GMT' } });
    const { asking, heard, lost, socket, stop } = start(async (tag) => {
      tags.push(tag);
      return tag === null ? answer() : unchanged();
    });
    await socket().end(1006);
    expect([heard.length, asking]).toEqual([1, []]);
    await vi.advanceTimersByTimeAsync(1000);
    await socket().end(1006);
    expect(asking).toEqual([5]);
    expect(heard.at(-1)).toEqual({ kind: 'heartbeat', sequence: 1, at: 2020 });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(tags.slice(0, 3)).toEqual([null, '"7"', '"7"']);
    expect(tags.length).toBeGreaterThan(8);
    expect(FakeSocket.all).toHaveLength(3);
    socket().open();
    expect(asking.at(-1)).toBeNull();
    expect(lost).toEqual([]);
    stop();
  });

  test('is away where not even the question is answered', async () => {
    const { heard, lost, socket, stop } = start(() => Promise.reject(new TypeError('Failed to fetch')));
    await socket().end(1006);
    expect([heard.length, lost[0]?.[0]]).toEqual([0, 'unreachable']);
    stop();
  });

  test('stops when told to', async () => {
    const { socket, stop, lost } = start();
    stop();
    await socket().end(1006);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(FakeSocket.all).toHaveLength(1);
    expect(lost).toEqual([]);
  });

  test('reads gzipped frames', async () => {
    vi.useRealTimers();
    const text = JSON.stringify({ kind: 'heartbeat', sequence: 1, at: 2 });
    const packed = new Response(new Blob([text]).stream().pipeThrough(new CompressionStream('gzip')));
    expect(await decode(await packed.arrayBuffer())).toEqual({ kind: 'heartbeat', sequence: 1, at: 2 });
  });
});
