import { Bookings, type BookingAnswer, type BookingView, type LimitsView } from '../../api/bookings';
import { AccountError } from '../../api/asker';
import {
  AHEAD_SECONDS,
  cardsOf,
  clashOn,
  fieldMoment,
  holdsOf,
  HOUR,
  lengthsFrom,
  obstacleOf,
  type Hold,
  type Length,
  type Span,
} from '../../state/booking';
import type { App } from '../../state/context';

const MINUTE = 60;

/** What somebody is about to book: news changes what is around it, never what was chosen. */
export class Order {
  #app: App;
  #desk: Bookings;
  #chosen = $state.raw<ReadonlySet<number>>(new Set());
  /** Null: now. */
  #start = $state<number | null>(null);
  #length = $state<Length['key'] | null>('4h');
  #end = $state(0);
  #limits = $state.raw<LimitsView | null>(null);
  #known = $state.raw<readonly BookingView[]>([]);
  comment = $state('');
  waiting = $state(false);
  refused = $state.raw<AccountError | null>(null);
  done = $state.raw<BookingAnswer | null>(null);

  readonly now = $derived.by(() => Math.floor(this.#app.clock.coarse / MINUTE) * MINUTE);
  readonly span = $derived.by(() => {
    const start = this.#start ?? this.now;
    const usual = this.lengths.find(({ key }) => key === this.#length);
    return { start, end: usual?.end ?? this.#end };
  });
  readonly gpus = $derived.by(() =>
    cardsOf((this.#app.fleet.nodes.get(this.node)?.liveGpus ?? []).map(({ live }) => live)),
  );
  readonly holds = $derived.by(() =>
    holdsOf(this.node, this.#known, this.gpus, this.now, this.booking?.id ?? null),
  );
  readonly lengths = $derived.by(() => lengthsFrom(this.#start ?? this.now));

  constructor(
    app: App,
    readonly node: string,
    gpus: readonly number[],
    readonly booking: BookingView | null,
    span: Span | null = null,
  ) {
    this.#app = app;
    this.#desk = new Bookings(app.client, app.session);
    this.#chosen = new Set(gpus);
    if (booking) {
      this.#start = booking.start;
      this.#length = null;
      this.#end = booking.end;
      this.comment = booking.comment ?? '';
      return;
    }
    const seconds = app.preferences.bookingSeconds;
    this.#length = seconds === 2 * HOUR ? '2h' : '4h';
    if (span) this.move(span.start, span.end);
  }

  get chosen(): ReadonlySet<number> {
    return this.#chosen;
  }
  get length(): Length['key'] | null {
    return this.#length;
  }
  get limits(): LimitsView | null {
    return this.#limits;
  }
  /** Whether it begins as soon as it is booked. */
  get isNow(): boolean {
    return this.#start === null;
  }
  /** Whether it stays where it is: a whole node, or GPUs of several. */
  get isFixed(): boolean {
    const [only, ...others] = this.booking?.places ?? [];
    return only !== undefined && (only.gpus === null || others.length > 0);
  }
  /** Whether it has begun: then its end and its comment alone can change. */
  get hasBegun(): boolean {
    return this.booking?.state === 'running';
  }

  /** Why a GPU cannot be had for what is chosen. */
  obstacle(number: number) {
    const gpu = this.gpus.find(({ index }) => index === number);
    const about = { me: this.#app.session.person, now: this.now };
    return gpu ? obstacleOf(gpu, this.span, this.holds, about) : null;
  }

  /** What is in the way of another end. */
  clashUntil(end: number): Hold | null {
    const span = { start: this.span.start, end };
    for (const number of this.#chosen) {
      const hold = clashOn(number, span, this.holds);
      if (hold) return hold;
    }
    return null;
  }

  toggle(number: number): void {
    const chosen = new Set(this.#chosen);
    if (!chosen.delete(number)) chosen.add(number);
    this.#chosen = chosen;
    this.refused = null;
  }

  take(length: Length['key']): void {
    this.#length = length;
    this.refused = null;
  }

  setStart(text: string): void {
    this.#start = fieldMoment(text);
    this.refused = null;
  }

  setEnd(text: string): void {
    this.#end = fieldMoment(text) ?? this.span.end;
    this.#length = null;
    this.refused = null;
  }

  /** Another time, as long or shorter. */
  move(start: number, end: number): void {
    this.#start = start <= this.now ? null : start;
    this.#end = end;
    this.#length = null;
    this.refused = null;
  }

  /** What is booked there, and how much one may; again as long as it is open. */
  async look(): Promise<void> {
    const [list, limits] = await Promise.allSettled([
      this.#desk.list(this.now, this.now + AHEAD_SECONDS, this.node),
      this.#desk.limits(),
    ]);
    if (list.status === 'fulfilled') this.#known = list.value.bookings;
    if (limits.status === 'fulfilled') this.#limits = limits.value;
  }

  async send(): Promise<void> {
    const { start, end } = this.span;
    if (this.waiting || !this.#chosen.size || end <= start) return;
    this.waiting = true;
    this.refused = null;
    try {
      this.done = this.booking ? await this.#edit() : await this.#book();
      if (this.isNow) this.#app.preferences.set({ bookingSeconds: end - start });
    } catch (error) {
      this.refused = error instanceof AccountError ? error : new AccountError(0, String(error));
      await this.look();
    } finally {
      this.waiting = false;
    }
  }

  #places() {
    return [{ node: this.node, gpus: [...this.#chosen].sort((a, b) => a - b) }];
  }

  #book(): Promise<BookingAnswer> {
    const { end } = this.span;
    return this.#desk.book({ places: this.#places(), start: this.#start, end, comment: this.comment });
  }

  #edit(): Promise<BookingAnswer> {
    const { start, end } = this.span;
    const moved = this.hasBegun ? {} : { start, ...(this.isFixed ? {} : { places: this.#places() }) };
    return this.#desk.edit(this.booking!.id!, { ...moved, end, comment: this.comment });
  }
}
