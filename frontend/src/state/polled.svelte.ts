import { untrack } from 'svelte';
import { ApiError } from '../api/client';

// A board that was away may be back: nobody waits a minute for that.
const RETRY_SECONDS = 5;

/** One answer of the API, asked again while somebody looks. The last good answer stays, with the error beside it. */
export class Polled<Answer> {
  #value = $state.raw<Answer | null>(null);
  #error = $state.raw<ApiError | null>(null);

  constructor(
    private readonly ask: () => Promise<Answer>,
    private readonly everySeconds: number,
  ) {}

  get value(): Answer | null {
    return this.#value;
  }

  get error(): ApiError | null {
    return this.#error;
  }

  start(): () => void {
    let stopped = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const round = async () => {
      if (document.visibilityState === 'visible' || !this.#value) {
        try {
          const value = await this.ask();
          if (stopped) return;
          this.#value = value;
          this.#error = null;
        } catch (error) {
          if (stopped) return;
          this.#error = error instanceof ApiError ? error : new ApiError(0, String(error));
        }
      }
      const wait = this.#error ? Math.min(RETRY_SECONDS, this.everySeconds) : this.everySeconds;
      timer = setTimeout(() => void round(), wait * 1000);
    };
    // What is asked about is read when it is asked: the clock on it must not start everything anew.
    untrack(() => void round());
    return () => {
      stopped = true;
      clearTimeout(timer);
    };
  }
}
