import type { Row, Section } from '../../state/arrange';
import { cutCards, type Card } from '../../state/cards';
import type { Gpu } from '../../state/fleet.svelte';

/** What the list draws, one below the other. */
export type Item = { kind: 'section'; section: Section } | { kind: 'row'; row: Row; index: number };

/** How high cells are; the styles hear it from here. */
export const CELL = 34;
export const SMALL_CELL = 40;
const CELL_GAP = 5;
const ROW_EDGE = 9;
export const SECTION = 40;

export function items(sections: Section[], isCollapsed: (title: string) => boolean): Item[] {
  const result: Item[] = [];
  let index = 0;
  for (const section of sections) {
    if (section.title !== null) result.push({ kind: 'section', section });
    if (section.title !== null && isCollapsed(section.title)) continue;
    for (const row of section.rows) result.push({ kind: 'row', row, index: index++ });
  }
  return result;
}

export function itemKey(item: Item): string {
  return item.kind === 'section' ? `# ${item.section.title}` : item.row.key;
}

/** How many of a line's places a card takes: one for each instance, and one for the edge around them. */
export function placesOf({ whole, parts }: Card, slots: number): number {
  return Math.min(slots, parts.length + (whole ? 1 : 0));
}

/** How many lines the GPUs of a node take, so that no card is torn apart. */
export function linesOf(gpus: Gpu[], slots: number): number {
  const cards = cutCards(gpus);
  if (!cards) return Math.max(1, Math.ceil(gpus.length / slots));
  let lines = 1;
  let taken = 0;
  for (const card of cards) {
    const places = placesOf(card, slots);
    if (taken + places > slots) {
      lines++;
      taken = 0;
    }
    taken += places;
    if (card.parts.length > slots) lines += Math.ceil(card.parts.length / slots) - 1;
  }
  return lines;
}

export function rowHeight(item: Item, slots: number): number {
  if (item.kind === 'section') return SECTION;
  const count = linesOf(item.row.node.gpus, slots);
  return count * CELL + (count - 1) * CELL_GAP + ROW_EDGE;
}

/** How many cells of a node fit beside each other. */
export function slotsFor(width: number, most: number): number {
  const room = Math.floor(width / 92);
  return [8, 6, 4, 3, 2, 1].find((count) => count <= room && count <= Math.max(most, 1)) ?? 1;
}
