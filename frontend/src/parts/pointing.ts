import type { Selection } from '../state/selection.svelte';

/** Listeners for anything that holds elements with `data-uuid`: pointing shows a tip, choosing opens the detail. */
export function pointing(selection: Selection, touched: () => void = () => {}) {
  const find = (event: Event): HTMLElement | null =>
    (event.target as Element).closest<HTMLElement>('[data-uuid]');
  return {
    onpointerover(event: PointerEvent) {
      touched();
      const element = find(event);
      if (event.pointerType !== 'mouse') return;
      if (element) selection.point(element.dataset['uuid']!, element.getBoundingClientRect());
      else selection.leave();
    },
    onpointerleave() {
      selection.leave();
    },
    onfocusin(event: FocusEvent) {
      touched();
      const element = find(event);
      if (element?.matches(':focus-visible'))
        selection.point(element.dataset['uuid']!, element.getBoundingClientRect());
    },
    onfocusout() {
      selection.leave();
    },
    onclick(event: MouseEvent) {
      if ((event.target as Element).closest('a, button')) return;
      const element = find(event);
      if (element) selection.pin(element.dataset['uuid']!, element.getBoundingClientRect());
    },
  };
}
