import { VERDICTS, type VerdictWord } from '../../api/wire';
import { SHAPES } from '../../parts/glyphs';
import type { MapLayout } from './mapLayout';

export interface Palette {
  fill: Record<VerdictWord, string>;
  ink: Record<VerdictWord, string>;
  edge: string;
  text: string;
  soft: string;
  font: string;
  /** Whether the viewer's own few colours hold: then outlines and signs tell what is what. */
  forced: boolean;
}

/** The colours as the theme, or whoever forces others, has them now. */
export function readPalette(element: HTMLElement): Palette {
  const forced = matchMedia('(forced-colors: active)').matches;
  const probe = document.createElement('span');
  probe.style.setProperty('forced-color-adjust', 'none');
  element.append(probe);
  const computed = (colour: string) => {
    probe.style.color = colour;
    return getComputedStyle(probe).color;
  };
  const colour = (name: string, instead: string) => computed(forced ? instead : `var(--${name})`);
  const table = (suffix: string, instead: string) =>
    Object.fromEntries(VERDICTS.map((verdict) => [verdict, colour(verdict + suffix, instead)])) as Record<
      VerdictWord,
      string
    >;
  const palette = {
    fill: table('', 'Canvas'),
    ink: table('-text', 'CanvasText'),
    edge: colour('stale-edge', 'CanvasText'),
    text: colour('text', 'CanvasText'),
    soft: colour('text-soft', 'CanvasText'),
    font: getComputedStyle(probe).fontFamily,
    forced,
  };
  probe.remove();
  return palette;
}

/** A square for each verdict, drawn once; the map is put together of them. */
export type Tiles = Record<VerdictWord | 'hollow', HTMLCanvasElement>;

export function makeTiles(size: number, palette: Palette, scale: number): Tiles {
  const tile = (draw: (context: CanvasRenderingContext2D) => void) => {
    const canvas = document.createElement('canvas');
    canvas.width = canvas.height = Math.ceil(size * scale);
    const context = canvas.getContext('2d')!;
    context.scale(scale, scale);
    draw(context);
    return canvas;
  };
  const tiles = VERDICTS.map((verdict) => [
    verdict,
    tile((context) => fill(context, verdict, size, palette)),
  ]);
  // Neither old data nor what does not count looks takeable: then a free GPU is only an outline.
  const hollow = tile((context) => outline(context, size, palette.edge, 1.5));
  return { ...Object.fromEntries(tiles), hollow } as Tiles;
}

function fill(context: CanvasRenderingContext2D, verdict: VerdictWord, size: number, palette: Palette): void {
  context.fillStyle = palette.fill[verdict];
  context.fillRect(0, 0, size, size);
  if (palette.forced || verdict === 'stale')
    outline(context, size, palette.edge, palette.forced && verdict === 'free' && size > 11 ? 3 : 1);
  // What most are needs no sign; without colours everything does.
  if (verdict === 'busy' && size < 22 && !palette.forced) return;
  const glyph = Math.min(20, size * 0.78);
  context.translate((size - glyph) / 2, (size - glyph) / 2);
  context.scale(glyph / 16, glyph / 16);
  context.strokeStyle = palette.ink[verdict];
  context.lineWidth = size < 14 ? 2.8 : 2.1;
  context.lineCap = context.lineJoin = 'round';
  context.stroke(new Path2D(SHAPES[verdict]));
}

function outline(context: CanvasRenderingContext2D, size: number, colour: string, width: number): void {
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.strokeRect(width / 2, width / 2, size - width, size - width);
}

/** What a map looks like now, so that the next time only what differs is drawn. */
export interface Painted {
  layout: MapLayout;
  tiles: Tiles;
  kinds: (keyof Tiles)[];
}

/** Draw the map, or what has changed in it since `before`. */
export function paint(
  context: CanvasRenderingContext2D,
  layout: MapLayout,
  palette: Palette,
  tiles: Tiles,
  current: boolean,
  before: Painted | null,
): Painted {
  const { frames, labels, size, squares } = layout;
  const same = before && before.tiles === tiles && isSame(before.layout, layout) ? before : null;
  if (!same) context.clearRect(0, 0, layout.width, layout.height);
  const kinds = squares.map(({ gpu, x, y }, place) => {
    const { counted, verdict } = gpu.record;
    const kind = verdict === 'free' && !(current && counted) ? 'hollow' : verdict;
    if (same?.kinds[place] === kind) return kind;
    if (same) context.clearRect(x, y, size, size);
    context.drawImage(tiles[kind], x, y, size, size);
    return kind;
  });
  context.strokeStyle = palette.text;
  context.lineWidth = size > 11 ? 2 : 1;
  const inset = context.lineWidth / 2;
  for (const { x, y, width, height } of frames)
    context.strokeRect(x + inset, y + inset, width - 2 * inset, height - 2 * inset);
  if (!same)
    for (const { text, x, y, width, strong } of labels) {
      context.font = `${strong ? '650 13px' : '12px'} ${palette.font}`;
      context.fillStyle = strong ? palette.text : palette.soft;
      context.fillText(fitted(context, text, width), x, y);
    }
  return { layout, tiles, kinds };
}

/** Whether everything stands where it stood, under the same names. */
function isSame(a: MapLayout, b: MapLayout): boolean {
  return (
    a.size === b.size &&
    a.width === b.width &&
    a.height === b.height &&
    a.squares.length === b.squares.length &&
    a.frames.length === b.frames.length &&
    a.labels.length === b.labels.length &&
    a.labels.every(
      ({ text, x, y }, at) => text === b.labels[at]!.text && x === b.labels[at]!.x && y === b.labels[at]!.y,
    ) &&
    a.squares.every(({ x, y }, at) => x === b.squares[at]!.x && y === b.squares[at]!.y)
  );
}

/** As much of a name as has room: cut, never squeezed. */
function fitted(context: CanvasRenderingContext2D, text: string, width: number): string {
  // Most are short: no need to measure those.
  if (text.length * 9 <= width || context.measureText(text).width <= width) return text;
  let length = Math.min(text.length, Math.floor(width / 4));
  while (length > 1 && context.measureText(`${text.slice(0, length)}…`).width > width) length--;
  return `${text.slice(0, length)}…`;
}
