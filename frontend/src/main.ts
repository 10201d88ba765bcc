import { mount } from 'svelte';
import './styles/tokens.css';
import './styles/base.css';
import './styles/verdicts.css';
import App from './App.svelte';
import { Clock } from './state/clock.svelte';
import { Connection } from './state/connection.svelte';
import { Fleet } from './state/fleet.svelte';
import { Preferences } from './state/preferences.svelte';
import { Router } from './state/router.svelte';
import { BoardView } from './state/view.svelte';
import { chooseLanguage, Language, LANGUAGES } from './text/language.svelte';

function storage(): Storage | null {
  try {
    return localStorage;
  } catch {
    return null;
  }
}

async function start(): Promise<void> {
  // Scripts live one folder below the board's root, whatever path that is served under.
  const base = new URL('../', import.meta.url);
  const preferences = new Preferences(storage());
  const router = new Router(base);
  const fleet = new Fleet();
  const clock = new Clock();
  const connection = new Connection(fleet, clock, {
    address: new URL('api/v1/stream', base),
    isRefused: async () => [401, 403].includes((await fetch(new URL('api/v1/summary', base))).status),
  });
  clock.start();
  router.start();
  connection.start();
  const tag = chooseLanguage([
    ...(preferences.language ? [preferences.language] : []),
    ...navigator.languages,
  ]);
  const language = new Language(tag, await LANGUAGES[tag].load());
  const view = new BoardView(fleet, router, preferences);
  const app = { fleet, clock, connection, router, preferences, language, view };
  mount(App, { target: document.getElementById('app')!, props: { app } });
}

void start();
