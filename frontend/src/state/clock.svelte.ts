/** The board's time, guessed from its messages: a viewer's own clock may be wrong by hours. */
export class Clock {
  #offset = 0;
  #second = $state(0);
  #held: () => number | null = () => null;
  #shown = $derived(Math.floor(this.#held() ?? this.#second));
  #coarse = $derived(Math.floor(this.#shown / 10) * 10);

  constructor(private readonly wall: () => number = () => Date.now() / 1000) {
    this.#second = Math.floor(this.exact());
  }

  /** Board time in whole seconds, ticking. */
  get second(): number {
    return this.#second;
  }

  /** The same for what is shown: while that is old, nobody can know what has lasted on, and it stands. */
  get shown(): number {
    return this.#shown;
  }

  /** That to ten seconds: enough for ages in a thousand cells. */
  get coarse(): number {
    return this.#coarse;
  }

  exact(): number {
    return this.wall() + this.#offset;
  }

  /** Stand at the moment that this says, while it says one. */
  hold(at: () => number | null): void {
    this.#held = at;
  }

  /** The board says it is `at` now. */
  heard(at: number): void {
    this.#offset = at - this.wall();
    this.#second = Math.floor(this.exact());
  }

  start(): () => void {
    const timer = setInterval(() => (this.#second = Math.floor(this.exact())), 1000);
    return () => clearInterval(timer);
  }
}
