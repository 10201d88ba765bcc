import { untrack } from 'svelte';
import type { Connection } from './connection.svelte';

/** Call whenever a board that was away is back: what was said because of that is said no longer. */
export function whenBack(connection: Pick<Connection, 'why'>, call: () => void): void {
  let wasAway = false;
  $effect(() => {
    const isBack = wasAway && !connection.why;
    wasAway = connection.why !== null;
    if (isBack) untrack(call);
  });
}
