/**
 * The live stream: one snapshot, then changes; it reconnects for ever and says why it is away. Where no WebSocket
 * gets through, it asks for the snapshot again and again, and tries the WebSocket now and then.
 */

import type { Snapshot, StreamMessage } from './wire';

export type Absence = 'unreachable' | 'restarting' | 'crowded' | 'refused' | 'ended' | 'silent' | 'gap';

export interface StreamListener {
  /** Whether messages come by themselves, or have to be asked for, and how often. */
  asking(everySeconds: number | null): void;
  message(message: StreamMessage): void;
  lost(why: Absence, retryInSeconds: number): void;
}

export interface StreamParts {
  address: URL;
  socket?: (address: string) => WebSocket;
  random?: () => number;
  /** Asks for the snapshot over plain HTTP, unless it is still the one of this tag. */
  ask?: (tag: string | null) => Promise<Response>;
}

type Answer = 'told' | 'refused' | 'nothing';
const ASK_SECONDS = 5;
// So often it is asked before the WebSocket is tried again: once a minute.
const ASKS_PER_TRY = 12;

// Three heartbeats: one lost packet must not grey the page.
const SILENCE_SECONDS = 15;
const WAIT_SECONDS: Record<Absence, [first: number, longest: number]> = {
  gap: [0.1, 2],
  ended: [0.1, 10],
  silent: [0.5, 10],
  restarting: [1, 10],
  unreachable: [1, 30],
  crowded: [10, 60],
  refused: [30, 60],
};
const CLOSED_BY_THE_BOARD: ReadonlySet<Absence> = new Set(['restarting', 'crowded', 'refused', 'ended']);
const CLOSE_CODES: Record<number, Absence> = {
  1001: 'restarting',
  1012: 'restarting',
  1013: 'crowded',
  4001: 'ended',
  4401: 'refused',
};

export class Stream {
  #socket: WebSocket | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #watchdog: ReturnType<typeof setTimeout> | undefined;
  #tail: Promise<void> = Promise.resolve();
  #resume: { stream: string; sequence: number } | null = null;
  #failures = 0;
  #asks = 0;
  #tag: string | null = null;
  #stopped = true;

  constructor(
    private readonly parts: StreamParts,
    private readonly listener: StreamListener,
  ) {}

  start(): () => void {
    this.#stopped = false;
    this.#connect();
    return () => this.stop();
  }

  stop(): void {
    this.#stopped = true;
    this.#drop();
  }

  /** Try again now: the person pressed the button, or the tab came back. */
  retry(): void {
    if (this.#stopped || this.#socket?.readyState === WebSocket.OPEN) return;
    this.#drop();
    this.#connect();
  }

  /** Ask for everything anew. */
  refresh(): void {
    if (this.#stopped) return;
    this.#resume = this.#tag = null;
    this.#drop();
    this.#connect();
  }

  #connect(): void {
    const address = new URL(this.parts.address);
    address.protocol = address.protocol === 'https:' ? 'wss:' : 'ws:';
    if (this.#resume) {
      address.searchParams.set('stream', this.#resume.stream);
      address.searchParams.set('after', String(this.#resume.sequence));
    }
    const socket = this.parts.socket?.(address.href) ?? new WebSocket(address.href);
    socket.binaryType = 'arraybuffer';
    let opened = false;
    socket.onopen = () => {
      opened = true;
      watch();
      this.#asks = 0;
      this.listener.asking(null);
    };
    socket.onmessage = (event: MessageEvent<string | ArrayBuffer>) => {
      watch();
      // In order, although unpacking a large frame takes a moment.
      this.#tail = this.#tail
        .then(async () => {
          const message = await decode(event.data);
          if (socket === this.#socket) this.#take(message);
        })
        .catch(() => this.#lose('gap'));
    };
    const closed = async (why: Absence) => {
      if (socket !== this.#socket) return;
      // A browser hides the answer to a failed handshake, so we ask for one that it shows.
      const answer = opened || CLOSED_BY_THE_BOARD.has(why) ? 'nothing' : await this.#ask();
      if (socket !== this.#socket) return;
      if (answer === 'told') this.#askLater();
      else this.#lose(answer === 'refused' ? 'refused' : why);
    };
    const watch = () => {
      clearTimeout(this.#watchdog);
      this.#watchdog = setTimeout(() => void closed('silent'), SILENCE_SECONDS * 1000);
    };
    socket.onclose = (event: CloseEvent) => closed(CLOSE_CODES[event.code] ?? 'unreachable');
    this.#socket = socket;
    watch();
  }

  #askLater(): void {
    this.#drop();
    // Once may be chance: the board came up between two questions.
    const again = this.#asks++ === 0;
    if (!again) this.listener.asking(ASK_SECONDS);
    const wait = again ? 1 : ASK_SECONDS;
    this.#timer = setTimeout(async () => {
      if (again || this.#asks % ASKS_PER_TRY === 0) return this.#connect();
      const answer = await this.#ask();
      if (this.#stopped || this.#socket) return;
      if (answer === 'told') this.#askLater();
      else this.#lose(answer === 'refused' ? 'refused' : 'unreachable');
    }, wait * 1000);
  }

  async #ask(): Promise<Answer> {
    try {
      const response = await this.parts.ask?.(this.#tag);
      if (response && [401, 403].includes(response.status)) return 'refused';
      if (response?.status === 304 && this.#resume) {
        const at = Date.parse(response.headers.get('date') ?? '') / 1000 || Date.now() / 1000;
        this.#take({ kind: 'heartbeat', sequence: this.#resume.sequence, at });
        return 'told';
      }
      if (!response?.ok) return 'nothing';
      const message = (await response.json()) as Snapshot;
      this.#tag = response.headers.get('etag');
      this.#take(message);
      return 'told';
    } catch {
      return 'nothing';
    }
  }

  #take(message: StreamMessage): void {
    if (message.kind === 'bye') {
      this.listener.message(message);
      return;
    }
    if (message.kind === 'snapshot') this.#resume = { stream: message.stream, sequence: message.sequence };
    else if (
      !this.#resume ||
      message.sequence !== this.#resume.sequence + (message.kind === 'change' ? 1 : 0)
    ) {
      this.#resume = null;
      this.#lose('gap');
      return;
    } else this.#resume.sequence = message.sequence;
    this.#failures = 0;
    this.listener.message(message);
  }

  #lose(why: Absence): void {
    if (this.#stopped) return;
    this.#drop();
    // Whoever looks may see something else now: all of it comes anew.
    if (why === 'ended') this.#resume = this.#tag = null;
    const [first, longest] = WAIT_SECONDS[why];
    const ceiling = Math.min(longest, first * 2 ** this.#failures);
    this.#failures = Math.min(this.#failures + 1, 10);
    // Spread out, or a restarted board meets all its viewers at once.
    const wait = ceiling * (0.5 + 0.5 * (this.parts.random ?? Math.random)());
    this.listener.lost(why, wait);
    this.#timer = setTimeout(() => this.#connect(), wait * 1000);
  }

  #drop(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#watchdog);
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
  }
}

/** Text is JSON; a binary frame is the same, gzipped once for all viewers. */
export async function decode(data: string | ArrayBuffer): Promise<StreamMessage> {
  if (typeof data === 'string') return JSON.parse(data) as StreamMessage;
  const plain = new Response(data).body!.pipeThrough(new DecompressionStream('gzip'));
  return (await new Response(plain).json()) as StreamMessage;
}
