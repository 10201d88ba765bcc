/** Which figures are drawn, on which scale, and how they are written. */

import type { Figure, HistoryAnswer, HistorySeries } from '../../api/history';
import type { GpuRow, NodeRow } from '../../api/wire';
import { roundAbove } from '../../charts/ticks';
import { steadyUse } from '../../state/figures';
import type { Language } from '../../text/language.svelte';

export interface DrawnFigure {
  figure: Figure;
  title: string;
  series: HistorySeries | null;
  tall: boolean;
  floor: number;
  ceiling: number;
  ticks: { at: number; text: string }[];
  write: (value: number | null | undefined) => string;
  /** What it is now, where that is known. */
  now: number | null;
  /** What its value is to be compared with. */
  beside: string;
}

export const GPU_FIGURES: Figure[] = [
  'utilization_percent',
  'memory_used_bytes',
  'power_watts',
  'temperature_celsius',
];
export const NODE_FIGURES: Figure[] = ['utilization_percent', 'host_load_percent', 'host_memory_used_bytes'];

function mostOf(series: HistorySeries | null): number {
  return Math.max(0, ...(series?.most ?? series?.mean ?? []).map((value) => value ?? 0));
}

/** `live`: whether what the rows say is of now. */
export function gpuDrawn(
  answer: HistoryAnswer | null,
  gpu: GpuRow | null,
  language: Language,
  live: boolean,
): DrawnFigure[] {
  const told = live && gpu?.verdict !== 'stale' ? gpu : null;
  const { say, number, memory } = language;
  const of = (figure: Figure) => answer?.series.find((each) => each.figure === figure) ?? null;
  const [use, held, power, heat] = GPU_FIGURES.map(of) as [
    HistorySeries | null,
    HistorySeries | null,
    HistorySeries | null,
    HistorySeries | null,
  ];
  const total = gpu?.memory_total_bytes ?? roundAbove(mostOf(held));
  const limit = Math.max(gpu?.power_limit_watts ?? 0, mostOf(power)) || 100;
  const watts = (value: number | null | undefined) => unit(value, 'W', number);
  const degrees = (value: number | null | undefined) => unit(value, '°C', number);
  return [
    { ...percents('utilization_percent', say('use'), use, language), now: told && steadyUse(told) },
    {
      ...bytes(say('memory'), held, total, language),
      now: told && told.memory_used_bytes,
      beside: gpu?.memory_total_bytes ? say('past_of', { total: memory(total) }) : '',
    },
    {
      figure: 'power_watts',
      title: say('power'),
      series: power,
      tall: false,
      floor: 0,
      ceiling: limit,
      ticks: [0, limit].map((at) => ({ at, text: watts(at) })),
      write: watts,
      now: told && told.power_watts,
      beside: gpu?.power_limit_watts ? say('past_of', { total: watts(gpu.power_limit_watts) }) : '',
    },
    {
      figure: 'temperature_celsius',
      title: say('temperature'),
      series: heat,
      tall: false,
      floor: 20,
      ceiling: Math.max(95, mostOf(heat)),
      ticks: [30, 90].map((at) => ({ at, text: degrees(at) })),
      write: degrees,
      now: told && told.temperature_celsius,
      beside: '',
    },
  ];
}

export function nodeDrawn(
  answer: HistoryAnswer | null,
  node: NodeRow | null,
  gpus: GpuRow[],
  language: Language,
  live: boolean,
): DrawnFigure[] {
  const told = live && (node?.state === 'live' || node?.state === 'late') ? node : null;
  const uses = told ? gpus.flatMap((gpu) => (gpu.counted ? (steadyUse(gpu) ?? []) : [])) : [];
  const { say, memory } = language;
  const of = (figure: Figure) => answer?.series.find((each) => each.figure === figure) ?? null;
  const held = of('host_memory_used_bytes');
  const total = node?.memory_total_bytes ?? roundAbove(mostOf(held));
  return [
    {
      ...percents('utilization_percent', say('past_allGpus'), of('utilization_percent'), language),
      now: uses.length ? uses.reduce((sum, use) => sum + use, 0) / uses.length : null,
    },
    {
      ...percents('host_load_percent', say('past_load'), of('host_load_percent'), language),
      tall: false,
      now: told && told.load_percent,
    },
    {
      ...bytes('RAM', held, total, language),
      now: told && told.memory_used_bytes,
      figure: 'host_memory_used_bytes',
      beside: node?.memory_total_bytes ? say('past_of', { total: memory(total) }) : '',
    },
  ];
}

function unit(value: number | null | undefined, sign: string, number: Language['number']): string {
  return value == null ? '—' : `${number(value)} ${sign}`;
}

function percents(
  figure: Figure,
  title: string,
  series: HistorySeries | null,
  { number }: Language,
): DrawnFigure {
  const write = (value: number | null | undefined) => unit(value, '%', number);
  // A machine may have more to do than it can.
  const ceiling = Math.max(100, mostOf(series));
  const ticks = [0, 50, 100].map((at) => ({ at, text: write(at) }));
  return { figure, title, series, tall: true, floor: 0, ceiling, ticks, write, now: null, beside: '' };
}

function bytes(
  title: string,
  series: HistorySeries | null,
  total: number,
  { memory }: Language,
): DrawnFigure {
  return {
    figure: 'memory_used_bytes',
    title,
    series,
    tall: false,
    floor: 0,
    ceiling: Math.max(total, mostOf(series)),
    ticks: [0, total].map((at) => ({ at, text: at ? memory(at) : '0' })),
    write: memory,
    now: null,
    beside: '',
  };
}
