/** What happened before and after a moment, in the order of time. Pure. */

import type { EpisodeView, EventView } from '../../api/history';

export type Happening =
  | { at: number; kind: 'begins' | 'ends'; episode: EpisodeView }
  | { at: number; kind: 'event'; event: EventView };

const BEFORE = 4;
const AFTER = 3;

/** The last few before (or at) the moment and the next few after it; people of one job on several GPUs are one. */
export function around(
  episodes: EpisodeView[],
  events: EventView[],
  at: number,
): { before: Happening[]; after: Happening[] } {
  const all: Happening[] = [
    ...episodes.map((episode) => ({ at: episode.from, kind: 'begins' as const, episode })),
    ...episodes.flatMap((episode) =>
      episode.to === null ? [] : [{ at: episode.to, kind: 'ends' as const, episode }],
    ),
    ...events.map((event) => ({ at: event.from, kind: 'event' as const, event })),
  ];
  all.sort((a, b) => a.at - b.at);
  return {
    before: all.filter((each) => each.at <= at).slice(-BEFORE),
    after: all.filter((each) => each.at > at).slice(0, AFTER),
  };
}
