import type { App } from '../../state/context';
import { historyOf } from '../../api/history';
import { enterPast, STEP_KEYS, stepped } from '../../state/past.svelte';
import { toggleTerm, toggleVerdict } from '../../state/filter';
import type { Density, Theme } from '../../state/preferences.svelte';
import { isTyping } from './focus';
import { going } from './going';
import { focusResults } from './results';
import { take } from './take';

const NEXT_THEME: Record<Theme, Theme> = { auto: 'dark', dark: 'light', light: 'auto' };
/** Where `g` and a letter lead. */
const PAGES: Record<string, string> = { b: '', p: 'people', k: 'bookings', u: 'usage' };
const DENSITIES: Record<string, Density> = { '1': 'cards', '2': 'rows', '3': 'map', '4': 'text' };

/** Keys that work anywhere on the page; typing is never disturbed. */
export function keyListener(
  app: App,
  help: () => void,
  tell: (line: string) => void,
): (event: KeyboardEvent) => void {
  const { clock, connection, fleet, preferences, router, selection, view } = app;

  const letters: Record<string, () => void> = {
    f: () => onBoard(() => (view.text = toggleVerdict(view.text, 'free'))),
    m: () => onBoard(() => (view.text = toggleTerm(view.text, 'user:me'))),
    t: () => preferences.set({ theme: NEXT_THEME[preferences.theme] }),
    p: () => (connection.paused ? connection.resume() : connection.pause()),
    r: () => connection.refresh(),
    s: () =>
      onBoard(() => {
        if (historyOf(fleet.board)) router.setQuery({ strips: router.query.has('strips') ? null : '1' });
      }),
    w: () => onBoard(() => router.setQuery({ wall: router.query.has('wall') ? null : '1' })),
    y: () => void take(app).then(tell),
    b: () => onBoard(book),
    '?': help,
  };
  function onBoard(act: () => void) {
    if (router.route.page === 'board') act();
  }

  /** The form of the open GPU, or of the one with the focus. */
  function book() {
    const uuid =
      selection.chosen ?? document.activeElement?.closest<HTMLElement>('[data-uuid]')?.dataset['uuid'];
    if (uuid && router.at === null) selection.book(selection.booking.length ? selection.booking : [uuid]);
  }

  /** The first arrow leads into the GPUs; from there they know the way. */
  function enterGrid({ key, target }: KeyboardEvent): boolean {
    const moves = key.startsWith('Arrow') || (preferences.letterKeys && /^[hjkl]$/.test(key));
    if (
      !moves ||
      going.timer ||
      router.route.page !== 'board' ||
      (target as Element).closest('[role], a, button')
    )
      return false;
    return focusResults();
  }
  function pressed(event: KeyboardEvent) {
    if (event.defaultPrevented || document.querySelector('dialog[open]')) return;
    // Some keyboards have brackets only behind AltGr.
    const plain = event.getModifierState('AltGraph') || !(event.ctrlKey || event.altKey);
    if (isTyping(event) || event.metaKey || !plain) return;
    if (event.key === 'Escape') {
      if (selection.uuid) selection.close();
      else if (router.query.has('wall')) router.setQuery({ wall: null });
      else if (router.route.page === 'node' || router.route.page === 'gpu') router.leave();
      else if (router.at !== null) router.setQuery({ at: null });
    } else if (enterGrid(event)) event.preventDefault();
    else if (preferences.letterKeys) letter(event);
  }

  function letter(event: KeyboardEvent) {
    if (going.timer) {
      clearTimeout(going.timer);
      going.timer = undefined;
      const path = PAGES[event.key];
      if (path !== undefined) router.go(router.href(path));
      return;
    }
    const density = DENSITIES[event.key];
    if (event.key === 'g') {
      going.timer = setTimeout(() => (going.timer = undefined), 1500);
    } else if (density)
      onBoard(() => (view.chosenDensity = view.chosenDensity === density ? 'auto' : density));
    else if (event.key in STEP_KEYS) goBack(event);
    else letters[event.key]?.();
  }

  /** From now into the past; there the bar has the same keys. */
  function goBack(event: KeyboardEvent) {
    const seconds = STEP_KEYS[event.key]!;
    const info = historyOf(fleet.board);
    if (!info || router.at !== null || seconds > 0 || router.query.has('wall')) return;
    event.preventDefault();
    enterPast(router, stepped(clock.second, seconds, { from: info.since ?? 0, to: Infinity })!);
  }

  return pressed;
}
