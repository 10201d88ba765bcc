/** The one place that knows the plotting library: one figure over time, as a line of means in a band of extremes. */

import uPlot from 'uplot';
import { RIGHT } from './plot-size';
import './plot.css';

export interface PlotData {
  times: number[];
  stepSeconds: number;
  mean: (number | null)[];
  least?: (number | null)[] | null | undefined;
  most?: (number | null)[] | null | undefined;
  gaps: { from: number; to: number }[];
  from: number;
  to: number;
}

export interface PlotLook {
  width: number;
  height: number;
  /** Room for the scale at the left; the same in all plots that stand below each other. */
  left: number;
  floor: number;
  ceiling: number;
  /** Where the scale has its lines, and what is written there. */
  ticks: { at: number; text: string }[];
  /** Moments with a line, and their words. */
  moments: { at: number; text: string }[];
  /** Whether there is room for those words: not above another plot. */
  labelled: boolean;
}

export interface Plot {
  show(data: PlotData, look: PlotLook): void;
  destroy(): void;
}

const BELOW = 22;
const FONT = '12px system-ui, sans-serif';

type Colours = Record<'line' | 'band' | 'area' | 'grid' | 'text' | 'hatch', string>;

// The canvas knows no custom properties: the page computes them.
const TOKENS: Colours = {
  line: 'var(--busy-bar)',
  band: 'color-mix(in srgb, var(--busy-bar) 30%, transparent)',
  area: 'color-mix(in srgb, var(--busy-bar) 12%, transparent)',
  grid: 'var(--line)',
  text: 'var(--text-soft)',
  hatch: 'var(--stale-edge)',
};

function colours(root: HTMLElement): Colours {
  const probe = document.createElement('i');
  root.append(probe);
  const found = Object.entries(TOKENS).map(([name, token]) => {
    probe.style.color = token;
    return [name, getComputedStyle(probe).color];
  });
  probe.remove();
  const paint = Object.fromEntries(found) as Colours;
  if (!matchMedia('(forced-colors: active)').matches) return paint;
  // Those who choose their colours have no half of one: what is filled would hide its line.
  const pale = `color-mix(in srgb, ${paint.line} 25%, transparent)`;
  return { ...paint, area: 'transparent', band: pale, grid: pale };
}

/** Lines across what nobody saw. */
function hatch(plot: uPlot, gaps: PlotData['gaps'], colour: string): void {
  const { ctx, bbox } = plot;
  const gap = 7 * devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = colour;
  ctx.lineWidth = devicePixelRatio;
  for (const { from, to } of gaps) {
    const left = Math.max(bbox.left, plot.valToPos(from, 'x', true));
    const right = Math.min(bbox.left + bbox.width, plot.valToPos(to, 'x', true));
    if (right <= left) continue;
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, bbox.top, right - left, bbox.height);
    ctx.clip();
    ctx.beginPath();
    for (let x = left - bbox.height; x < right; x += gap) {
      ctx.moveTo(x, bbox.top + bbox.height);
      ctx.lineTo(x + bbox.height, bbox.top);
    }
    ctx.stroke();
    ctx.restore();
  }
  ctx.restore();
}

/** Points that stand alone would be lines without length. */
function lonely(values: ArrayLike<number | null | undefined>): number[] {
  const found: number[] = [];
  for (let place = 0; place < values.length; place++)
    if (values[place] != null && values[place - 1] == null && values[place + 1] == null) found.push(place);
  return found;
}

export function makePlot(root: HTMLElement, data: PlotData, look: PlotLook): Plot {
  const paint = colours(root);
  let [told, seen] = [data, look];
  const banded = Boolean(data.least && data.most);
  const grid = { stroke: paint.grid, width: 1 };
  const none = { points: { show: false } };
  const columns = (): uPlot.AlignedData => {
    // A point stands for all of its step: it is drawn in the middle.
    const times = told.times.map((time) => time + told.stepSeconds / 2);
    const rest = banded ? [told.most ?? [], told.least ?? []] : [];
    return [times, told.mean, ...rest] as uPlot.AlignedData;
  };
  const plot: uPlot = new uPlot(
    {
      width: look.width,
      height: look.height,
      padding: [6, RIGHT, look.labelled ? 0 : 4, 0],
      cursor: { show: false },
      legend: { show: false },
      select: { show: false, left: 0, top: 0, width: 0, height: 0 },
      scales: {
        x: { time: true, range: () => [told.from, told.to] },
        y: { range: () => [seen.floor, seen.ceiling] },
      },
      axes: [
        {
          show: true,
          size: () => (seen.labelled ? BELOW : 0),
          stroke: paint.text,
          font: FONT,
          gap: 4,
          grid,
          ticks: { show: false },
          splits: () => seen.moments.map(({ at }) => at),
          values: () => seen.moments.map(({ text }) => text),
        },
        {
          size: look.left,
          stroke: paint.text,
          font: FONT,
          gap: 8,
          grid,
          ticks: { show: false },
          splits: () => seen.ticks.map(({ at }) => at),
          values: () => seen.ticks.map(({ text }) => text),
        },
      ],
      series: [
        {},
        {
          stroke: paint.line,
          width: 1.5,
          fill: paint.area,
          fillTo: () => seen.floor,
          points: {
            show: true,
            size: 3,
            fill: paint.line,
            filter: (drawn, series) => lonely(drawn.data[series]!),
          },
        },
        ...(banded ? [none, none] : []),
      ],
      ...(banded ? { bands: [{ series: [2, 3] as [number, number], fill: paint.band }] } : {}),
      hooks: { drawClear: [(drawn) => hatch(drawn, told.gaps, paint.hatch)] },
    },
    columns(),
    root,
  );
  return {
    show(next, look) {
      [told, seen] = [next, look];
      if (plot.width !== look.width || plot.height !== look.height)
        plot.setSize({ width: look.width, height: look.height });
      plot.setData(columns());
    },
    destroy: () => plot.destroy(),
  };
}
