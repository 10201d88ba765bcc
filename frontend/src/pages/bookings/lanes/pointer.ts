import type { BookingView } from '../../../api/bookings';
import { momentAt, QUARTER } from '../../../state/axis';
import type { FreeSpan, LaneDesk } from './desk.svelte';
import { shifted } from './places';
import type { Shown } from './shown';
import { LANE } from './sizes';

/** Less than this is a click. */
const SLACK_PIXELS = 4;

interface Held {
  item: HTMLElement;
  shown: Shown;
  x: number;
  y: number;
  pointer: number;
  at: number;
  row: number;
  /** What is taken hold of; null: an empty place, from which something is drawn. */
  booking: BookingView | null;
  byGrip: boolean;
}

/** What a mouse does in the lanes: point, click, draw, move, lengthen. */
export function pointer(desk: LaneDesk, nodes: () => readonly Shown[]) {
  let held: Held | null = null;
  let hasDragged = false;

  const itemOf = (event: MouseEvent) => (event.target as Element).closest<HTMLElement>('[data-node]');
  const shownOf = (item: HTMLElement | null) =>
    nodes().find(({ node }) => node.record.name === item?.dataset['node']);

  /** The lane and the moment below the mouse. */
  function below(event: MouseEvent, item: HTMLElement, shown: Shown) {
    const time = item.querySelector('.time')?.getBoundingClientRect();
    const name = shown.node.record.name;
    if (!time || event.clientX < time.left || !desk.view.isOpen(name)) return null;
    const row = Math.floor((event.clientY - item.getBoundingClientRect().top) / LANE);
    const at = momentAt(desk.view.axis, (event.clientX - time.left) / time.width);
    return { row: Math.max(0, Math.min(shown.gpus.length - 1, row)), at };
  }

  function offerBelow(event: MouseEvent): FreeSpan | null {
    const item = itemOf(event);
    const shown = shownOf(item);
    const place = item && shown && below(event, item, shown);
    if (!place) return null;
    const number = shown.gpus[place.row]!.record.index;
    // The quarter in which it is now is there still.
    const at = place.at + QUARTER > desk.now ? Math.max(place.at, desk.now) : place.at;
    return desk.offerOn(shown.node.record.name, number, at);
  }

  const boxOf = (event: MouseEvent) => (event.target as Element).closest<HTMLElement>('[data-box]');
  const bookingOf = (event: MouseEvent): BookingView | null => {
    const ident = boxOf(event)?.dataset['booking'];
    return (ident && desk.known.find(({ id }) => id === ident)) || null;
  };

  function drag(event: PointerEvent, { item, shown, booking: taken, at: from, row: first, byGrip }: Held) {
    // Captured, the events say nothing of what is below.
    const over = document.elementFromPoint(event.clientX, event.clientY)?.closest<HTMLElement>('[data-node]');
    desk.isElsewhere = taken !== null && over !== null && over !== undefined && over !== item;
    const place = below(event, item, shown);
    if (!place) return;
    const by = place.at - from;
    // Shifted from where it is now: it may have changed since it was taken hold of.
    const booking = taken && (desk.known.find(({ id }) => id === taken.id) ?? taken);
    if (!booking) return draw(shown, from, place.at, first, place.row);
    if (byGrip) return desk.want(booking, { end: booking.end + by });
    const places = shifted(booking.places, place.row - first, shown) ?? booking.places;
    desk.want(booking, { start: booking.start + by, end: booking.end + by, places });
  }

  function draw(shown: Shown, from: number, at: number, first: number, row: number) {
    const [start, last] = [Math.max(desk.now, Math.min(from, at)), Math.max(from, at) + QUARTER];
    const rows = shown.gpus.slice(Math.min(first, row), Math.max(first, row) + 1);
    const numbers = rows.map(({ record }) => record.index);
    desk.offer = { node: shown.node.record.name, numbers, start, end: last, gap: null };
  }

  return {
    onpointermove(event: PointerEvent & { currentTarget: HTMLElement }) {
      if (!held) {
        const isEmpty = event.pointerType === 'mouse' && !boxOf(event);
        desk.offer = isEmpty ? offerBelow(event) : null;
        return;
      }
      const far = Math.hypot(event.clientX - held.x, event.clientY - held.y) > SLACK_PIXELS;
      if (!hasDragged && !far) return;
      if (!hasDragged) {
        hasDragged = desk.isDragging = true;
        event.currentTarget.setPointerCapture(held.pointer);
      }
      if (desk.isDragging) drag(event, held);
    },
    onpointerleave() {
      if (!held) desk.offer = null;
    },
    onpointerdown(event: PointerEvent) {
      hasDragged = false;
      // Whoever goes on has read it.
      if (!desk.draft) desk.tell('');
      // A finger scrolls, and taps.
      if (event.button || event.pointerType === 'touch' || !desk.isOffering || desk.draft) return;
      const item = itemOf(event);
      const shown = shownOf(item);
      const place = item && shown && below(event, item, shown);
      const booking = bookingOf(event);
      if (!place || (boxOf(event) && !(booking?.is_mine && booking.may_change && booking.end > desk.now)))
        return;
      if (!booking && place.at + QUARTER <= desk.now) return;
      held = {
        item,
        shown,
        booking,
        x: event.clientX,
        y: event.clientY,
        pointer: event.pointerId,
        ...place,
        byGrip: (event.target as Element).closest('[data-grip]') !== null,
      };
    },
    onpointerup() {
      const { offer, isDragging } = desk;
      const was = held;
      held = null;
      desk.isDragging = false;
      if (!was || !isDragging) return;
      if (was.booking) void desk.drop();
      else if (offer) desk.opened = { kind: 'form', offer, byKeys: false };
    },
    onpointercancel() {
      held = null;
      desk.putBack();
    },
    onclick(event: MouseEvent) {
      // The end of a drag is no click.
      if (hasDragged) {
        hasDragged = false;
        return;
      }
      const target = event.target as Element;
      // No button of a mouse was pressed for it.
      const byKeys = event.detail === 0;
      if (boxOf(event)) {
        const { boxes, booking } = found(event);
        const one = booking ?? boxes.find(({ key }) => key === boxOf(event)?.dataset['box'])?.booking;
        if (one) desk.opened = { kind: 'box', booking: one, byKeys };
        return;
      }
      const walked = target.closest('[tabindex="0"][data-gap]') ? desk.walked : null;
      const offer = walked ?? desk.offer ?? (target.closest('.time') ? offerBelow(event) : null);
      if (offer) desk.opened = { kind: 'form', offer, byKeys };
    },
  };

  function found(event: MouseEvent) {
    const shown = shownOf(itemOf(event));
    const lanes = shown?.gpus.map(({ record }) => record) ?? [];
    return {
      booking: bookingOf(event),
      boxes: shown ? desk.boxes(shown.node.record.name, lanes) : [],
    };
  }
}
