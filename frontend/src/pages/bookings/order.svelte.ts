import { untrack } from 'svelte';
import {
  Bookings,
  type BookedPlaces,
  type BookingAnswer,
  type BookingView,
  type LimitsView,
} from '../../api/bookings';
import type { AccountError } from '../../api/asker';
import type { GpuRow } from '../../api/wire';
import {
  AHEAD_SECONDS,
  cardsOf,
  clashOn,
  fieldMoment,
  holdsOf,
  HOUR,
  lengthsFrom,
  nextGap,
  obstacleOf,
  spareFor,
  toldUntil,
  type Hold,
  type Length,
  type Obstacle,
  type Span,
} from '../../state/booking';
import type { App } from '../../state/context';
import { refusalOf } from './refused';

const MINUTE = 60;
const AGAIN_SECONDS = 10;

/** How many GPUs these places are now. */
export const countOf = (places: readonly BookedPlaces[], { fleet }: Pick<App, 'fleet'>): number =>
  places.reduce((sum, { node, gpus }) => sum + (gpus?.length ?? cardsOn(node, fleet).length), 0);

const cardsOn = (node: string, fleet: App['fleet']) =>
  cardsOf((fleet.nodes.get(node)?.liveGpus ?? []).map(({ live }) => live));

/** What somebody is about to book: news changes what is around it, never what was chosen. */
export class Order {
  #app: App;
  #desk: Bookings;
  #chosen = $state.raw<ReadonlySet<number>>(new Set());
  /** Null: now. */
  #start = $state<number | null>(null);
  #length = $state<Length['key'] | null>('4h');
  #end = $state(0);
  #typed = $state.raw({ start: '', end: '' });
  #limits = $state.raw<LimitsView | null>(null);
  #known = $state.raw<readonly BookingView[] | null>(null);
  /** What begins later is not among it. */
  #until = $state(-Infinity);
  #askedUntil = -Infinity;
  /** The board's. */
  #tomorrow = $state(Infinity);
  /** Which state of the booking was seen. */
  #revision: number | null = null;
  #looks = 0;
  #seen = 0;
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
  readonly gpus = $derived.by(() => cardsOn(this.node, this.#app.fleet));
  readonly holds = $derived.by(() =>
    holdsOf(this.node, this.#known ?? [], this.gpus, this.now, this.booking),
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
      this.#revision = booking.revision;
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
    // An end that was drawn or typed may be a usual one, too.
    return this.#length ?? this.lengths.find(({ end }) => end === this.#end)?.key ?? null;
  }
  /** Whether the board has said what is booked there, in the time that is chosen. */
  get isKnown(): boolean {
    return this.span.end <= this.#until;
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

  /** How many GPUs they are. */
  get count(): number {
    return this.isFixed ? countOf(this.booking!.places, this.#app) : this.#chosen.size;
  }

  /** Whether it is more of one's own than is booked already: then policies hold. */
  get isMore(): boolean {
    const { booking, count, span } = this;
    if (!booking) return true;
    const isLarger = count > countOf(booking.places, this.#app);
    return booking.is_mine && (span.start < booking.start || span.end > booking.end || isLarger);
  }

  get #about() {
    return { me: this.#app.session.person, now: this.now, tomorrow: this.#tomorrow };
  }

  /** Why a GPU cannot be had for what is chosen; what has begun is in nobody's way but that of bookings. */
  obstacle(number: number): Obstacle | null {
    const gpu = this.#gpu(number);
    if (!gpu) return null;
    const hold = this.hasBegun ? clashOn(number, this.span, this.holds) : null;
    if (this.hasBegun) return hold && { kind: 'clash', hold };
    const found = obstacleOf(gpu, this.span, this.holds, this.#about);
    return found?.kind === 'in-use' && this.#had(number) ? null : found;
  }

  /** Whether it is booked for that time already: then nobody who is on it is asked again. */
  #had(number: number): boolean {
    const { booking, node, span } = this;
    if (!booking || span.start < booking.start) return false;
    return booking.places.some((one) => one.node === node && (one.gpus?.includes(number) ?? true));
  }

  #gpu(number: number): GpuRow | undefined {
    return this.gpus.find(({ index }) => index === number);
  }

  /** From when on all that is chosen can be had for so long. */
  get gap(): number | null {
    if (this.hasBegun || this.span.end <= this.span.start) return null;
    const chosen = this.gpus.filter(({ index }) => this.#chosen.has(index));
    return nextGap(chosen, this.span, this.holds, this.#about);
  }

  /** One that could be had instead. */
  spare(number: number): GpuRow | null {
    const gpu = this.#gpu(number);
    if (!gpu || this.isFixed || this.hasBegun) return null;
    const others = this.gpus.filter(({ index }) => !this.#chosen.has(index));
    return spareFor(gpu, others, this.span, this.holds, this.#about);
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

  swap(number: number, other: number): void {
    this.toggle(number);
    this.toggle(other);
  }

  take(length: Length['key']): void {
    this.#length = length;
    this.refused = null;
  }

  /** What was typed and is still what holds, as it was typed: a clock that is set may have made another time of it. */
  get typed(): { text: string; at: number }[] {
    const { start, end } = this.span;
    const fields = [
      { text: this.#typed.start, at: start },
      { text: this.#typed.end, at: end },
    ];
    return fields.filter(({ text, at }) => fieldMoment(text) === at);
  }

  setStart(text: string): void {
    this.#start = fieldMoment(text);
    this.#typed = { ...this.#typed, start: text };
    this.refused = null;
  }

  setEnd(text: string): void {
    this.#end = fieldMoment(text) ?? this.span.end;
    this.#typed = { ...this.#typed, end: text };
    this.#length = null;
    this.refused = null;
  }

  /** Another time, as long or shorter. */
  move(start: number, end: number): void {
    if (!this.hasBegun) this.#start = start <= this.now ? null : start;
    this.#end = end;
    this.#length = null;
    this.refused = null;
  }

  /** Look as long as it is open, each time a while after the last answer; returns the stop. */
  follow(): () => void {
    let stopped = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const round = async () => {
      await this.look();
      if (!stopped) timer = setTimeout(() => void round(), AGAIN_SECONDS * 1000);
    };
    untrack(() => void round());
    return () => {
      stopped = true;
      clearTimeout(timer);
    };
  }

  /** What is booked there, and how much one may. */
  async look(): Promise<void> {
    const number = ++this.#looks;
    // Beyond what is chosen as far as a gap is looked for.
    const until = Math.max(this.now, this.span.end) + AHEAD_SECONDS;
    this.#askedUntil = until;
    const [list] = await Promise.allSettled([
      this.#desk.list(this.now, until, this.node),
      this.lookAtLimits(),
    ]);
    if (list.status !== 'fulfilled' || number < this.#seen) return;
    this.#seen = number;
    this.#known = list.value.bookings;
    this.#until = toldUntil(list.value) ?? until;
    this.#tomorrow = list.value.tomorrow;
  }

  /** What is worth knowing of another time: of one that was not asked about, what is booked then, too. */
  async lookThere(): Promise<void> {
    await (this.span.end > this.#askedUntil ? this.look() : this.lookAtLimits());
  }

  /** How much one may in the time that is chosen; of another time nothing is known. */
  async lookAtLimits(): Promise<void> {
    const { start, end } = this.span;
    if (end <= start) return;
    const told = await this.#desk.limits(start, end, this.booking?.id).catch(() => null);
    if (told && start === this.span.start && end === this.span.end) this.#limits = told;
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
      this.refused = refusalOf(error);
      await this.look();
      // Who has read what it is now, and wants it otherwise all the same, gets it.
      if (this.refused?.code === 'booking-outdated')
        this.#revision = this.#known?.find(({ id }) => id === this.booking?.id)?.revision ?? null;
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
    return this.#desk.edit(this.booking!.id!, {
      ...moved,
      end,
      comment: this.comment,
      revision: this.#revision,
    });
  }
}
