import { mount } from 'svelte';
import './styles/tokens.css';
import './styles/base.css';
import './styles/verdicts.css';
import './styles/cells.css';
import { Client } from './api/client';
import App from './App.svelte';
import { Clock } from './state/clock.svelte';
import { Connection } from './state/connection.svelte';
import { loadGrammar } from './state/filter';
import { Fleet } from './state/fleet.svelte';
import { Need } from './state/need.svelte';
import { Preferences } from './state/preferences.svelte';
import { Session } from './state/session.svelte';
import { Selection } from './state/selection.svelte';
import { Router } from './state/router.svelte';
import { BoardView } from './state/view.svelte';
import { chooseLanguage, Language, LANGUAGES } from './text/language.svelte';

const LEFT = 'left';

function storage(kind: 'localStorage' | 'sessionStorage'): Storage | null {
  try {
    return window[kind];
  } catch {
    return null;
  }
}

async function start(): Promise<void> {
  // Scripts live one folder below the board's root, whatever path that is served under.
  const base = new URL(/* @vite-ignore */ '../', import.meta.url);
  const preferences = new Preferences(storage('localStorage'));
  const router = new Router(base);
  const fleet = new Fleet();
  const clock = new Clock();
  const client = new Client(base);
  const notes = storage('sessionStorage');
  const session = new Session(client, preferences, (hasLeft) => {
    if (!hasLeft) return connection.refresh();
    location.reload();
    notes?.setItem(LEFT, LEFT);
  });
  session.wasLeft = notes?.getItem(LEFT) === LEFT;
  notes?.removeItem(LEFT);
  const parts = {
    address: new URL('api/v1/stream', base),
    ask: (tag: string | null) =>
      fetch(new URL('api/v1/stream', base), {
        // What the browser keeps would hide that nothing has changed.
        cache: 'no-store',
        headers: tag ? { 'if-none-match': tag } : {},
      }),
  };
  const connection = new Connection(fleet, clock, parts, () => void session.ask());
  // The address may say how often the page is drawn: a screen on a wall, a slow machine.
  const refresh = Number(router.query.get('refresh') ?? NaN);
  connection.paceSeconds = refresh >= 0 && refresh <= 3600 ? refresh : preferences.paceSeconds;
  connection.past = router.at !== null;
  clock.start();
  router.start();
  connection.start();
  void session.ask();
  const tag = chooseLanguage([
    ...(preferences.language ? [preferences.language] : []),
    ...navigator.languages,
  ]);
  const isFiltered = router.query.has('q');
  const [words] = await Promise.all([LANGUAGES[tag].load(), isFiltered ? loadGrammar() : null]);
  const language = new Language(tag, words, () => !connection.isCurrent);
  const view = new BoardView(fleet, router, preferences, session);
  const need = new Need(fleet, router, view);
  const selection = new Selection();
  const app = {
    fleet,
    clock,
    connection,
    router,
    preferences,
    session,
    language,
    view,
    need,
    selection,
    client,
  };
  mount(App, { target: document.getElementById('app')!, props: { app } });
}

void start();
