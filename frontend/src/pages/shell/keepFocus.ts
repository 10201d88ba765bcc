import type { App } from '../../state/context';

/** What has the focus on the board: a GPU, or the name of a node in its row. */
const HOLDERS = 'main :is([data-uuid], [data-row] [role="rowheader"])';
const FOCUSED = ':is(a[href], [tabindex])';

interface Held {
  element: HTMLElement;
  uuid: string | undefined;
  row: string | undefined;
  page: unknown;
  left: number;
  top: number;
}

/**
 * Whoever works with keys stays in place: where what has the focus is filtered away, or its node leaves, the nearest
 * that is left has it, or the line that says how many are left. Returns its stop.
 */
export function keepFocus(main: HTMLElement, app: App): () => void {
  let held: Held | null = null;
  const take = () => (held = heldBy(document.activeElement, app));
  // Who goes elsewhere by themselves is not called back; what is taken away is seen before this.
  const leave = () => setTimeout(() => document.activeElement === document.body && (held = null));
  const drawn = new MutationObserver(() => {
    if (!held) return;
    if (document.activeElement === held.element) return void take();
    if (document.activeElement !== document.body || held.page !== app.router.route) return;
    const lost = held;
    if (lost.element.isConnected) lost.element.focus({ preventScroll: true });
    // What is only scrolled away comes back.
    else if (!isShown(lost, app)) (nearest(main, lost) ?? lineOf(main))?.focus({ preventScroll: true });
  });
  main.addEventListener('focusin', take);
  main.addEventListener('focusout', leave);
  drawn.observe(main, { childList: true, subtree: true });
  take();
  return () => {
    main.removeEventListener('focusin', take);
    main.removeEventListener('focusout', leave);
    drawn.disconnect();
  };
}

function heldBy(element: Element | null, { router }: App): Held | null {
  const holder = element?.closest<HTMLElement>(HOLDERS);
  if (!holder || !(element instanceof HTMLElement) || router.route.page !== 'board') return null;
  return {
    element,
    uuid: holder.dataset['uuid'],
    row: holder.closest<HTMLElement>('[data-row]')?.dataset['row'],
    page: router.route,
    ...spotOf(element),
  };
}

/** Where on the page something is, however far that is scrolled. */
function spotOf(element: Element): { left: number; top: number } {
  const { left, top } = element.getBoundingClientRect();
  return { left: left + scrollX, top: top + scrollY };
}

function isShown({ uuid, row }: Held, { fleet, view }: App): boolean {
  const gpu = uuid === undefined ? null : fleet.gpus.get(uuid);
  if (gpu === null) return view.sections.some(({ rows }) => rows.some(({ key }) => key === row));
  return !!gpu && view.shown.has(gpu);
}

/** Of the same row if there is one left, else of any: the one that lies nearest to where it was. */
function nearest(main: HTMLElement, { uuid, row, left, top }: Held): HTMLElement | null {
  const kind = uuid === undefined ? '[role="rowheader"]' : '[data-uuid]';
  const line = row === undefined ? null : main.querySelector(`[data-row="${CSS.escape(row)}"]`);
  for (const root of [line, main]) {
    let best: HTMLElement | null = null;
    let least = Infinity;
    for (const each of root?.querySelectorAll<HTMLElement>(kind) ?? []) {
      const target = each.matches(FOCUSED) ? each : each.querySelector<HTMLElement>(FOCUSED);
      const spot = spotOf(each);
      const away = Math.hypot(spot.left - left, spot.top - top);
      if (target && away < least) [best, least] = [target, away];
    }
    if (best) return best;
  }
  return null;
}

/** How many the filter leaves; the heading where nothing is filtered. */
function lineOf(main: HTMLElement): HTMLElement | null {
  const line = main.querySelector<HTMLElement>('[data-results]:not(:empty)') ?? main.querySelector('h1');
  if (line) line.tabIndex = -1;
  return line;
}
