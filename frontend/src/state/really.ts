/** What really happened on a GPU, beside what was booked. Pure. */

import type { StateView } from '../api/history';
import type { Span } from './booking';
import { isSamePerson } from './people';
import { lane, type Kind } from './span';

/** `others`: used, but by nobody whose booking it was. */
export type RealKind = Exclude<Kind, 'free'> | 'others';

export interface Real extends Span {
  kind: RealKind;
}

/** Whose a lane was from when to when. */
export interface Owned extends Span {
  who: string | null;
}

// The last moments are on their way to the history still.
const LAG_SHARE = 0.01;
const LAG_SECONDS = 180;

/**
 * From when to when a lane was what, up to where it was asked for. What was free is left out: known, and nothing to
 * see. What nobody observed is there as such.
 */
export function reallyOf(
  states: StateView[],
  asked: Span,
  { owned, width }: { owned: readonly Owned[]; width: number },
): Real[] {
  const found: Real[] = [];
  let seen = asked.start;
  const lag = Math.max(LAG_SECONDS, (asked.end - asked.start) * LAG_SHARE);
  for (const { from, to, kind, users } of lane(states, { from: asked.start, to: asked.end }, width)) {
    if (from > seen) found.push({ start: seen, end: from, kind: 'unobserved' });
    seen = Math.max(seen, to);
    if (kind !== 'free') found.push(...parts({ start: from, end: to, kind }, users, owned));
  }
  if (asked.end - seen > lag) found.push({ start: seen, end: asked.end, kind: 'unobserved' });
  return found;
}

/** What somebody used while another had booked it is told apart. */
function parts(piece: Real, users: string[], owned: readonly Owned[]): Real[] {
  if ((piece.kind !== 'used' && piece.kind !== 'idle') || !users.length) return [piece];
  const others = owned.filter(
    ({ start, end, who }) =>
      who !== null &&
      start < piece.end &&
      end > piece.start &&
      !users.some((name) => isSamePerson(name, who)),
  );
  const found: Real[] = [];
  let at = piece.start;
  for (const { start, end } of others.sort((a, b) => a.start - b.start)) {
    if (start > at) found.push({ ...piece, start: at, end: start });
    const from = Math.max(at, start);
    at = Math.min(end, piece.end);
    if (at > from) found.push({ start: from, end: at, kind: 'others' });
  }
  if (at < piece.end) found.push({ ...piece, start: at });
  return found;
}
