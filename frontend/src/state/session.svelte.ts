import type { Client } from '../api/client';
import type { SessionView } from '../api/people';
import type { Preferences } from './preferences.svelte';

const RETRY_MS = 5000;

/** Who looks at the page, as the board knows them. */
export class Session {
  #told = $state.raw<SessionView | null>(null);
  /** Whether this page came anew because who was signed in on it is not any more. */
  wasLeft = false;

  /** `changed`: somebody has signed in; or was signed in and is not, then nothing of theirs may stay. */
  constructor(
    private readonly client: Pick<Client, 'get'>,
    private readonly preferences: Pick<Preferences, 'me'>,
    private readonly changed: (hasLeft: boolean) => void,
  ) {}

  /** Everything that the board says about it; null: it has not yet. */
  get told(): SessionView | null {
    return this.#told;
  }

  /** Who is signed in. */
  get person(): string | null {
    return this.#told?.person ?? null;
  }

  /** Whose GPUs are marked: those of who is signed in, or else of whom the viewer says to be. */
  get me(): string | null {
    return this.person ?? this.preferences.me;
  }

  /** Ask who it is; a board that is away changes nothing, and is asked again. */
  async ask(): Promise<void> {
    try {
      this.take(await this.client.get('session'));
    } catch {
      setTimeout(() => void this.ask(), RETRY_MS);
    }
  }

  /** The board has said who it is now. */
  take(told: SessionView): void {
    const before = this.#told;
    this.#told = told;
    if (before && before.person !== told.person) this.changed(before.person !== null);
  }
}
