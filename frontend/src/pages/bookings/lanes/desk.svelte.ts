import { Bookings, type BookingAnswer, type BookingView } from '../../../api/bookings';
import { odditiesOf, type Oddity } from '../../../state/agenda';
import type { GpuRow } from '../../../api/wire';
import { cardsOf, holdsOf, obstacleOf, withChanged, type Obstacle, type Span } from '../../../state/booking';
import type { App } from '../../../state/context';
import { boxesOf, claimsOf, gapAt, offerAt, type LaneBox, type LaneBooking } from '../../../state/lanes';
import { notesText } from '../notes';
import { refusalOf, refusalText } from '../refused';
import type { LaneView } from './view.svelte';

/** A place in the lanes: of a folded node it is its line. */
export interface LanePlace {
  node: string;
  number: number | null;
  at: number;
}

/** What somebody could book, or draws with the mouse. */
export interface FreeSpan extends Span {
  node: string;
  numbers: number[];
  /** How long nobody has it. */
  gap: Span | null;
}

/** What is open above the lanes: a form, or what can be done with a booking. */
export type Opened = ({ kind: 'form'; offer: FreeSpan } | { kind: 'box'; booking: LaneBooking }) & {
  /** Then the keys go on from there when it is closed. */
  byKeys: boolean;
};

/** What the lanes are about, and what somebody does in them. */
export class LaneDesk {
  #desk: Bookings;
  /** Those of the days that are shown, as the board has them. */
  known = $state.raw<readonly BookingView[]>([]);
  /** What is not as booked, now; on other days nothing is. */
  readonly odd = $derived.by((): readonly Oddity[] => {
    const { clock, fleet } = this.app;
    const { start, end } = this.view.axis;
    if (clock.coarse < start || clock.coarse >= end) return [];
    const gpus = [...fleet.gpus.values()].map(({ record }) => record);
    return odditiesOf(this.known, gpus, clock.coarse);
  });
  /** When the next day begins for the board. */
  tomorrow = $state(Infinity);
  /** Of the time's column, in pixels. */
  width = $state(900);
  /** Where the keys are. */
  spot = $state.raw<LanePlace | null>(null);
  /** Where the mouse is. */
  offer = $state.raw<FreeSpan | null>(null);
  /** A booking as somebody wants it, until the board has said yes or no. */
  draft = $state.raw<BookingView | null>(null);
  opened = $state.raw<Opened | null>(null);
  /** Whether a mouse holds something; Esc lets go of it. */
  isDragging = false;
  /** Whether what it holds is over the lanes of another node. */
  isElsewhere = false;
  /** What was said last: a refusal, or what a key would do. */
  told = $state('');
  isRefused = $state(false);
  #waiting = false;

  /** As they are shown: with the one that is being moved where it is wanted. */
  readonly bookings = $derived.by(() =>
    this.draft ? this.known.map((one) => (one.id === this.draft!.id ? this.draft! : one)) : this.known,
  );
  readonly #byNode = $derived.by(() => {
    const found = new Map<string, BookingView[]>();
    for (const one of this.bookings)
      for (const { node } of one.places) found.set(node, [...(found.get(node) ?? []), one]);
    return found;
  });

  constructor(
    private readonly app: App,
    readonly view: LaneView,
    private readonly onchanged: (answer: BookingAnswer | null) => void,
  ) {
    this.#desk = new Bookings(app.client, app.session);
  }

  /** The keys are where a booking is. */
  #standOn({ places, start }: Pick<BookingView, 'places' | 'start'>): void {
    const place = places.find(({ node }) => node === this.spot?.node) ?? places[0];
    if (!place) return;
    const rows = cardsOf((this.app.fleet.nodes.get(place.node)?.gpus ?? []).map(({ record }) => record));
    const number = place.gpus?.[0] ?? rows[0]?.index ?? null;
    this.spot = { node: place.node, number, at: Math.max(start, this.view.axis.start) };
  }

  /** What is booked on a node. */
  on(node: string): readonly BookingView[] {
    return this.#byNode.get(node) ?? [];
  }

  /** The boxes of lanes of one node. */
  boxes(node: string, lanes: readonly GpuRow[]): LaneBox[] {
    const { clock, session } = this.app;
    const booked = this.on(node);
    const seen = { me: session.person, now: clock.coarse };
    return boxesOf(lanes, [...booked, ...claimsOf(lanes, booked)], this.view.axis, seen);
  }

  /** The first moment that can be booked. */
  get now(): number {
    return Math.floor(this.app.clock.coarse / 60) * 60;
  }

  /** What could be booked at a place; null: somebody has it, or it is over. */
  offerOn(node: string, number: number, at: number): FreeSpan | null {
    const { fleet, preferences } = this.app;
    const rows = fleet.nodes.get(node)?.gpus.map(({ record }) => record) ?? [];
    const gap = gapAt(number, at, holdsOf(node, this.on(node), rows, this.now), this.now);
    if (!gap || !this.isOffering) return null;
    return { node, numbers: [number], gap, ...offerAt(at, gap, preferences.bookingSeconds) };
  }

  /** Why the board would refuse what is offered, as it is now. */
  obstacle({ node, numbers, start, end }: FreeSpan): Obstacle | null {
    const { fleet, session } = this.app;
    const rows = fleet.nodes.get(node)?.liveGpus.map(({ live }) => live) ?? [];
    const holds = holdsOf(node, this.on(node), rows, this.now);
    const about = { me: session.person, now: this.now, tomorrow: this.tomorrow };
    const chosen = cardsOf(rows).filter(({ index }) => numbers.includes(index));
    return chosen.map((gpu) => obstacleOf(gpu, { start, end }, holds, about)).find(Boolean) ?? null;
  }

  /** The gap in which the keys are. */
  readonly walked = $derived.by((): FreeSpan | null => {
    const { node = '', number = null, at = 0 } = this.spot ?? {};
    const offer = number === null ? null : this.offerOn(node, number, at);
    // From where one has walked to, not from the start of the gap.
    return (
      offer && {
        ...offer,
        start: at,
        end: Math.min(offer.gap!.end, at + this.app.preferences.bookingSeconds),
      }
    );
  });

  /** Whether somebody may book at all by the lanes: the past is over. */
  get isOffering(): boolean {
    return this.app.router.at === null && this.app.connection.isCurrent;
  }

  /** Want a booking otherwise; what has begun has only another end. */
  want(booking: BookingView, change: Partial<Pick<BookingView, 'start' | 'end' | 'places'>>): void {
    const { start, end, places } = { ...booking, ...change };
    const now = this.app.clock.second;
    const begun = booking.state === 'running';
    if (this.#waiting || end <= Math.max(now, begun ? booking.start : start) || (!begun && start < now))
      return;
    this.draft = { ...booking, end, ...(begun ? {} : { start, places }) };
    this.tell('');
  }

  putBack(): void {
    this.draft = this.offer = null;
    this.isDragging = this.isElsewhere = false;
    this.tell('');
  }

  tell(text: string, isRefused = false): void {
    this.told = text;
    this.isRefused = isRefused;
  }

  /** Something was booked or changed: it is drawn at once. */
  changed(answer: BookingAnswer): void {
    this.take(answer);
    if (this.opened?.byKeys) this.#standOn(answer.booking);
    this.onchanged(answer);
  }

  /** Know what the board has answered to a change. */
  take({ booking, displaced }: BookingAnswer): void {
    this.known = withChanged(this.known, [booking, ...displaced]);
  }

  /** Let go of what a mouse holds; a hand moves nothing to another node. */
  async drop(): Promise<void> {
    if (!this.isElsewhere) return this.ask();
    const { say } = this.app.language;
    this.putBack();
    this.tell(say('lane_putBack', { reason: say('lane_otherNode') }), true);
  }

  /** Ask the board for what is wanted; what it refuses is put back. */
  async ask(): Promise<void> {
    const wanted = this.draft;
    const before = this.known.find(({ id }) => id === wanted?.id);
    if (!wanted || !before || this.#waiting) return;
    this.#waiting = true;
    const { start, end, places, revision } = wanted;
    const moved = wanted.state === 'running' ? {} : { start, places };
    try {
      const answer = await this.#desk.edit(wanted.id!, { ...moved, end, revision });
      this.changed(answer);
      this.tell(notesText(answer.notes, this.app.language));
    } catch (error) {
      const reason = refusalText(refusalOf(error), this.app);
      this.tell(this.app.language.say('lane_putBack', { reason }), true);
      this.#standOn(before);
      this.onchanged(null);
    } finally {
      this.#waiting = false;
      this.draft = null;
    }
  }
}
