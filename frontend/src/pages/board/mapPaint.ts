import { VERDICTS, type Verdict } from '../../api/wire';
import type { MapLayout, Square } from './mapLayout';

export interface Palette {
  fill: Record<Verdict, string>;
  ink: Record<Verdict, string>;
  edge: string;
  text: string;
  soft: string;
  font: string;
}

/** The colours as the theme has them now. */
export function readPalette(element: HTMLElement): Palette {
  const probe = document.createElement('span');
  element.append(probe);
  const colour = (name: string) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const table = (suffix: string) =>
    Object.fromEntries(VERDICTS.map((verdict) => [verdict, colour(verdict + suffix)])) as Record<
      Verdict,
      string
    >;
  const palette = {
    fill: table(''),
    ink: table('-text'),
    edge: colour('stale-edge'),
    text: colour('text'),
    soft: colour('text-soft'),
    font: getComputedStyle(probe).fontFamily,
  };
  probe.remove();
  return palette;
}

/** Draw the whole map: a few milliseconds for ten thousand, less trouble than knowing what changed. */
export function paint(
  context: CanvasRenderingContext2D,
  layout: MapLayout,
  palette: Palette,
  current: boolean,
): void {
  const { size } = layout;
  context.clearRect(0, 0, layout.width, layout.height);
  const byVerdict = new Map<Verdict, Square[]>(VERDICTS.map((verdict) => [verdict, []]));
  for (const square of layout.squares) byVerdict.get(square.gpu.record.verdict)!.push(square);
  for (const [verdict, squares] of byVerdict) {
    context.fillStyle = palette.fill[verdict];
    context.strokeStyle = verdict === 'stale' ? palette.edge : palette.ink[verdict];
    context.lineWidth = size > 24 ? 3 : size > 11 ? 2 : 1.5;
    context.beginPath();
    for (const { gpu, x, y } of squares) {
      // Neither old data nor what does not count looks takeable: then a free GPU is only an outline.
      if (verdict === 'free' && !(current && gpu.record.counted)) {
        context.strokeStyle = palette.edge;
        context.rect(x + 1, y + 1, size - 2, size - 2);
        continue;
      }
      context.fillRect(x, y, size, size);
      mark(context, verdict, x, y, size);
    }
    context.stroke();
  }
  for (const { text, x, y, width, strong } of layout.labels) {
    context.font = `${strong ? '650 13px' : '12px'} ${palette.font}`;
    context.fillStyle = strong ? palette.text : palette.soft;
    context.fillText(text, x, y, width);
  }
}

/** A shape besides the colour, as far as eight pixels allow. */
function mark(context: CanvasRenderingContext2D, verdict: Verdict, x: number, y: number, size: number): void {
  const low = size * 0.3;
  const high = size * 0.7;
  if (verdict === 'broken') {
    context.moveTo(x + low, y + low);
    context.lineTo(x + high, y + high);
    context.moveTo(x + high, y + low);
    context.lineTo(x + low, y + high);
  } else if (verdict === 'idle') {
    context.moveTo(x + low, y + high);
    context.lineTo(x + high, y + low);
  } else if (verdict === 'booked') {
    context.moveTo(x + size / 2, y + low);
    context.lineTo(x + size / 2, y + high);
  } else if (verdict === 'stale') context.rect(x + 0.75, y + 0.75, size - 1.5, size - 1.5);
  else if (verdict === 'free' && size > 11) {
    context.moveTo(x + size * 0.72, y + size / 2);
    context.arc(x + size / 2, y + size / 2, size * 0.22, 0, 7);
  }
}
