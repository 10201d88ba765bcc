/** The board's time, guessed from its messages: a viewer's own clock may be wrong by hours. */
export class Clock {
  #offset = 0;
  #second = $state(0);
  #coarse = $derived(Math.floor(this.#second / 10) * 10);

  constructor(private readonly wall: () => number = () => Date.now() / 1000) {
    this.#second = Math.floor(this.exact());
  }

  /** Board time in whole seconds, ticking. */
  get second(): number {
    return this.#second;
  }

  /** Board time to ten seconds: enough for ages in a thousand cells. */
  get coarse(): number {
    return this.#coarse;
  }

  exact(): number {
    return this.wall() + this.#offset;
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
