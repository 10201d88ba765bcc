/** Where every GPU of the map goes. Pure: rows and a width in, squares out. */

import type { Row, Section } from '../../state/arrange';
import { cutCards } from '../../state/cards';
import type { FleetNode, Gpu } from '../../state/fleet.svelte';

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

/** An edge around the instances of one GPU. */
export interface Frame {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface MapLayout {
  size: number;
  squares: Square[];
  labels: Label[];
  frames: Frame[];
  width: number;
  height: number;
}

const STRIP = 8;
const SIZES = [52, 48, 44, 40, 36, 32, 28, 25, 22, 18, 14, 11, 8];
const TITLE = 26;
const SECTION_GAP = 6;
// Beside lines of small squares: which nodes they are.
const NAMES = 136;
const NAME_GAP = 10;
// About as wide as a letter of a label is.
const LETTER = 6.8;

/** A section as far as it does not depend on the size of the squares. */
interface Part {
  title: string | null;
  rows: Row[];
  /** How many squares of a node stand beside each other, and whether all of its squares do. */
  strip: number;
  flat: boolean;
  /** Letters of the longest name. */
  longest: number;
}

function partOf({ title, rows }: Section): Part {
  const drawn = rows.filter((row) => row.shown.size);
  const most = drawn.reduce((so, row) => Math.max(so, row.shown.size), 1);
  const longest = drawn.reduce((so, { node }) => Math.max(so, nameOf(node).length), 0);
  return { title, rows: drawn, strip: Math.min(STRIP, most), flat: most <= STRIP, longest };
}

/** Squares of one size, with a name above each node where there is room for it. */
interface SquareSize {
  size: number;
  named: boolean;
}

const SQUARE_SIZES: SquareSize[] = SIZES.flatMap((size) =>
  (size >= 14 ? [true, false] : [false]).map((named) => ({ size, named })),
);

/** The largest squares that still fit the height, never below eight pixels; names above nodes if these fit, too. */
export function layOut(sections: Section[], width: number, roomHeight: number): MapLayout {
  const parts = sections.map(partOf);
  const heightOf = (tried: SquareSize) =>
    parts.reduce((sum, part) => sum + height(part, measure(part, width, tried)), 0);
  // A phone is narrow: no GPU of a node may fall over its edge.
  const isWithin = (tried: SquareSize) =>
    parts.every((part) => {
      const { left, pitch } = measure(part, width, tried);
      return left + part.strip * pitch <= width;
    });
  const best = SQUARE_SIZES.find((tried) => isWithin(tried) && heightOf(tried) <= roomHeight);
  return draw(parts, width, best ?? SQUARE_SIZES.findLast(isWithin) ?? SQUARE_SIZES.at(-1)!);
}

interface Measures {
  size: number;
  pitch: number;
  named: boolean;
  /** Where the squares of a line begin, beside or below the names. */
  left: number;
  above: number;
  block: number;
  columns: number;
}

function measure({ strip, longest }: Part, width: number, tried: SquareSize): Measures {
  const { size } = tried;
  const pitch = size + (size > 11 ? 3 : size > 8 ? 2 : 1);
  // Where the squares leave too little room above each node, a line has one name for all of its nodes.
  const named = tried.named && Math.min(longest * LETTER, 190) <= strip * pitch;
  const gap = named ? 18 : 6;
  const left = named ? 0 : NAMES;
  const block = strip * pitch + gap;
  const columns = Math.max(1, Math.floor((width - left + gap) / block));
  return { size, pitch, named, left, above: named ? 17 : 0, block, columns };
}

/** How high a line is in which the node with most squares has so many lines of them. */
function lineHeight({ pitch, named }: Measures, lines: number): number {
  // A label is higher than the smallest squares.
  return named ? lines * pitch + 26 : Math.max(lines * pitch, 11) + 3;
}

function linesIn(rows: Row[], strip: number): number {
  return rows.reduce((most, row) => Math.max(most, Math.ceil(row.shown.size / strip)), 1);
}

function height({ title, rows, strip, flat }: Part, measures: Measures): number {
  let sum = (title === null ? 0 : TITLE) + SECTION_GAP;
  const { columns } = measures;
  if (flat) return sum + Math.ceil(rows.length / columns) * lineHeight(measures, 1);
  for (let first = 0; first < rows.length; first += columns)
    sum += lineHeight(measures, linesIn(rows.slice(first, first + columns), strip));
  return sum;
}

function draw(parts: Part[], width: number, tried: SquareSize): MapLayout {
  const map: MapLayout = { size: tried.size, squares: [], labels: [], frames: [], width, height: 0 };
  const label = (text: string, x: number, y: number, room: number, strong = false) =>
    map.labels.push({ text, x, y, width: room, strong });
  let y = 0;
  for (const part of parts) {
    const measures = measure(part, width, tried);
    const { pitch, named, left, above, block, columns } = measures;
    if (part.title !== null) {
      label(part.title, 0, y + 16, width, true);
      y += TITLE;
    }
    for (let first = 0; first < part.rows.length; first += columns) {
      const line = part.rows.slice(first, first + columns);
      if (!named) {
        const names = line.map(({ node }) => nameOf(node));
        label(lineName(names), 0, y + Math.min(tried.size, 12), NAMES - NAME_GAP);
      }
      line.forEach((row, column) => {
        const x = left + column * block;
        if (named) label(nameOf(row.node), x, y + 12, part.strip * pitch);
        place(row, x, y + above, pitch, part.strip, map);
      });
      y += lineHeight(measures, part.flat ? 1 : linesIn(line, part.strip));
    }
    y += SECTION_GAP;
  }
  map.height = y;
  return map;
}

function nameOf({ record }: FleetNode): string {
  return record.display_name ?? record.name;
}

/** "a100-01 … 13": the first of a line, and what is different in the name of the last. */
export function lineName(names: string[]): string {
  const first = names[0] ?? '';
  const last = names.at(-1) ?? '';
  if (first === last) return first;
  let same = 0;
  while (same < last.length && first[same] === last[same]) same++;
  // A number is told whole.
  while (same > 0 && /\d/.test(last[same - 1]!)) same--;
  return `${first} … ${last.slice(same)}`;
}

/** A card that is cut has no square of its own, only an edge around those of its instances. */
function place(row: Row, x: number, y: number, pitch: number, strip: number, map: MapLayout): void {
  let count = 0;
  const put = (gpu: Gpu) => {
    const square = { gpu, x: x + (count % strip) * pitch, y: y + Math.floor(count / strip) * pitch };
    map.squares.push(square);
    count++;
    return square;
  };
  const shown = row.node.gpus.filter((gpu) => row.shown.has(gpu));
  const cards = cutCards(shown);
  if (!cards) return shown.forEach(put);
  for (const { whole, parts } of cards) {
    if (!parts.length) put(whole!);
    // What goes on in the next line has an edge there, too.
    const frames = new Map<number, Frame>();
    for (const square of parts.map(put)) {
      const frame = frames.get(square.y) ?? { x: square.x, y: square.y, width: 0, height: map.size };
      frame.width = square.x + map.size - frame.x;
      frames.set(square.y, frame);
    }
    map.frames.push(...frames.values());
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
