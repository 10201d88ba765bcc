/** What is about who looks: it needs nothing of the fleet. */
export type AccountPart = 'sign-in' | 'sign-in/link' | 'account' | 'audit';

export type Route =
  | { page: 'board' }
  | { page: 'node'; name: string }
  | { page: 'gpu'; uuid: string }
  | { page: 'people' | 'bookings' | 'usage' }
  | { page: 'person'; name: string }
  | { page: 'account'; part: AccountPart }
  | { page: 'missing' };

export function parseRoute(path: string): Route {
  if (/^(sign-in(\/link)?|account|audit)$/.test(path)) return { page: 'account', part: path as AccountPart };
  const [first = '', second, ...rest] = path.split('/').map(decode);
  if (rest.length) return { page: 'missing' };
  if (second === undefined || second === '') {
    if (first === '' || first === 'index.html') return { page: 'board' };
    if (first === 'people' || first === 'bookings' || first === 'usage') return { page: first };
  } else if (first === 'nodes') return { page: 'node', name: second };
  else if (first === 'gpus') return { page: 'gpu', uuid: second };
  else if (first === 'people') return { page: 'person', name: second };
  return { page: 'missing' };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/**
 * What the history remembers of a step: that it shows a detail, or that one was opened from it; a pair has one number.
 * Which step it is, how the board was that one came from, and which step that was.
 */
interface Step {
  place: number;
  board?: string;
  below?: number | undefined;
  detail?: number;
  under?: number;
}

/** The moment of the past that an address asks for, in Unix seconds; a screen on a wall has no hands to come back. */
export function momentOf(query: URLSearchParams): number | null {
  const text = (!query.has('wall') && query.get('at')) || '';
  const at = /^-?[\d.]+$/.test(text) ? Number(text) : Date.parse(text) / 1000;
  // Nobody knows the future; a viewer's own clock may be wrong by hours.
  return at > 0 && at < Date.now() / 1000 + 86_400 ? Math.floor(at) : null;
}

/** Where we are, below whatever path the board is served under. */
export class Router {
  readonly base: URL;
  #path = $state('');
  #query = $state.raw(new URLSearchParams());
  #route = $derived(parseRoute(this.#path));
  #at = $derived(momentOf(this.#query));
  #step: Step | null = null;
  /** The address that one came from, where a step led back to what was seen before. */
  cameBackFrom: string | null = null;

  constructor(base: URL) {
    this.base = base;
    this.#read();
  }

  get route(): Route {
    return this.#route;
  }

  get query(): URLSearchParams {
    return this.#query;
  }

  /** The moment of the past that is shown; null: now. All links stay in it. */
  get at(): number | null {
    return this.#at;
  }

  /** The address of what is shown now. */
  get here(): string {
    const text = this.#query.toString();
    return this.base.pathname + this.#path + (text ? `?${text}` : '');
  }

  /** The address of a page of ours, `path` being relative to the base. */
  href(path: string, query: Record<string, string> = {}): string {
    const url = new URL(path, this.base);
    if (this.#at !== null) url.searchParams.set('at', String(this.#at));
    for (const [key, value] of Object.entries(query)) url.searchParams.set(key, value);
    return url.pathname + url.search;
  }

  /** The address of the board as it was last, without a detail. */
  get board(): string {
    if (this.#route.page !== 'board') return this.#step?.board ?? this.href('');
    const query = new URLSearchParams(this.#query);
    query.delete('gpu');
    return this.href('', Object.fromEntries(query));
  }

  node = (name: string): string => this.href(`nodes/${encodeURIComponent(name)}`);
  gpu = (uuid: string): string => this.href(`gpus/${encodeURIComponent(uuid)}`);

  go(href: string): void {
    // A detail that is open has a step of its own above the board's.
    const detail = this.#query.has('gpu') && this.#step?.detail ? 1 : 0;
    const below = this.#route.page === 'board' ? this.#place - detail : this.#step?.below;
    history.pushState({ place: this.#place + 1, board: this.board, below } satisfies Step, '', href);
    this.cameBackFrom = null;
    this.#read();
    scrollTo(0, 0);
  }

  get #place(): number {
    return this.#step?.place ?? 0;
  }

  /** Leave for the board as it was last: by the same steps back, so that it is where it was, too. */
  leave(): void {
    const below = this.#step?.below;
    if (below !== undefined) history.go(below - this.#place);
    else {
      const from = this.here;
      this.go(this.board);
      this.cameBackFrom = from;
    }
  }

  /** Change the shared part of the view, without a new step in the history unless that is wanted. */
  setQuery(change: Record<string, string | null>, isStep = false): void {
    const query = new URLSearchParams(this.#query);
    for (const [key, value] of Object.entries(change)) {
      if (value === null || value === '') query.delete(key);
      else query.set(key, value);
    }
    const text = query.toString();
    const href = location.pathname + (text ? `?${text}` : '');
    if (isStep) history.pushState((this.#step = { ...this.#step, place: this.#place + 1 }), '', href);
    else history.replaceState(history.state, '', href);
    this.#query = query;
  }

  /** The detail of a GPU is open, or none: a step of its own in the history, so that Back closes it. */
  showDetail(uuid: string | null): void {
    if (this.#query.get('gpu') === uuid) return;
    if (uuid && !this.#step?.detail) {
      const pair = Date.now();
      const place = this.#place;
      history.replaceState({ ...this.#step, place, under: pair }, '');
      this.#step = { detail: pair, place: place + 1 };
      history.pushState(this.#step, '');
    }
    this.setQuery({ gpu: uuid });
  }

  #moved(): void {
    const left = this.#query.has('gpu') ? null : this.#step;
    const [from, place] = [this.here, this.#place];
    this.#read();
    this.cameBackFrom = this.#place < place ? from : null;
    // A detail that was closed has left a step that shows the same as the one under it: Back goes over both.
    if (left?.detail && left.detail === this.#step?.under) history.back();
  }

  /** Follow the browser's buttons, and plain clicks on our own links. */
  start(): () => void {
    const moved = () => this.#moved();
    const clicked = (event: MouseEvent) => {
      if (
        event.defaultPrevented ||
        event.button ||
        event.metaKey ||
        event.ctrlKey ||
        event.shiftKey ||
        event.altKey
      )
        return;
      const link = (event.target as Element).closest?.('a[href]');
      if (!(link instanceof HTMLAnchorElement) || link.target || link.hasAttribute('download')) return;
      const url = new URL(link.href);
      if (url.origin !== this.base.origin || !url.pathname.startsWith(this.base.pathname)) return;
      if (parseRoute(url.pathname.slice(this.base.pathname.length)).page === 'missing') return;
      event.preventDefault();
      this.go(url.pathname + url.search);
    };
    addEventListener('popstate', moved);
    document.addEventListener('click', clicked);
    return () => {
      removeEventListener('popstate', moved);
      document.removeEventListener('click', clicked);
    };
  }

  #read(): void {
    this.#path = location.pathname.startsWith(this.base.pathname)
      ? location.pathname.slice(this.base.pathname.length)
      : '';
    this.#query = new URLSearchParams(location.search);
    this.#step = history.state as Step | null;
  }
}
