import { axisOf, dayName, dayOf, dayStart, daysOf, type Days } from '../../../state/axis';
import type { App } from '../../../state/context';

// So few GPUs are all shown at first.
const OPEN_UP_TO = 32;
const ALL = '*';
// No node is called so.
const NONE = '.';

/** Which days the lanes show and which nodes are open; it is in the address, so that a link shows the same. */
export class LaneView {
  constructor(private readonly app: Pick<App, 'router' | 'clock' | 'fleet'>) {}

  get days(): Days {
    return daysOf(this.app.router.query.get('days'));
  }
  set days(days: Days) {
    this.app.router.setQuery({ days: days === daysOf(null) ? null : String(days) });
  }

  readonly today = $derived.by(() => dayStart(this.app.clock.second));
  /** That of the moment that is shown. */
  #usual = $derived.by(() => dayStart(this.app.clock.coarse));
  readonly first = $derived.by(() => dayOf(this.app.router.query.get('day')) ?? this.#usual);
  readonly axis = $derived.by(() => axisOf(this.first, this.days));

  /** To other days: so many of these ranges later. */
  step(ranges: number): void {
    this.show(dayStart(this.first, ranges * this.days));
  }
  show(day: number): void {
    this.app.router.setQuery({ day: day === this.#usual ? null : dayName(day) });
  }

  #open = $derived.by(() => this.app.router.query.get('open'));
  #named = $derived.by(() => new Set((this.#open ?? '').split(',')));
  #few = $derived.by(() => this.app.fleet.gpus.size <= OPEN_UP_TO);

  isOpen(node: string): boolean {
    if (this.#open === null) return this.#few;
    return this.#open === ALL || this.#named.has(encodeURIComponent(node));
  }

  toggle(node: string): void {
    const names = [...this.app.fleet.nodes.keys()];
    const open = names.filter((name) => (name === node ? !this.isOpen(name) : this.isOpen(name)));
    this.#write(open.length < names.length ? open.map(encodeURIComponent).join(',') || NONE : ALL);
  }

  toggleAll(open: boolean): void {
    this.#write(open ? ALL : NONE);
  }

  #write(open: string): void {
    const usual = this.#few ? ALL : NONE;
    this.app.router.setQuery({ open: open === usual ? null : open });
  }
}
