/** Why the board refused, in the viewer's words; what a newer board says otherwise stays as it is. */

import { AccountError } from '../../api/asker';
import { ApiError } from '../../api/client';
import { SOON_SECONDS, type Hold } from '../../state/booking';
import { isSamePerson } from '../../state/people';
import type { App } from '../../state/context';
import { momentText, spanText } from '../../text/moments';

type Values = AccountError['values'];
const TIMES = ['booking-longest', 'booking-ahead', 'booking-too-far'];

export type Refusal = Pick<AccountError, 'code' | 'message' | 'values'> & { status?: number };

/** What went wrong, as a refusal; what is not the board's word is that it did not answer. */
export function refusalOf(error: unknown): AccountError {
  if (error instanceof AccountError) return error;
  return error instanceof ApiError
    ? new AccountError(error.status, error.message)
    : new AccountError(0, String(error));
}

type Viewing = Pick<App, 'language' | 'clock' | 'session'>;

/** Who has a place: until when, and from when if it has not begun. */
export function clashText(
  place: string,
  { who: name, is_unverified, start, end }: Omit<Hold, 'number'>,
  { clock, language, session }: Viewing,
): string {
  const { say, tag } = language;
  const now = clock.coarse;
  const mine = name !== null && !is_unverified && isSamePerson(name, session.person);
  const who = name !== null && is_unverified ? `${name} (${say('unverified')})` : name;
  const until = end < Infinity ? momentText(end, now, tag) : '∞';
  if (start <= now) {
    const words = { place, time: until };
    if (mine) return say('book_clashOwn', words);
    return who === null ? say('book_clashSomebody', words) : say('book_clash', { ...words, who });
  }
  const [from, to] = end < Infinity ? spanText(start, end, now, tag) : [momentText(start, now, tag), until];
  const words = { place, start: from, time: to };
  if (mine) return say('book_clashOwnSpan', words);
  return who === null ? say('book_clashSpanSomebody', words) : say('book_clashSpan', { ...words, who });
}

export function refusalText({ code, message, status, values }: Refusal, app: Viewing): string {
  const { say, sayWhole, knows } = app.language;
  // A browser's own words are English, and say nothing.
  if (status === 0) return say('why_unreachable');
  const time = (at: unknown) =>
    typeof at === 'number' && at < Infinity ? momentText(at, app.clock.coarse, app.language.tag) : '∞';
  const key = `refused_${code?.replace('booking-', '').replaceAll('-', '_')}`;
  if (code === 'booking-conflict') {
    const { who, until, gap_start, kind } = values;
    const end = typeof until === 'number' ? until : Infinity;
    const is_unverified = kind === 'comments-json';
    const hold = { who: typeof who === 'string' ? who : null, is_unverified, start: 0, end };
    const first = clashText(placeOf(values, app), hold, app);
    return gap_start == null ? first : `${first} ${say('refused_gap', { time: time(gap_start) })}`;
  }
  if (code === 'booking-not-enough') {
    const { on_one_node, gap_start } = values;
    const together = typeof on_one_node === 'number';
    const written = wordsOf(code, { ...values, had: together ? on_one_node : values['free'] }, app);
    const first = say(together ? 'refused_not_enough_together' : 'refused_not_enough', written);
    return gap_start == null ? first : `${first} ${say('refused_enough_from', { time: time(gap_start) })}`;
  }
  if (code === 'booking-in-use')
    return say('book_inUse', {
      place: placeOf(values, app),
      who: String(values['who'] ?? say('book_somebody')),
      time: app.language.duration(SOON_SECONDS),
    });
  if (code === 'booking-outdated')
    return say('refused_outdated', { start: time(values['start']), time: time(values['end']) });
  if (code === 'booking-stale' || code === 'booking-broken')
    return say('book_away', { place: placeOf(values, app), word: say(code.slice(8) as 'stale' | 'broken') });
  const told = knows(key) ? sayWhole(key, wordsOf(code ?? '', values, app)) : null;
  const { group, policy } = values;
  if (!told || typeof policy !== 'string') return told ?? (message || say('partAway'));
  // As the settings name it.
  const table = typeof group === 'string' ? `bookings.groups.${group}` : 'bookings';
  return `${told} ${say('book_policy', { policy: `[${table}] ${policy}` })}`;
}

function placeOf({ node, gpu }: Values, { language }: Pick<App, 'language'>): string {
  return gpu == null ? String(node) : `${String(node)} ${language.say('gpu')} ${String(gpu)}`;
}

/** With its minutes, up to two days: "8 h" against "8 h" would explain nothing. */
function exactly(seconds: number, { duration, say }: App['language']): string {
  const minutes = Math.round(seconds / 60);
  const [h, m] = [Math.floor(minutes / 60), minutes % 60];
  if (!h || !m || h >= 48) return duration(seconds);
  return say('hoursMinutes', { h, m: String(m).padStart(2, '0') });
}

/** The values of a refusal as people write them. */
function wordsOf(code: string, values: Values, app: Pick<App, 'language'>): Record<string, string> {
  const { language } = app;
  const written: Record<string, string> = values['node'] ? { place: placeOf(values, app) } : {};
  for (const [name, value] of Object.entries(values)) {
    if (typeof value === 'number')
      written[name] = TIMES.includes(code) ? exactly(value, language) : language.decimal(value);
    else if (typeof value === 'string') written[name] = value;
  }
  return written;
}
