/** Bookings as a list by day, and what is not as it was booked. Pure. */

import type { BookingView } from '../api/bookings';
import type { GpuRow } from '../api/wire';
import { isSamePerson, isSomebody } from './people';

const OVERRUN_SECONDS = 3600;

export interface AgendaDay {
  /** The moment at which it begins; null: what runs now. */
  day: number | null;
  bookings: BookingView[];
}

/** Running first, then what is to come by the viewer's days. */
export function agendaOf(bookings: readonly BookingView[]): AgendaDay[] {
  const days = new Map<number | null, BookingView[]>();
  const open = bookings.filter(({ state }) => state === 'running' || state === 'upcoming');
  open.sort((a, b) => Number(b.state === 'running') - Number(a.state === 'running') || a.start - b.start);
  for (const one of open) {
    const day = one.state === 'running' ? null : new Date(one.start * 1000).setHours(0, 0, 0, 0) / 1000;
    days.set(day, [...(days.get(day) ?? []), one]);
  }
  return [...days].map(([day, found]) => ({ day, bookings: found }));
}

/** Those of a person, with what an admin may change of others left out; running first. */
export function ownOf(bookings: readonly BookingView[], person: string | null): BookingView[] {
  const own = bookings.filter(({ who, kind }) => kind === 'booking' && isSamePerson(who, person));
  return agendaOf(own).flatMap((day) => day.bookings);
}

/**
 * Bookings as they stood at a moment of the past: those that were made later were not there, whether somebody came is
 * not known of then, and nothing can be done with them.
 */
export function bookingsAt(bookings: readonly BookingView[], at: number): BookingView[] {
  const isTimed = ({ state }: BookingView) => ['upcoming', 'running', 'ended'].includes(state);
  const stateAt = ({ start, end }: BookingView) =>
    end <= at ? 'ended' : start <= at ? 'running' : 'upcoming';
  return bookings
    .filter(({ created_at }) => created_at === null || created_at <= at)
    .map((one) => ({
      ...one,
      state: isTimed(one) ? stateAt(one) : one.state,
      use: null,
      may_change: false,
      no_show: false,
    }));
}

/** Whether a booking has a GPU; without numbers it has the whole node. */
export function isOn({ places }: BookingView, node: string, index: number): boolean {
  return places.some((place) => place.node === node && (place.gpus?.includes(index) ?? true));
}

/** What is booked next of a GPU; an instance goes with its card, whose number comes first. */
export function nextOn(
  bookings: readonly BookingView[],
  { node, label }: Pick<GpuRow, 'node' | 'label'>,
): BookingView | undefined {
  return bookings
    .filter((one) => one.state === 'upcoming' && isOn(one, node, Number.parseInt(label, 10)))
    .sort((a, b) => a.start - b.start)[0];
}

/** Who is there whom no claim allows it; whoever has one of those behind is none either. */
function trespasser({ claim, users }: GpuRow): string | undefined {
  const allowed = [claim, ...(claim?.behind ?? [])].map((one) => one?.who ?? null);
  return users?.find((use) => isSomebody(use) && !allowed.some((who) => isSamePerson(use.name, who)))?.name;
}

/** One thing that is not as it was booked. */
export type Oddity =
  | { kind: 'no-show'; booking: BookingView; who: string }
  | { kind: 'trespass'; gpu: GpuRow; who: string; booker: string }
  | { kind: 'overrun'; gpu: GpuRow; who: string; until: number };

export function odditiesOf(bookings: readonly BookingView[], gpus: Iterable<GpuRow>, now: number): Oddity[] {
  const found: Oddity[] = bookings.flatMap((booking) =>
    booking.no_show && booking.who !== null ? [{ kind: 'no-show' as const, booking, who: booking.who }] : [],
  );
  for (const gpu of gpus) {
    const names = gpu.users?.map(({ name }) => name) ?? [];
    const booker = gpu.claim?.who;
    const other = trespasser(gpu);
    if (booker && other !== undefined && gpu.flags.includes('trespass'))
      found.push({ kind: 'trespass', gpu, who: other, booker });
    const { who, until } = gpu.ended_claim ?? {};
    const isThere = names.some((name) => isSamePerson(name, who ?? null));
    if (who && until && !gpu.claim && isThere && now - until < OVERRUN_SECONDS)
      found.push({ kind: 'overrun', gpu, who, until });
  }
  return found;
}
