import { untrack } from 'svelte';
import { ApiError } from '../api/client';

const RETRY_SECONDS = 5;
// Whoever drags a plot along asks many questions; the one that they stop at is answered.
const REST_SECONDS = 0.12;

/** Answers to a question that changes: the last one stays until the next has come, the newest question wins. */
export class Followed<Answer> {
  #value = $state.raw<Answer | null>(null);
  #error = $state.raw<ApiError | null>(null);
  #asking = $state(false);
  #count = 0;
  /** The newest question that has an answer, and what the newest one is about. */
  #answered = 0;
  #about: string | null = null;

  get value(): Answer | null {
    return this.#value;
  }

  get error(): ApiError | null {
    return this.#error;
  }

  /** Whether what is shown answers an older question. */
  get asking(): boolean {
    return this.#asking;
  }

  /**
   * Ask now and, for what goes on, again and again; returns the stop. `about`: an answer that comes after the stop is
   * shown still, if what is asked then is about the same.
   */
  follow(
    ask: () => Promise<Answer>,
    everySeconds: number | null,
    restSeconds = REST_SECONDS,
    about: string | null = null,
  ): () => void {
    let stopped = false;
    this.#about = about;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const again = (seconds: number) => {
      timer = setTimeout(() => void round(), seconds * 1000);
    };
    const round = async () => {
      if (document.visibilityState !== 'visible' && this.#value && !this.#asking) return again(RETRY_SECONDS);
      const number = ++this.#count;
      try {
        const value = await ask();
        const isLate = stopped && (about === null || about !== this.#about || number < this.#answered);
        if (isLate) return;
        this.#answered = number;
        this.#value = value;
        this.#error = null;
        if (stopped) return;
      } catch (error) {
        if (stopped) return;
        this.#error = error instanceof ApiError ? error : new ApiError(0, String(error));
      }
      this.#asking = false;
      // What the board refuses it refuses again; only one that was away, or had enough of us, may answer later.
      const status = this.#error?.status;
      const gone = status !== undefined && (status === 0 || status === 429 || status >= 500);
      if (gone) again(RETRY_SECONDS);
      else if (everySeconds !== null) again(everySeconds);
    };
    this.#asking = true;
    if (untrack(() => this.#value)) again(restSeconds);
    else untrack(() => void round());
    return () => {
      stopped = true;
      clearTimeout(timer);
    };
  }
}
