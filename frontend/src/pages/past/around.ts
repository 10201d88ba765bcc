/** What happened before and after a moment, in the order of time. Pure. */

import type { EpisodeView, EventView } from '../../api/history';
import { natural } from '../../state/fleet.svelte';

export type Happening =
  | { at: number; kind: 'begins' | 'ends'; episode: EpisodeView; labels: string[] }
  | { at: number; kind: 'event'; event: EventView };

const BEFORE = 4;
const AFTER = 3;

/** The last few before (or at) the moment and the next few after it; one job on several GPUs of a node is one. */
export function around(
  episodes: EpisodeView[],
  events: EventView[],
  at: number,
): { before: Happening[]; after: Happening[] } {
  const all: Happening[] = [
    // What ran already when its GPU was first looked at began nobody knows when.
    ...episodes.flatMap((episode) => (episode.began_before ? [] : [turn(episode, 'begins', episode.from)])),
    ...episodes.flatMap((episode) => (episode.to === null ? [] : [turn(episode, 'ends', episode.to)])),
    ...events.map((event) => ({ at: event.from, kind: 'event' as const, event })),
  ];
  all.sort((a, b) => a.at - b.at);
  return {
    before: joined(all.filter((each) => each.at <= at)).slice(-BEFORE),
    after: joined(all.filter((each) => each.at > at)).slice(0, AFTER),
  };
}

function turn(episode: EpisodeView, kind: 'begins' | 'ends', at: number): Happening {
  return { at, kind, episode, labels: [episode.label ?? '—'] };
}

function joined(all: Happening[]): Happening[] {
  const found = new Map<string, Happening>();
  all.forEach((each, place) => {
    const key = each.kind === 'event' ? String(place) : job(each);
    const same = found.get(key);
    if (each.kind === 'event' || same === undefined || same.kind === 'event') found.set(key, each);
    else same.labels = [...new Set([...same.labels, ...each.labels])].sort(natural.compare);
  });
  return [...found.values()];
}

/** Whose, where, and from which minute to which; of somebody without a name nobody can tell. */
function job({
  at,
  kind,
  episode: { person, node, gpu, from },
}: Happening & { episode: EpisodeView }): string {
  const minutes = [at, kind === 'ends' ? from : at].map((moment) => Math.floor(moment / 60));
  return JSON.stringify([kind, person ?? [gpu], node, minutes]);
}
