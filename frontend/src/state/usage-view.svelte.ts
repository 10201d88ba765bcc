import { historyOf } from '../api/history';
import type { UsageBy, UsageSpan } from '../api/usage';
import { viewersZone } from '../text/zone';
import {
  dayOf,
  dayText,
  isZone,
  nameOf,
  neighbour,
  parseDay,
  queryOf,
  readStretch,
  reversedDays,
  soFar,
  spanOfStretch,
  stretchOf,
  type Day,
  type Period,
  type Stretch,
} from './calendar';
import type { App } from './context';

export const BYS = ['group', 'person', 'model', 'node', 'program', 'week'] as const;
/** Rows by which somebody could be recognised. */
export const NAMED: readonly UsageBy[] = ['group', 'person', 'program'];

/** Which time the page is about and how its rows are made; it is in the address, so that a link shows the same. */
export class UsageView {
  constructor(private readonly app: Pick<App, 'clock' | 'fleet' | 'router'>) {}

  /** The board's own zone: its months begin at midnight there. */
  #zone = $derived.by(() => {
    const zone = this.app.fleet.board?.time_zone;
    return isZone(zone) ? zone : viewersZone();
  });
  // As text: a new day is news, a new second is none. It is always now: whoever looks at the past has chosen none of
  // these days by that.
  #today = $derived.by(() => dayText(dayOf(this.app.clock.second, this.#zone)));
  #stretch = $derived.by(() => readStretch(this.app.router.query, parseDay(this.#today)!));
  #span = $derived.by(() => spanOfStretch(this.#stretch, this.#zone));

  get zone(): string {
    return this.#zone;
  }

  get stretch(): Stretch {
    return this.#stretch;
  }

  get today(): Day {
    return parseDay(this.#today)!;
  }

  /** Two days that the address asks for and that are none: something else is shown. */
  get reversed(): { from: Day; to: Day } | null {
    return reversedDays(this.app.router.query);
  }

  get soFar(): { day: number; days: number } | null {
    return soFar(this.#stretch, this.today);
  }

  /** Whether there is nothing behind it yet. */
  get isLast(): boolean {
    return this.#span.to > this.app.clock.second;
  }

  get isToCome(): boolean {
    return this.#span.from > this.app.clock.second;
  }

  /** As the API is asked: a month that is over is compared with the one before it, all else with as long a time. */
  get asked(): UsageSpan {
    const isMonth = this.#stretch.period === 'month' && !this.soFar;
    return isMonth ? { month: nameOf(this.#stretch) } : this.#span;
  }

  get span(): { from: number; to: number } {
    return this.#span;
  }

  /** How rows are made, as somebody chose; null: nobody has. */
  get chosenBy(): UsageBy | null {
    const by = this.app.router.query.get('by') as UsageBy;
    return BYS.includes(by) ? by : null;
  }

  set chosenBy(by: UsageBy | null) {
    this.app.router.setQuery({ by });
  }

  get hasHistory(): boolean {
    return historyOf(this.app.fleet.board) !== null;
  }

  show(stretch: Stretch): void {
    this.app.router.setQuery(queryOf(stretch));
  }

  /** The week, month or so that is shown already, or the day on which it begins. */
  choose(period: Period | 'dates'): void {
    const { first } = this.#stretch;
    const now = this.soFar ? this.today : first;
    this.show(period === 'dates' ? { ...this.#stretch, period } : stretchOf(period, now));
  }

  neighbour(step: -1 | 1): Stretch {
    return neighbour(this.#stretch, step);
  }
}
