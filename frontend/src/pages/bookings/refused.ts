/** Why the board refused, in the viewer's words; what a newer board says otherwise stays as it is. */

import type { AccountError } from '../../api/asker';
import { SOON_SECONDS } from '../../state/booking';
import type { App } from '../../state/context';
import { momentText } from '../../text/moments';

type Values = AccountError['values'];
const TIMES = ['booking-longest', 'booking-ahead', 'booking-too-far'];

export function refusalText(
  { code, message, values }: Pick<AccountError, 'code' | 'message' | 'values'>,
  app: Pick<App, 'language' | 'clock'>,
): string {
  const { say, sayWhole, knows } = app.language;
  const time = (at: unknown) =>
    typeof at === 'number' && at < Infinity ? momentText(at, app.clock.coarse, app.language.tag) : '∞';
  const key = `refused_${code?.replace('booking-', '').replaceAll('-', '_')}`;
  if (code === 'booking-conflict') {
    const { who, until, gap_start } = values;
    const words = { place: placeOf(values, app), time: time(until) };
    const first =
      typeof who === 'string' ? say('book_clash', { ...words, who }) : say('book_clashSomebody', words);
    return gap_start == null ? first : `${first} ${say('refused_gap', { time: time(gap_start) })}`;
  }
  if (code === 'booking-in-use')
    return say('book_inUse', {
      place: placeOf(values, app),
      who: String(values['who'] ?? say('book_somebody')),
      time: app.language.duration(SOON_SECONDS),
    });
  if (code === 'booking-stale' || code === 'booking-broken')
    return say('book_away', { place: placeOf(values, app), word: say(code.slice(8) as 'stale' | 'broken') });
  const told = knows(key) ? sayWhole(key, wordsOf(code ?? '', values, app)) : null;
  // Whose policy it is.
  if (told && typeof values['group'] === 'string') return `${told} (${values['group']})`;
  return told ?? (message || say('partAway'));
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
  // How many there are then; the word itself is kept for what can be taken now.
  if (written['free']) written['had'] = written['free'];
  return written;
}
