import type { BookingView } from '../../api/bookings';
import { awayOn, HOUR, placesText } from '../../state/booking';
import type { App } from '../../state/context';
import { findSlot } from '../../state/slot';
import { spanText } from '../../text/moments';
import { awayText } from './notes';

const GIB = 2 ** 30;

/** What somebody needs, and where and when it is there first. */
export class SlotSearch {
  count = $state('1');
  memory = $state('0');
  hours = $state('4');
  onOneNode = $state(true);
  readonly now = $derived.by(() => Math.floor(this.app.clock.coarse / 60) * 60);
  readonly slot = $derived.by(() => {
    const { fleet } = this.app;
    const nodes = [...fleet.nodes.values()].map((node) => ({
      name: node.record.name,
      gpus: node.gpus.map(({ record }) => record),
    }));
    const wish = {
      count: Number(this.count),
      memoryBytes: Number(this.memory) * GIB,
      seconds: Number(this.hours) * HOUR,
      onOneNode: this.onOneNode,
    };
    const { bookings, until, tomorrow } = this.known();
    const about = { now: this.now, tomorrow, justFreed: fleet.justFreedSeconds, until };
    return findSlot(nodes, wish, bookings, about);
  });
  readonly isNow = $derived.by(() => this.slot !== null && this.slot.start <= this.now);
  /** What of it may not be there, in words; empty: nothing. */
  readonly away = $derived.by(() => {
    const { fleet, language } = this.app;
    const rowsOf = (node: string) => (fleet.nodes.get(node)?.gpus ?? []).map(({ record }) => record);
    return awayOn(this.slot?.places ?? [], rowsOf)
      .map((one) => awayText(one, language))
      .join(' ');
  });
  /** The slot as sentences have it. */
  readonly words = $derived.by(() => {
    const { slot } = this;
    if (!slot) return null;
    const { clock, language } = this.app;
    const [start, time] = spanText(slot.start, slot.end, clock.coarse, language.tag);
    const places = placesText(slot.places, language.say('book_whole'));
    return { start, time, places, count: Number(this.count) };
  });

  /** `known`: what is booked; what begins at `until` or later is not among it; when tomorrow begins. */
  constructor(
    private readonly app: Pick<App, 'clock' | 'fleet' | 'language'>,
    private readonly known: () => {
      bookings: readonly BookingView[];
      until: number;
      tomorrow: number;
    },
  ) {}

  /** Whether all that is booked is known. */
  get isSure(): boolean {
    return this.known().until === Infinity;
  }

  /** As the board is asked: it chooses by the same order as the page, and says why. */
  get wish() {
    return {
      any: { gpus: Number(this.count), memory: `${this.memory}G`, model: null, same_node: this.onOneNode },
      start: this.isNow ? null : this.slot!.start,
      end: this.slot!.end,
    };
  }
}
