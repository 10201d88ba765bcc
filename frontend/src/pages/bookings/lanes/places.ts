/** Which boxes and gaps are where in the lanes that are shown. */

import type { BookingView } from '../../../api/bookings';
import type { LaneBox } from '../../../state/lanes';
import type { LaneDesk } from './desk.svelte';
import type { Shown } from './shown';

/** What the Tab key stops at, by its node: a box, a gap or a name. */
export function stopsOf(desk: LaneDesk, nodes: readonly Shown[]): Map<string, string> {
  const spot = desk.spot;
  const shown = nodes.find(({ node }) => node.record.name === spot?.node) ?? nodes[0];
  if (!shown) return new Map();
  const name = shown.node.record.name;
  if (spot?.node !== name || spot.number === null || !desk.view.isOpen(name))
    return new Map([[name, 'name']]);
  const box = boxAt(desk, shown, spot.number, spot.at);
  return new Map([[name, box ? box.key : desk.walked ? `gap ${spot.number}` : 'name']]);
}

export const lanesOf = ({ gpus }: Shown) => gpus.map(({ record }) => record);

/** The boxes of one lane. */
export function boxesOn(desk: LaneDesk, shown: Shown, number: number): LaneBox[] {
  const lanes = lanesOf(shown);
  const place = lanes.findIndex(({ index }) => index === number);
  return desk
    .boxes(shown.node.record.name, lanes)
    .filter(({ first, count }) => place >= first && place < first + count);
}

export const boxAt = (desk: LaneDesk, shown: Shown, number: number, at: number): LaneBox | undefined =>
  boxesOn(desk, shown, number).find(({ start, end, depth }) => !depth && start <= at && end > at);

/** The same GPUs so many lanes further down; null: there are none, or it is of several nodes, or of a whole one. */
export function shifted(
  places: BookingView['places'],
  by: number,
  shown: Shown,
): BookingView['places'] | null {
  const [only, ...others] = places;
  if (!only?.gpus || others.length) return null;
  const numbers = lanesOf(shown).map(({ index }) => index);
  const gpus = only.gpus.map((number) => numbers[numbers.indexOf(number) + by]);
  return gpus.every((number) => number !== undefined) ? [{ ...only, gpus: gpus as number[] }] : null;
}
