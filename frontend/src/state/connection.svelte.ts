import { Stream, type Absence, type StreamParts } from '../api/stream';
import type { StreamMessage } from '../api/wire';
import type { Clock } from './clock.svelte';
import type { Fleet } from './fleet.svelte';

export type Status = 'connecting' | 'live' | 'reconnecting' | 'refused';

// A gap mended within this time is not worth greying the page; what it shows is no older than a usual tick.
const GRACE_MS = 1500;
// Background tabs only need a true title.
const HIDDEN_MS = 10_000;

/** Keeps the fleet true to the stream, at the pace the viewer chose, and says how true it is. */
export class Connection {
  #status = $state<Status>('connecting');
  #why = $state<Absence | null>(null);
  #retryAt = $state<number | null>(null);
  #restartedAt = $state<number | null>(null);
  #paused = $state(false);
  #past = $state<'no' | 'yes' | 'leaving'>('no');
  #askingSeconds = $state<number | null>(null);
  #paceSeconds = $state(0);
  #stream: Stream;
  #run: string | null = null;
  #tier: string | null = null;
  #grace: ReturnType<typeof setTimeout> | undefined;
  #flushTimer: ReturnType<typeof setTimeout> | undefined;
  #flushFrame: number | undefined;
  #flushedAt = -Infinity;

  /** `doubted`: the board ended the stream of who looked, or shows them more or less than before: who are they now? */
  constructor(
    private readonly fleet: Fleet,
    private readonly clock: Clock,
    parts: StreamParts,
    private readonly doubted: () => void = () => {},
  ) {
    clock.hold(() => (this.isCurrent ? null : fleet.at));
    this.#stream = new Stream(parts, {
      asking: (seconds) => (this.#askingSeconds = seconds),
      message: (message) => this.#take(message),
      lost: (why, wait) => this.#lost(why, wait),
    });
  }

  /** Nothing is live before something is shown. */
  get status(): Status {
    return this.#status === 'live' && this.fleet.at === null ? 'connecting' : this.#status;
  }

  get why(): Absence | null {
    return this.#why;
  }

  /** When the next try comes, by the board's clock. */
  get retryAt(): number | null {
    return this.#retryAt;
  }

  /** When another run of the board took over, if that happened while this page was open. */
  get restartedAt(): number | null {
    return this.#restartedAt;
  }

  /** How often the page asks, where messages do not come by themselves. */
  get askingSeconds(): number | null {
    return this.#askingSeconds;
  }

  get paused(): boolean {
    return this.#paused;
  }

  /** Whether a moment of the past is shown, which what comes in does not touch. */
  get past(): boolean {
    return this.#past !== 'no';
  }

  set past(yes: boolean) {
    if (yes) {
      this.#past = 'yes';
      this.#cancelFlush();
    } else if (this.#past === 'yes') {
      // Until the present has come, what is shown is not it.
      this.#past = 'leaving';
      this.refresh();
    }
  }

  /** At least this long between two redraws; 0 shows every change. */
  get paceSeconds(): number {
    return this.#paceSeconds;
  }

  set paceSeconds(seconds: number) {
    this.#paceSeconds = seconds;
    this.#schedule();
  }

  /** Whether what is shown may be called live. */
  get isCurrent(): boolean {
    return this.status === 'live' && !this.#paused && !this.past;
  }

  start(): () => void {
    const stop = this.#stream.start();
    const seen = () => {
      if (document.visibilityState === 'visible') this.#stream.retry();
      this.#cancelFlush();
      this.#schedule();
    };
    const online = () => this.#stream.retry();
    document.addEventListener('visibilitychange', seen);
    addEventListener('online', online);
    return () => {
      stop();
      clearTimeout(this.#grace);
      this.#cancelFlush();
      document.removeEventListener('visibilitychange', seen);
      removeEventListener('online', online);
    };
  }

  retry(): void {
    this.#stream.retry();
  }

  /** Show everything anew and at once, whatever the pace. */
  refresh(): void {
    this.#paused = false;
    this.#flushedAt = -Infinity;
    this.#stream.refresh();
  }

  pause(): void {
    this.#paused = true;
    this.#cancelFlush();
  }

  resume(): void {
    this.#paused = false;
    this.#flushedAt = -Infinity;
    this.#schedule();
  }

  #take(message: StreamMessage): void {
    if (message.kind === 'bye') return;
    this.clock.heard(message.at);
    clearTimeout(this.#grace);
    this.#grace = undefined;
    if (message.kind === 'snapshot') {
      if (this.#run && this.#run !== message.stream) this.#restartedAt = message.at;
      this.#run = message.stream;
      if (this.#tier && this.#tier !== message.tier) this.doubted();
      this.#tier = message.tier;
    }
    // The first data, and the first after a break, wait for no pace.
    if (this.#status !== 'live') this.#flushedAt = -Infinity;
    this.#status = 'live';
    this.#why = this.#retryAt = null;
    if (this.#past === 'yes' || (this.past && message.kind !== 'snapshot')) return;
    this.fleet.queue(message);
    if (this.past) this.fleet.flush();
    this.#past = 'no';
    this.#schedule();
  }

  #lost(why: Absence, wait: number): void {
    if (why === 'ended') this.doubted();
    this.#why = why;
    this.#retryAt = this.clock.exact() + wait;
    if (this.#status === 'connecting' && why !== 'refused') return;
    this.#grace ??= setTimeout(
      () => {
        this.#status = this.#why === 'refused' ? 'refused' : 'reconnecting';
        this.#grace = undefined;
      },
      why === 'refused' ? 0 : GRACE_MS,
    );
  }

  /** Show what came in, once per frame at most. */
  #schedule(): void {
    if (this.#paused || this.past || this.#flushFrame !== undefined) return;
    clearTimeout(this.#flushTimer);
    this.#flushTimer = undefined;
    const hidden = document.visibilityState !== 'visible';
    const pace = hidden ? Math.max(this.#paceSeconds * 1000, HIDDEN_MS) : this.#paceSeconds * 1000;
    const wait = this.#flushedAt + pace - performance.now();
    const flush = () => {
      this.#flushFrame = this.#flushTimer = undefined;
      this.#flushedAt = performance.now();
      this.fleet.flush();
    };
    // A hidden tab draws no frames: there a timer has to do.
    if (wait > 0 || hidden) this.#flushTimer = setTimeout(flush, wait);
    else this.#flushFrame = requestAnimationFrame(flush);
  }

  #cancelFlush(): void {
    clearTimeout(this.#flushTimer);
    if (this.#flushFrame !== undefined) cancelAnimationFrame(this.#flushFrame);
    this.#flushTimer = this.#flushFrame = undefined;
  }
}
