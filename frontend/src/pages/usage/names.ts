/** What a row is called, and where it leads. */

import type { UsageBy } from '../../api/usage';
import { readStretch, type Stretch } from '../../state/calendar';
import { wordTerm } from '../../state/filter';
import { personPath } from '../../state/person';
import type { Router } from '../../state/router.svelte';
import type { Key, Language } from '../../text/language.svelte';
import { weekText } from './spans';

const NAMELESS: Partial<Record<UsageBy, Key>> = {
  group: 'usage_noGroup',
  model: 'usage_noModel',
  node: 'usage_noNode',
  program: 'usage_noProgram',
};

/** Whom the board names that is no person: blocks are on nobody's account. */
const MAINTENANCE = 'maintenance';

/** `asked`: the time that the rows are of. */
export function rowName(name: string | null, by: UsageBy, asked: Stretch, language: Language): string {
  if (name === null) return language.say(NAMELESS[by] ?? 'unknown');
  if (by === 'person')
    return name === MAINTENANCE ? language.say('usage_maintenance') : language.person(name);
  if (by !== 'week') return name;
  const stretch = readStretch(new URLSearchParams({ week: name }), { year: 1970, month: 1, day: 1 });
  return stretch.period === 'week' ? weekText(name, stretch, asked, language) : name;
}

/** The page of what a row is of; null: it has none. */
export function rowPlace(name: string | null, by: UsageBy, router: Router): string | null {
  if (name === null) return null;
  switch (by) {
    case 'person':
      return name === 'unknown' || name === MAINTENANCE ? null : router.href(...personPath(name));
    case 'node':
      return router.node(name);
    case 'model':
      return router.href('', { q: wordTerm('model', name) });
    case 'week':
      return router.href('usage', { week: name, by: 'person' });
    default:
      return null;
  }
}
