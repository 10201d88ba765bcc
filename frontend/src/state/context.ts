import { createContext } from 'svelte';
import type { Language } from '../text/language.svelte';
import type { Clock } from './clock.svelte';
import type { Connection } from './connection.svelte';
import type { Fleet } from './fleet.svelte';
import type { Need } from './need.svelte';
import type { Preferences } from './preferences.svelte';
import type { Client } from '../api/client';
import type { Selection } from './selection.svelte';
import type { Router } from './router.svelte';
import type { Session } from './session.svelte';
import type { BoardView } from './view.svelte';

/** Everything the pages read, made once in main.ts. */
export interface App {
  fleet: Fleet;
  clock: Clock;
  connection: Connection;
  router: Router;
  preferences: Preferences;
  session: Session;
  language: Language;
  view: BoardView;
  need: Need;
  selection: Selection;
  client: Client;
}

export const [useApp, provideApp] = createContext<App>();
