import { ApiError } from '../api/client';

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
      timer = setTimeout(() => void round(), this.everySeconds * 1000);
    };
    void round();
    return () => {
      stopped = true;
      clearTimeout(timer);
    };
  }
}
