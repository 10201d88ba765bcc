/** Times of day mean something only with their zone: whose it is, and whether the board's is another. */

import type { Tag } from './language.svelte';

/** The zone in which this page writes its times, like "Europe/Berlin". */
export function viewersZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** A moment in full with the name of the viewer's zone, and in UTC: for hovering. */
export function zonedTime(at: number, tag: Tag): string {
  const local = new Intl.DateTimeFormat(tag, {
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'short',
  });
  return `${local.format(at * 1000)} · ${utc(at)}`;
}

/** The time of day where the board stands, if clocks there show another than here; else null. */
export function boardTime(zone: string | null | undefined, at: number, tag: Tag): string | null {
  if (!zone) return null;
  const write = (timeZone: string) =>
    new Intl.DateTimeFormat(tag, {
      weekday: 'short',
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
      timeZone,
    }).format(at * 1000);
  try {
    const there = write(zone);
    return there === write(viewersZone()) ? null : there;
  } catch {
    // A name that this browser does not know.
    return null;
  }
}

/** A full moment in UTC, for hovering. */
export function utc(at: number): string {
  return `${new Date(at * 1000).toISOString().replace('T', ' ').slice(0, 19)} UTC`;
}
