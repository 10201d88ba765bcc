import { nodeTrouble } from '../../parts/words';
import type { Affected, Cause } from '../../state/trouble';
import type { Language } from '../../text/language.svelte';
import { kindLine } from '../../text/reasons';

/** What is wrong at all places of a cause, without saying where: of one place whole, of several in short. */
export function causeText({ places }: Cause, now: number, language: Language): string {
  const { node, problem } = places[0]!;
  if (problem) return kindLine(problem, language) + (places.length > 1 ? ':' : '');
  if (places.length === 1) return nodeTrouble(node.live, now, language);
  const { reason, state } = node.live;
  const isPlain = !reason || reason.code === state;
  return `${isPlain ? language.say(`state_${state}`) : nodeTrouble(node.live, now, language)}:`;
}

/** A cause as one line in two parts, the first of them bold; one that has a single place leads to its node. */
export function causeLine(
  cause: Cause,
  now: number,
  language: Language,
): [what: string, where: string, node?: string] {
  const { places } = cause;
  const [first] = places;
  const text = causeText(cause, now, language);
  const names = places.slice(0, 3).map((place) => placeName(place, language));
  if (first && places.length === 1) {
    const lasted = first.problem?.since ? ` · ${language.duration(now - first.problem.since)}` : '';
    return [names[0]!, text + lasted, first.node.live.name];
  }
  return [`${places.length} × ${text}`, names.join(', ') + (places.length > 3 ? ' …' : '')];
}

/** "a100-01 GPU 6"; of a node that says no more, that this is old. */
export function placeName({ node, label, lastKnown }: Affected, { say }: Language): string {
  const name = node.live.display_name ?? node.live.name;
  return (
    (label === null ? name : `${name} ${say('gpu')} ${label}`) + (lastKnown ? ` (${say('lastKnown')})` : '')
  );
}
