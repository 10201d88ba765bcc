/** Everything that lanes show, with its word: the legend lists it, and the types miss none. */

import type { Look } from '../../../state/lanes';
import type { RealKind } from '../../../state/really';
import type { Key } from '../../../text/language.svelte';

export const LOOKS: Record<Look, Key> = {
  mine: 'lane_mine',
  others: 'lane_others',
  past: 'lane_past',
  'no-show': 'lane_noShow',
  block: 'lane_maintenance',
};

export const FEET: Record<RealKind, Key> = {
  used: 'lane_used',
  idle: 'lane_idle',
  others: 'lane_byOthers',
  booked: 'past_booked',
  broken: 'broken',
  unobserved: 'past_unobserved',
};
