import type { GpuRow } from '../api/wire';
import type { Language } from '../text/language.svelte';

/** How long it has been so, or until when it is booked; nothing where neither tells much. */
export function lasting(gpu: GpuRow, now: number, { say, duration, past, time }: Language): string {
  if (gpu.verdict === 'booked' && gpu.claim?.until) return say('until', { time: time(gpu.claim.until, now) });
  const { since, verdict } = gpu;
  if (since === null || verdict === 'busy' || (verdict === 'free' && past)) return '';
  const lasted = duration(now - since);
  // "free 2 h" would read as a promise.
  return verdict === 'free' ? say('verdictSince', { time: time(since, now), lasted }) : lasted;
}
