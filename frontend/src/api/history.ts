/** What the board says of the past, word for word. Times are Unix seconds by its clock; null means "not observed". */

import type { Client } from './client';
import type {
  EpisodesAnswer,
  EventsAnswer,
  HistoryAnswer,
  HistoryInfo,
  StatesAnswer,
  TrackAnswer,
} from './generated';
import type { BoardInfo, Snapshot } from './wire';

export type {
  EpisodesAnswer,
  EpisodeView,
  EventsAnswer,
  EventView,
  HistoryAnswer,
  HistoryInfo,
  HistorySeries,
  StatesAnswer,
  StateView,
  TrackAnswer,
} from './generated';

/** Those that are drawn; of the machine itself they begin with its name. */
export type Figure =
  | 'utilization_percent'
  | 'memory_used_bytes'
  | 'power_watts'
  | 'temperature_celsius'
  | 'host_load_percent'
  | 'host_memory_used_bytes';

/** Of what: GPUs, nodes, or (neither) the whole fleet. */
export interface Of {
  gpu?: string[];
  node?: string[];
}

export interface PastSpan {
  from: number;
  to: number;
}

/** What this board remembers; null: nothing, and nothing of the past is shown. */
export function historyOf(board: BoardInfo | null): HistoryInfo | null {
  // An older board does not say.
  return board?.history ?? null;
}

function query(
  { gpu = [], node = [] }: Of,
  span: PastSpan,
  more: Record<string, string | number> = {},
): string {
  const asked = new URLSearchParams();
  for (const each of gpu) asked.append('gpu', each);
  for (const each of node) asked.append('node', each);
  // The board counts in seconds; more digits only make two equal questions differ.
  asked.set('from', String(Math.floor(span.from)));
  asked.set('to', String(Math.ceil(span.to)));
  for (const [key, value] of Object.entries(more)) asked.set(key, String(value));
  return asked.toString();
}

/** Figures over time, as points of mean, least and most. */
export const figures = (client: Client, of: Of, names: Figure[], span: PastSpan, points: number) =>
  client.get<HistoryAnswer>(`history?${query(of, span, { figure: names.join(','), points })}`);

/** The use of every GPU of these nodes: one series each. */
export const strips = (client: Client, node: string[], span: PastSpan, points: number) =>
  client.get<HistoryAnswer>(
    `history?${query({ node }, span, { figure: 'utilization_percent', each: 'gpu', points })}`,
  );

export const states = (client: Client, gpu: string, span: PastSpan) =>
  client.get<StatesAnswer>(`history/states?${query({ gpu: [gpu] }, span)}`);

/** What somebody ran. */
export const episodesOf = (client: Client, person: string, span: PastSpan, limit: number) =>
  client.get<EpisodesAnswer>(`episodes?${query({}, span, { person, limit })}`);

export const episodes = (client: Client, of: Of, span: PastSpan, limit: number) =>
  client.get<EpisodesAnswer>(`episodes?${query(of, span, { limit })}`);

/** What began and ended in a span, nearest to a moment: so many of each up to it and after it. */
export const episodesAround = (client: Client, span: PastSpan, around: number, limit: number) =>
  client.get<EpisodesAnswer>(`episodes?${query({}, span, { around, limit })}`);

export const eventsAround = (client: Client, span: PastSpan, around: number, limit: number) =>
  client.get<EventsAnswer>(`events?${query({}, span, { around, limit })}`);

export const track = (client: Client, span: PastSpan, points: number) =>
  client.get<TrackAnswer>(`history/track?${query({}, span, { points })}`);

/** The whole board at a moment, as the stream tells it. */
export const moment = (client: Client, at: number) => client.get<Snapshot>(`stream?at=${at}`);
