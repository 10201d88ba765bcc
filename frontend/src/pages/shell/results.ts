import { flushSync } from 'svelte';

/** Leads to the node that was named, or the first GPU or person that the page shows; false if there is none yet. Then it leads there once there is one. */
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
  // Whoever has named one node goes to that.
  const named = document.querySelector<HTMLElement>('main [data-results] a');
  if (named) {
    named.focus();
    return true;
  }
  const first = document.querySelector<HTMLElement>(
    'main :is(.cell[tabindex="0"], .map [tabindex="0"], .cards article a, .lines a, tbody th a)',
  );
  first?.focus();
  return first !== null;
}
