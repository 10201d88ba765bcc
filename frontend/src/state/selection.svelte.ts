/** The GPU whose detail is open: by pointing (goes away again) or by choosing (stays until closed). */
export class Selection {
  #uuid = $state<string | null>(null);
  #pinned = $state(false);
  #booking = $state.raw<readonly string[]>([]);
  #anchor = $state.raw<DOMRect | null>(null);
  #timer: ReturnType<typeof setTimeout> | undefined;

  get uuid(): string | null {
    return this.#uuid;
  }

  get pinned(): boolean {
    return this.#pinned;
  }

  /** The one that was chosen; pointing at others does not change it. */
  readonly chosen = $derived(this.#pinned ? this.#uuid : null);

  /** Those that somebody is about to book, the chosen one first; none: nobody has said so. */
  get booking(): readonly string[] {
    return this.#booking;
  }

  /** Where on the screen the GPU was drawn. */
  get anchor(): DOMRect | null {
    return this.#anchor;
  }

  point(uuid: string, anchor: DOMRect, delay = 400): void {
    if (this.#pinned) return;
    clearTimeout(this.#timer);
    // Once one is open, its neighbours follow at once.
    this.#timer = setTimeout(() => this.#open(uuid, anchor, false), this.#uuid ? 30 : delay);
  }

  leave(): void {
    clearTimeout(this.#timer);
    if (!this.#pinned) this.#timer = setTimeout(() => this.close(), 160);
  }

  pin(uuid: string, anchor: DOMRect | null): void {
    clearTimeout(this.#timer);
    this.#open(uuid, anchor, true);
  }

  /** Open the first of these to book them all. */
  book(uuids: readonly string[]): void {
    this.pin(uuids[0]!, null);
    this.#booking = uuids;
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#booking = [];
    this.#uuid = this.#anchor = null;
    this.#pinned = false;
  }

  #open(uuid: string, anchor: DOMRect | null, pinned: boolean): void {
    if (uuid !== this.#uuid) this.#booking = [];
    this.#uuid = uuid;
    this.#anchor = anchor;
    this.#pinned = pinned;
  }
}
