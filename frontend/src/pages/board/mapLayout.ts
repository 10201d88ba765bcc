/** Where every GPU of the map goes. Pure: rows and a width in, squares out. */

import type { Row, Section } from '../../state/arrange';
import type { Gpu } from '../../state/fleet.svelte';

export interface Square {
  gpu: Gpu;
  x: number;
  y: number;
}

export interface Label {
  text: string;
  x: number;
  y: number;
  width: number;
  strong: boolean;
}

export interface MapLayout {
  size: number;
  squares: Square[];
  labels: Label[];
  width: number;
  height: number;
}

const STRIP = 8;
const SIZES = [52, 48, 44, 40, 36, 32, 28, 25, 22, 18, 14, 11, 8];
const TITLE = 26;

/** The largest squares that still fit the height, never below eight pixels. */
export function layOut(sections: Section[], width: number, roomHeight: number): MapLayout {
  const size = SIZES.find((each) => layOutWith(sections, width, each, true).height <= roomHeight);
  return layOutWith(sections, width, size ?? SIZES.at(-1)!, false);
}

function layOutWith(sections: Section[], width: number, size: number, measuring: boolean): MapLayout {
  const pitch = size + (size > 11 ? 3 : size > 8 ? 2 : 1);
  // Names need room: they go first when it gets tight.
  const named = size >= 14;
  const gapX = named ? 18 : 6;
  const squares: Square[] = [];
  const labels: Label[] = [];
  let y = 0;
  for (const section of sections) {
    if (section.title !== null) {
      labels.push({ text: section.title, x: 0, y: y + 16, width, strong: true });
      y += TITLE;
    }
    const strip = Math.min(
      STRIP,
      section.rows.reduce((most, row) => Math.max(most, row.shown.size), 1),
    );
    const block = strip * pitch + gapX;
    const columns = Math.max(1, Math.floor((width + gapX) / block));
    let column = 0;
    let lines = 1;
    for (const row of section.rows) {
      if (!row.shown.size) continue;
      if (column === columns) {
        y += lines * pitch + (named ? 26 : 3);
        column = 0;
        lines = 1;
      }
      const x = column * block;
      if (named)
        labels.push({
          text: row.node.record.display_name ?? row.node.record.name,
          x,
          y: y + 12,
          width: block - gapX,
          strong: false,
        });
      if (!measuring) place(row, x, y + (named ? 17 : 0), pitch, strip, squares);
      lines = Math.max(lines, Math.ceil(row.shown.size / strip));
      column++;
    }
    y += lines * pitch + (named ? 26 : 3) + 6;
  }
  return { size, squares, labels, width, height: y };
}

function place(row: Row, x: number, y: number, pitch: number, strip: number, squares: Square[]): void {
  let count = 0;
  for (const gpu of row.node.gpus) {
    if (!row.shown.has(gpu)) continue;
    squares.push({ gpu, x: x + (count % strip) * pitch, y: y + Math.floor(count / strip) * pitch });
    count++;
  }
}

/** The square under a point; squares come line by line, but a plain search is fast enough for ten thousand. */
export function squareAt(layout: MapLayout, x: number, y: number): Square | null {
  const reach = layout.size + 1;
  return (
    layout.squares.find((each) => x >= each.x && x < each.x + reach && y >= each.y && y < each.y + reach) ??
    null
  );
}

const DIRECTIONS: Record<string, [dx: number, dy: number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** The next square in a direction: the nearest one that lies that way. */
export function neighbour(layout: MapLayout, from: Square, key: string): Square | null {
  const [dx, dy] = DIRECTIONS[key] ?? [0, 0];
  if (!dx && !dy) return null;
  let best: Square | null = null;
  let least = Infinity;
  for (const each of layout.squares) {
    const ahead = (each.x - from.x) * dx + (each.y - from.y) * dy;
    const aside = Math.abs((each.x - from.x) * dy) + Math.abs((each.y - from.y) * dx);
    if (ahead <= 0 || (dx && aside > layout.size)) continue;
    const distance = ahead + aside * 4;
    if (distance < least) [best, least] = [each, distance];
  }
  return best;
}

/** A map is learnt by heart: what becomes free must not move the squares. */
export function steady(sections: Section[]): Section[] {
  return sections.map((section) => ({
    ...section,
    rows: section.rows.toSorted((a, b) => (a.node.sortKey < b.node.sortKey ? -1 : 1)),
  }));
}

/** Without a grouping of their own, the nodes of a map stand together by model. */
export function byModel(sections: Section[]): Section[] {
  const models = new Map<string, Section>();
  for (const section of sections)
    for (const row of section.rows) {
      const first = row.node.gpus[0];
      const title = first?.model ?? '';
      const group = models.get(title) ?? { title, rows: [], counts: section.counts };
      group.rows.push(row);
      models.set(title, group);
    }
  return models.size > 1 && models.size <= 12 ? [...models.values()] : sections;
}
