import { untrack } from 'svelte';

export type Theme = 'auto' | 'light' | 'dark';
export type Density = 'auto' | 'cards' | 'rows' | 'map' | 'text';

interface Kept {
  theme: Theme;
  language: string | null;
  density: Density;
  me: string | null;
  letterKeys: boolean;
  /** Whether a screen reader hears how many are free, now and then. */
  speaksTotals: boolean;
  paceSeconds: number;
  /** How many nodes there were last time, for the skeleton. */
  lastNodes: number;
  /** For how long was booked last. */
  bookingSeconds: number;
}

const DEFAULTS: Kept = {
  theme: 'auto',
  language: null,
  density: 'auto',
  me: null,
  letterKeys: true,
  speaksTotals: true,
  paceSeconds: 0,
  lastNodes: 8,
  bookingSeconds: 4 * 3600,
};
// public/theme.js reads the same key before the first paint.
const KEY = 'gpuboard';

/** What this viewer chose, kept in this browser. */
export class Preferences {
  #kept = $state.raw<Kept>(DEFAULTS);

  constructor(private readonly storage: Pick<Storage, 'getItem' | 'setItem'> | null) {
    try {
      this.#kept = { ...DEFAULTS, ...(JSON.parse(storage?.getItem(KEY) ?? '{}') as Partial<Kept>) };
    } catch {
      // Unreadable choices are no reason to show nothing.
    }
  }

  get theme(): Theme {
    return this.#kept.theme;
  }
  get language(): string | null {
    return this.#kept.language;
  }
  get density(): Density {
    return this.#kept.density;
  }
  /** The user name this viewer says is theirs; it only marks cells, it proves nothing. */
  get me(): string | null {
    return this.#kept.me;
  }
  get letterKeys(): boolean {
    return this.#kept.letterKeys;
  }
  get speaksTotals(): boolean {
    return this.#kept.speaksTotals;
  }
  get paceSeconds(): number {
    return this.#kept.paceSeconds;
  }

  get lastNodes(): number {
    return this.#kept.lastNodes;
  }

  get bookingSeconds(): number {
    return this.#kept.bookingSeconds;
  }

  set(change: Partial<Kept>): void {
    // Untracked: whoever keeps a choice does not thereby depend on all of them.
    this.#kept = { ...untrack(() => this.#kept), ...change };
    try {
      this.storage?.setItem(KEY, JSON.stringify(untrack(() => this.#kept)));
    } catch {
      // Private windows may refuse; the choice then lasts as long as the page.
    }
  }
}
