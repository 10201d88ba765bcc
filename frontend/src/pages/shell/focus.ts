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

/** At once: the next letter is meant for the field already, and would be a key of the page otherwise. */
export function focusFilter(): void {
  const field = document.getElementById('filter');
  if (!(field instanceof HTMLInputElement)) return;
  // On a phone it is behind a button.
  if (!field.checkVisibility()) field.parentElement?.querySelector('button')?.click();
  field.focus();
  field.select();
}
