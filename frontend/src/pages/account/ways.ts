import type { WayKind } from '../../api/people';
import type { Language } from '../../text/language.svelte';

/** How somebody was recognised, in words; what a newer board calls otherwise stays as it is. */
export function wayWords(
  { way, through }: { way: WayKind | string | null; through: string | null },
  { knows, say }: Language,
): string {
  const key = `account_way_${way}`;
  const words = way === null ? '' : knows(key) ? say(key) : way;
  return [words, through === null ? '' : say('account_through', { node: through })]
    .filter(Boolean)
    .join(', ');
}
