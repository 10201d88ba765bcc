import type { Language } from '../../text/language.svelte';

const HOUR = 60;
const DAY = 24 * HOUR;

/** How long something still lasts: within a day to the minute, so that nobody is told an hour too little. */
export function timeLeft(seconds: number, { duration, say }: Pick<Language, 'duration' | 'say'>): string {
  const minutes = Math.floor(Math.max(0, seconds) / 60);
  const rest = minutes % HOUR;
  if (minutes < HOUR || minutes >= DAY || rest === 0) return duration(seconds);
  return say('hoursMinutes', { h: Math.floor(minutes / HOUR), m: String(rest).padStart(2, '0') });
}
