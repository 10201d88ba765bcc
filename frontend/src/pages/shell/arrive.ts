import { TYPED_INTO } from './focus';
import { parseRoute, type Router } from '../../state/router.svelte';

// A page that comes over the network may take a while; whoever has gone elsewhere meanwhile is left alone.
const PATIENCE_MS = 20_000;
const DRAWN_MS = 1500;
let arrivals = 0;

/** On a new page the focus is on its heading, which is read out; whoever comes back is where they left. */
export function arrive(main: HTMLElement, router: Pick<Router, 'base' | 'cameBackFrom'>): void {
  const before = document.activeElement;
  if (before?.closest(TYPED_INTO)) return;
  const from = router.cameBackFrom;
  const arrival = ++arrivals;
  const began = performance.now();
  const settle = (): boolean => {
    const heading = main.querySelector<HTMLElement>('h1:not(.coming)');
    if (!heading) return false;
    const left = from === null ? null : ledTo(main, from, router.base);
    // Long tables are drawn in part, and filled when the browser has scrolled.
    if (from !== null && !left && performance.now() - began < DRAWN_MS) return false;
    heading.tabIndex = -1;
    (left ?? heading).focus({ preventScroll: true });
    left?.scrollIntoView({ block: 'nearest' });
    return true;
  };
  const look = () => {
    const moved = document.activeElement !== before && document.activeElement !== document.body;
    const over = arrival !== arrivals || performance.now() - began > PATIENCE_MS;
    if (moved || over || settle()) return;
    requestAnimationFrame(look);
  };
  look();
}

/** What on this page leads to an address: a cell by its GPU, or a link. */
function ledTo(main: HTMLElement, address: string, base: URL): HTMLElement | null {
  const link = `a[href="${CSS.escape(address)}"]`;
  const route = parseRoute(address.slice(base.pathname.length).split('?')[0]!);
  const gpu = route.page === 'gpu' ? `[data-uuid="${CSS.escape(route.uuid)}"]` : null;
  return (
    (gpu && main.querySelector<HTMLElement>(`.cell${gpu}, ${gpu} ${link}`)) ||
    main.querySelector<HTMLElement>(`[role="rowheader"] ${link}`) ||
    main.querySelector<HTMLElement>(link)
  );
}
