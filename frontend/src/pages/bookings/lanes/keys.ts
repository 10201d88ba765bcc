import type { BookingView } from '../../../api/bookings';
import { QUARTER } from '../../../state/axis';
import { HOUR } from '../../../state/booking';
import type { App } from '../../../state/context';
import type { LaneBox } from '../../../state/lanes';
import { spanText } from '../../../text/moments';
import type { LaneDesk, LanePlace } from './desk.svelte';
import { boxAt, boxesOn, lanesOf, shifted } from './places';
import type { Shown } from './shown';

interface Around {
  desk: LaneDesk;
  nodes: readonly Shown[];
  app: App;
}

/** Act on a key in the lanes; whether it was one of theirs. */
export function press(event: KeyboardEvent, around: Around): boolean {
  const { desk, nodes } = around;
  const stop = (event.target as Element).closest<HTMLElement>('[data-box], [data-gap], [data-fold]');
  const name = stop?.closest<HTMLElement>('[data-node]')?.dataset['node'];
  const shown = nodes.find(({ node }) => node.record.name === name);
  if (!stop || !shown || event.ctrlKey || event.altKey || event.metaKey) return false;
  const box = desk
    .boxes(name!, lanesOf(shown))
    .find(({ key }) => key === stop.dataset['box'] && stop.dataset['box'] !== undefined);
  if (event.key === 'Escape') return letGo(desk);
  if (box && change(event, box, shown, around)) return true;
  // What is wanted otherwise is decided first.
  if (desk.draft) return event.key !== 'Tab';
  const spot = spotOf(stop, box, shown, desk);
  if (event.key === 'ArrowUp' || event.key === 'ArrowDown')
    return to(climb(spot, event.key === 'ArrowDown' ? 1 : -1, around), desk);
  if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return false;
  const step = (event.key === 'ArrowRight' ? 1 : -1) * (event.shiftKey ? HOUR : QUARTER);
  return to(
    spot.number === null ? byName(spot, step, shown, desk) : walk(spot, step, box, shown, desk),
    desk,
  );
}

function to(spot: LanePlace | null, desk: LaneDesk): boolean {
  if (spot) desk.spot = spot;
  return true;
}

function letGo(desk: LaneDesk): boolean {
  const had = desk.draft !== null || desk.isDragging || desk.told !== '';
  desk.putBack();
  return had;
}

/** Where the focus is, as a place. */
function spotOf(stop: HTMLElement, box: LaneBox | undefined, shown: Shown, desk: LaneDesk): LanePlace {
  const node = shown.node.record.name;
  const { start } = desk.view.axis;
  const before = desk.spot?.node === node ? desk.spot : null;
  const at = before?.at ?? Math.max(desk.now, start);
  if (stop.dataset['fold'] !== undefined) return { node, number: null, at };
  if (!box)
    return { node, number: Number(stop.dataset['gap']), at: desk.walked?.start ?? desk.offer?.start ?? at };
  const lanes = lanesOf(shown).slice(box.first, box.first + box.count);
  const isIn = before && before.at >= box.start && before.at < box.end;
  return {
    node,
    number: lanes.find(({ index }) => index === before?.number)?.index ?? lanes[0]!.index,
    at: isIn ? before.at : Math.max(box.start, start),
  };
}

/** On a name: into its lanes, or fold and unfold. */
function byName(spot: LanePlace, step: number, shown: Shown, desk: LaneDesk): LanePlace {
  const isOpen = desk.view.isOpen(spot.node);
  if (isOpen !== step > 0) desk.view.toggle(spot.node);
  else if (isOpen) {
    const number = lanesOf(shown)[0]!.index;
    return land({ ...spot, number, at: Math.max(desk.now, desk.view.axis.start) }, 1, shown, desk);
  }
  return spot;
}

/** Along a lane: by steps through gaps, over boxes at once. */
function walk(
  spot: LanePlace,
  step: number,
  box: LaneBox | undefined,
  shown: Shown,
  desk: LaneDesk,
): LanePlace {
  const { axis } = desk.view;
  // From now, or from the end of something, on to whole quarters.
  const whole = (spot.at + step) / QUARTER;
  let at = (step > 0 ? Math.floor(whole) : Math.ceil(whole)) * QUARTER;
  if (box) at = step > 0 ? box.end : box.start - QUARTER;
  // The line of now is a stop of its own.
  if (at < desk.now && spot.at > desk.now) at = desk.now;
  if (at < axis.start) return { ...spot, number: null };
  if (at >= axis.end) {
    if (at < Infinity) desk.view.step(1);
    return at < Infinity ? { ...spot, at } : spot;
  }
  return land({ ...spot, at }, step, shown, desk);
}

/** Where there is something to stand on: in the past there are boxes alone. */
function land(spot: LanePlace, step: number, shown: Shown, desk: LaneDesk): LanePlace {
  if (spot.at >= desk.now || boxAt(desk, shown, spot.number!, spot.at)) return spot;
  const { axis } = desk.view;
  const boxes = boxesOn(desk, shown, spot.number!).filter(({ end }) => end > axis.start);
  const next =
    step > 0 ? boxes.find(({ start }) => start > spot.at) : boxes.filter(({ end }) => end <= spot.at).at(-1);
  if (next && next.start < desk.now) return { ...spot, at: Math.max(next.start, axis.start) };
  return step > 0 && desk.now < axis.end ? { ...spot, at: desk.now } : { ...spot, number: null };
}

/** To the lane above or below, or to the line of a folded node. */
function climb(spot: LanePlace, by: 1 | -1, { desk, nodes }: Around): LanePlace | null {
  const lines = nodes.flatMap((shown) => {
    const node = shown.node.record.name;
    return desk.view.isOpen(node)
      ? lanesOf(shown).map(({ index }) => ({ shown, node, number: index as number | null }))
      : [{ shown, node, number: null }];
  });
  const here = lines.findIndex(
    ({ node, number }) => node === spot.node && (spot.number ?? number) === number,
  );
  const line = lines[here + by];
  if (!line) return null;
  const next = { node: line.node, number: line.number, at: spot.at };
  return line.number === null ? next : land(next, 1, line.shown, desk);
}

/** Keys that change a booking: how long it is, and where. */
function change(event: KeyboardEvent, box: LaneBox, shown: Shown, { desk, app }: Around): boolean {
  const booking = box.booking;
  const { say, tag } = app.language;
  if (event.key === 'Enter' && desk.draft) {
    void desk.ask();
    return true;
  }
  const changed = changeOf(event, booking, shown);
  if (!changed || !booking.may_change || box.look === 'past') return false;
  if (booking.state === 'running' && (changed.start !== undefined || changed.places)) {
    desk.tell(say('refused_begun'), true);
    return true;
  }
  const { axis } = desk.view;
  const { start, end } = { ...booking, ...changed };
  if (start >= axis.end || end <= axis.start) return true;
  // From what is wanted already: what has become of it since is for the board to say.
  desk.want(booking, { start, end, ...changed });
  const draft = desk.draft;
  if (!draft) return true;
  const [from, until] = spanText(draft.start, draft.end, app.clock.coarse, tag);
  desk.tell(say('lane_moved', { start: from, time: until }));
  const here = draft.places.find(({ node }) => node === shown.node.record.name);
  const number = here?.gpus?.[0] ?? lanesOf(shown)[box.first]!.index;
  desk.spot = { node: shown.node.record.name, number, at: Math.max(draft.start, axis.start) };
  return true;
}

function changeOf(
  { key, shiftKey }: KeyboardEvent,
  { start, end, places }: BookingView,
  shown: Shown,
): Partial<BookingView> | null {
  if (key === '+' || key === '=') return { end: end + QUARTER };
  if (key === '-' || key === '−') return { end: end - QUARTER };
  if (!shiftKey) return null;
  if (key === 'ArrowLeft') return { start: start - QUARTER, end: end - QUARTER };
  if (key === 'ArrowRight') return { start: start + QUARTER, end: end + QUARTER };
  const by = { ArrowUp: -1, ArrowDown: 1 }[key];
  return by === undefined ? null : { places: shifted(places, by, shown) ?? places };
}
