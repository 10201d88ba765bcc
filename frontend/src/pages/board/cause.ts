import { nodeTrouble } from '../../parts/words';
import type { Cause, Place } from '../../state/trouble';
import type { Language } from '../../text/language.svelte';
import { problemLine } from '../../text/reasons';

/** What is wrong at all places of a cause, without saying where: of one place whole, of several in short. */
export function causeText({ places }: Cause, now: number, language: Language): string {
  const { node, problem } = places[0]!;
  if (problem) return problemLine(problem, node, language, true) + (places.length > 1 ? ':' : '');
  if (places.length === 1) return nodeTrouble(node.live, now, language);
  const { reason, state } = node.live;
  const isPlain = !reason || reason.code === state;
  return `${isPlain ? language.say(`state_${state}`) : nodeTrouble(node.live, now, language)}:`;
}

/** "a100-01 GPU 6". */
export function placeName({ node, label }: Place, { say }: Language): string {
  const name = node.live.display_name ?? node.live.name;
  return label === null ? name : `${name} ${say('gpu')} ${label}`;
}
