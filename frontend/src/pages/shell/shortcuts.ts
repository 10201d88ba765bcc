import type { App } from '../../state/context';
import { toggleTerm, toggleVerdict } from '../../state/filter';
import type { Density, Theme } from '../../state/preferences.svelte';
import { isTyping } from './focus';
import { focusResults } from './results';
import { take } from './take';

const NEXT_THEME: Record<Theme, Theme> = { auto: 'dark', dark: 'light', light: 'auto' };
const DENSITIES: Record<string, Density> = { '1': 'cards', '2': 'rows', '3': 'map', '4': 'text' };

/** Keys that work anywhere on the page; typing is never disturbed. */
export function keyListener(
  app: App,
  help: () => void,
  tell: (line: string) => void,
): (event: KeyboardEvent) => void {
  const { connection, preferences, router, selection, view } = app;
  let going: ReturnType<typeof setTimeout> | undefined;

  const letters: Record<string, () => void> = {
    f: () => onBoard(() => (view.text = toggleVerdict(view.text, 'free'))),
    m: () => onBoard(() => (view.text = toggleTerm(view.text, 'user:me'))),
    t: () => preferences.set({ theme: NEXT_THEME[preferences.theme] }),
    p: () => (connection.paused ? connection.resume() : connection.pause()),
    r: () => connection.refresh(),
    w: () => onBoard(() => router.setQuery({ wall: router.query.has('wall') ? null : '1' })),
    y: () => void take(app).then(tell),
    '?': help,
  };
  function onBoard(act: () => void) {
    if (router.route.page === 'board') act();
  }

  /** The first arrow leads into the GPUs; from there they know the way. */
  function enterGrid({ key, target }: KeyboardEvent): boolean {
    const moves = key.startsWith('Arrow') || (preferences.letterKeys && /^[hjkl]$/.test(key));
    if (!moves || router.route.page !== 'board' || (target as Element).closest('[role], a, button'))
      return false;
    return focusResults();
  }
  function pressed(event: KeyboardEvent) {
    if (event.defaultPrevented || document.querySelector('dialog[open]')) return;
    if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 'Escape') {
      if (selection.uuid) selection.close();
      else if (router.query.has('wall')) router.setQuery({ wall: null });
      else if (router.route.page === 'node' || router.route.page === 'gpu') router.leave();
    } else if (enterGrid(event)) event.preventDefault();
    else if (preferences.letterKeys) letter(event);
  }

  function letter(event: KeyboardEvent) {
    if (going) {
      clearTimeout(going);
      going = undefined;
      if (event.key === 'b') router.go(router.href(''));
      else if (event.key === 'p') router.go(router.href('people'));
      return;
    }
    const density = DENSITIES[event.key];
    if (event.key === 'g') {
      going = setTimeout(() => (going = undefined), 1500);
    } else if (density)
      onBoard(() => (view.chosenDensity = view.chosenDensity === density ? 'auto' : density));
    else letters[event.key]?.();
  }

  return pressed;
}
