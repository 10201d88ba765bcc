/** How somebody who holds idle GPUs is asked for them. */

import type { GpuRow } from '../api/wire';
import type { App } from '../state/context';
import { ranges } from '../state/labels';
import { isSamePerson } from '../state/people';
import type { Language } from '../text/language.svelte';

/** Only what mail programs and browsers open by themselves, whatever the board says. */
const OPENED = /^(mailto:|https:\/\/)/;
// Mail programs cut what is longer.
const MOST_LINES = 12;

/** The address to ask somebody: the admin's template with person and text filled in, or null. */
export function askAddress(
  template: string | null | undefined,
  person: string,
  subject: string,
  text: string,
): string | null {
  if (!template || !OPENED.test(template)) return null;
  const values: Record<string, string> = { person, text };
  const address = template.replace(/\{(person|text)\}/g, (_, name: string) =>
    encodeURIComponent(values[name]!),
  );
  if (!address.startsWith('mailto:') || template.includes('{text}')) return address;
  const sign = address.includes('?') ? '&' : '?';
  return `${address}${sign}subject=${encodeURIComponent(subject)}&body=${encodeURIComponent(text)}`;
}

/** Where a link leads that asks somebody for the idle ones among these GPUs; null where the board knows no way, or its data is old. */
export function askLink(
  who: string,
  gpus: GpuRow[],
  { clock, connection, fleet, language, session }: App,
): string | null {
  const idle = gpus.filter((gpu) => gpu.verdict === 'idle');
  const account = accountOf(who, idle);
  if (account === null || isSamePerson(who, session.me) || !connection.isCurrent) return null;
  const { subject, text } = askWords(idle, who, clock.coarse, language);
  return askAddress(fleet.board?.contact, account, subject, text);
}

/** The account behind a name, as these GPUs know it; names that nothing identifies have none. */
export function accountOf(name: string, gpus: Pick<GpuRow, 'users'>[]): string | null {
  for (const { users } of gpus)
    for (const use of users ?? []) if (isSamePerson(use.name, name) && use.user !== null) return use.user;
  return null;
}

/** What to say: politely, with the evidence, in the words of who asks. */
export function askWords(
  gpus: Pick<GpuRow, 'node' | 'label' | 'since'>[],
  who: string,
  now: number,
  { say, duration, list }: Language,
): { subject: string; text: string } {
  const nodes = new Map<string, typeof gpus>();
  for (const gpu of gpus) nodes.set(gpu.node, [...(nodes.get(gpu.node) ?? []), gpu]);
  const lines = [...nodes].slice(0, MOST_LINES).map(([node, held]) => {
    const since = held.flatMap((gpu) => gpu.since ?? []);
    const labels = ranges(held.map((gpu) => gpu.label));
    if (!since.length) return say('askPlace', { node, labels });
    return say('askLine', { node, labels, time: duration(now - Math.max(...since)) });
  });
  if (nodes.size > MOST_LINES) lines.push('…');
  const count = say('gpus', { count: gpus.length });
  return {
    subject: say('askSubject', { gpus: count, nodes: list([...nodes.keys()].slice(0, 3)) }),
    text: say('askText', { who, gpus: count, evidence: lines.join('\n') }),
  };
}
