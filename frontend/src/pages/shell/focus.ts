import { flushSync } from 'svelte';
import type { App } from '../../state/context';

export const TYPED_INTO = 'input, textarea, select';

/** Whether a key is typed into something. */
export function isTyping({ target }: Event): boolean {
  return (target as Element).closest?.(TYPED_INTO) !== null;
}

/** Whether a key leads into the search field. */
export function leadsToFilter(
  event: KeyboardEvent,
  { fleet, router }: Pick<App, 'fleet' | 'router'>,
): boolean {
  if (event.defaultPrevented || event.altKey || document.querySelector('dialog[open]')) return false;
  const typing = isTyping(event);
  if (!event.ctrlKey && !event.metaKey) return event.key === '/' && !typing;
  // Long tables are drawn in part only: the browser's own search would miss most of them. A second press reaches it.
  return event.key === 'f' && !typing && router.route.page === 'board' && fleet.nodes.size > 50;
}

/** Whether a key opens the list of everything that one can go to. */
export function leadsToJump({ altKey, ctrlKey, defaultPrevented, key, metaKey }: KeyboardEvent): boolean {
  return (
    key === 'k' &&
    (ctrlKey || metaKey) &&
    !altKey &&
    !defaultPrevented &&
    !document.querySelector('dialog[open]')
  );
}

/** Leads to the first GPU, or person, that the page shows; false if there is none yet. Then it leads there once there is one. */
export function focusResults(): boolean {
  // What was typed last is drawn first: a result that goes away takes the focus with it.
  flushSync();
  if (focusFirst()) return true;
  // Cards and map come when they are first wanted. Until they are here, whoever does anything else means that.
  const from = document.activeElement;
  const drawn = new MutationObserver(() => {
    if (document.activeElement !== from || focusFirst()) stop();
  });
  const stop = () => {
    drawn.disconnect();
    for (const kind of OTHERWISE) document.removeEventListener(kind, stop, true);
  };
  for (const kind of OTHERWISE) document.addEventListener(kind, stop, true);
  drawn.observe(document.body, { childList: true, subtree: true });
  return false;
}

const OTHERWISE = ['keydown', 'pointerdown'] as const;

function focusFirst(): boolean {
  const first = document.querySelector<HTMLElement>(
    'main :is(.cell[tabindex="0"], .map [tabindex="0"], .cards article a, .lines a, tbody th a)',
  );
  first?.focus();
  return first !== null;
}

/** At once: the next letter is meant for the field already, and would be a key of the page otherwise. */
export function focusFilter(): void {
  const field = document.getElementById('filter');
  if (!(field instanceof HTMLInputElement)) return;
  // On a phone it is behind a button.
  if (!field.checkVisibility()) field.parentElement?.querySelector('button')?.click();
  field.focus();
  field.select();
}
