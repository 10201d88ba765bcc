import { untrack } from 'svelte';
import { ApiError, type Client } from '../../../api/client';
import { states, type StateView } from '../../../api/history';
import type { Span } from '../../../state/booking';

interface Told {
  states: StateView[];
  span: Span;
  /** When it was asked for, in Unix seconds. */
  at: number;
}

// The board lets an address ask five questions a second, and others are behind the same one.
const PAUSE_MS = 250;
const BURST = 40;
const AGAIN_SECONDS = 60;

/** What really happened in the lanes that are open and in sight: asked for one GPU after the other. */
export class Really {
  told = $state.raw<ReadonlyMap<string, Told>>(new Map());
  /** Those that are in sight, and how often. */
  #wanted = new Map<string, number>();
  #asked = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `span`: of what is shown, that which is past. */
  constructor(
    private readonly client: Client,
    private readonly span: () => Span,
    private readonly now: () => number,
  ) {}

  /** Ask about these as long as they are in sight. */
  want(uuids: readonly string[]): () => void {
    for (const uuid of uuids) this.#wanted.set(uuid, (this.#wanted.get(uuid) ?? 0) + 1);
    return () => {
      for (const uuid of uuids) {
        const left = (this.#wanted.get(uuid) ?? 1) - 1;
        if (left) this.#wanted.set(uuid, left);
        else this.#wanted.delete(uuid);
      }
    };
  }

  start(): () => void {
    let stopped = false;
    const round = async () => {
      const wait = await this.#ask();
      if (!stopped) this.#timer = setTimeout(() => void round(), wait);
    };
    // What is shown is read when it is asked about; the clock in it starts nothing anew.
    untrack(() => void round());
    return () => {
      stopped = true;
      clearTimeout(this.#timer);
    };
  }

  /** Ask about the next; milliseconds until it is the turn of another. */
  async #ask(): Promise<number> {
    const span = this.span();
    const uuid = document.visibilityState === 'visible' ? this.#next(span) : undefined;
    if (uuid === undefined || span.end <= span.start) return 1000;
    try {
      const answer = await states(this.client, uuid, { from: span.start, to: span.end });
      this.#keep(uuid, { states: answer.states, span, at: this.now() });
    } catch (error) {
      // Too many questions, or no board: later.
      if (!(error instanceof ApiError && error.status === 404)) return 3000;
      this.#keep(uuid, { states: [], span, at: this.now() });
    }
    return this.#asked++ < BURST ? 0 : PAUSE_MS;
  }

  #keep(uuid: string, told: Told): void {
    const kept = [...this.told].filter(([known]) => this.#wanted.has(known));
    this.told = new Map([...kept, [uuid, told]]);
  }

  /** Of those in sight the one that was asked for longest ago, if that is worth it. */
  #next(span: Span): string | undefined {
    let found: string | undefined;
    let oldest = this.now() - AGAIN_SECONDS;
    for (const uuid of this.#wanted.keys()) {
      const told = this.told.get(uuid);
      const isOther = told?.span.start !== span.start || span.end - told.span.end > 2 * AGAIN_SECONDS;
      if (isOther) return uuid;
      // What is over for good does not change.
      if (told && told.at < oldest && span.end > told.span.end) {
        found = uuid;
        oldest = told.at;
      }
    }
    return found;
  }
}
