/** The board at a moment of the past: which is wanted, which is shown, and how one gets from one to the next. */

import { ApiError } from '../api/client';
import type { PastSpan } from '../api/history';
import type { Snapshot } from '../api/wire';
import type { Router } from './router.svelte';

export type PastStatus = 'coming' | 'shown' | 'failed' | 'none';

const MINUTE = 60;
const RETRY_MS = 3000;
// The board answers four of one viewer in a second, and no more.
const PACE_MS = 260;
// A board that does not know the past answers with now.
const FAR_SECONDS = 90;

interface Parts {
  ask: (at: number) => Promise<Snapshot>;
  show: (snapshot: Snapshot) => void;
  /** A moment could not be had: that which is shown stays. */
  stay: (shown: number) => void;
  /** The board says that this is no moment it could know. */
  refuse: () => void;
}

/** A moment that could not be had, and what the board said; nothing if it did not answer. */
interface Missed {
  at: number;
  why: string;
}

/** Shows moments as they are wanted. One question is on its way at a time; of the wishes meanwhile the last counts. */
export class Rewind {
  #status = $state<PastStatus>('coming');
  #missed = $state.raw<Missed | null>(null);
  #shown = $state<number | null>(null);
  #wanted: number | null = null;
  #asked: number | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly parts: Parts) {}

  get status(): PastStatus {
    return this.#status;
  }

  /** The last moment that was wanted in vain. */
  get missed(): Missed | null {
    return this.#missed;
  }

  /** The moment that is on the page. */
  get shown(): number | null {
    return this.#shown;
  }

  go(at: number): void {
    if (at === this.#wanted) return;
    this.#wanted = at;
    clearTimeout(this.#timer);
    if (at === this.#shown) this.#status = 'shown';
    else if (this.#asked === null) void this.#ask(at);
  }

  /** Nobody looks any more. */
  stop(): void {
    this.#wanted = null;
    clearTimeout(this.#timer);
  }

  async #ask(at: number): Promise<void> {
    const began = performance.now();
    this.#asked = at;
    this.#status = 'coming';
    try {
      this.#take(await this.parts.ask(at), at);
    } catch (error) {
      this.#fail(error, at);
    }
    const wait = Math.max(0, began + PACE_MS - performance.now());
    if (wait) await new Promise((resolve) => setTimeout(resolve, wait));
    this.#asked = null;
    const wanted = this.#wanted;
    if (wanted !== null && wanted !== at && wanted !== this.#shown) void this.#ask(wanted);
  }

  #take(snapshot: Snapshot, at: number): void {
    if (this.#wanted === null) return;
    if (Math.abs(snapshot.at - at) > FAR_SECONDS) {
      this.#status = 'none';
      return;
    }
    this.parts.show(snapshot);
    this.#shown = at;
    this.#status = 'shown';
    this.#missed = null;
  }

  #fail(error: unknown, at: number): void {
    if (this.#wanted === null) return;
    const { status, message } = error instanceof ApiError ? error : new ApiError(0, String(error));
    // A board that has enough of us answers soon.
    if (status !== 429) {
      this.#status = status === 404 ? 'none' : 'failed';
      this.#missed = { at, why: status ? message : '' };
      if (status === 400) return this.parts.refuse();
      // Somebody who has gone on meanwhile gets what they want now.
      if (this.#shown !== null && this.#wanted === at) {
        this.#wanted = this.#shown;
        return this.parts.stay(this.#shown);
      }
    }
    // Only a board that was away, or had enough of us, may say something else soon.
    if (status === 0 || status === 429 || status >= 500)
      this.#timer = setTimeout(() => {
        if (this.#wanted === at && this.#asked === null) void this.#ask(at);
      }, RETRY_MS);
  }
}

/** A step from a moment, on whole minutes and not before the first record; null: it leads to now. */
export function stepped(at: number, seconds: number, limits: PastSpan): number | null {
  const next = Math.round((at + seconds) / MINUTE) * MINUTE;
  if (next > limits.to - MINUTE) return null;
  return Math.max(next, Math.ceil(limits.from / MINUTE) * MINUTE);
}

/** What the slider reaches: so long, up to now, with the moment inside it and not at its very edge. */
export function reach(at: number, length: number, now: number): PastSpan {
  const to = at > now - length * 0.98 ? now : Math.min(now, at + length / 2);
  return { from: to - length, to };
}

/** Show the present page at a moment: a step of its own, so that Back leads to now again. */
export function enterPast(router: Pick<Router, 'here' | 'base' | 'go'>, at: number): void {
  const url = new URL(router.here, router.base);
  url.searchParams.set('at', String(at));
  router.go(url.pathname + url.search);
}

/** How far the keys lead, in seconds; brackets are hard to reach on some keyboards, so there are two of each. */
export const STEP_KEYS: Record<string, number> = {
  '[': -MINUTE,
  ']': MINUTE,
  ',': -MINUTE,
  '.': MINUTE,
  '<': -10 * MINUTE,
  '>': 10 * MINUTE,
  '{': -60 * MINUTE,
  '}': 60 * MINUTE,
};
