/** What a GPU says in a cell, and as a sentence. */

import type { GpuRecord, NodeRecord, Reason } from '../api/wire';
import { JUST_FREED_SECONDS } from '../state/answers';
import { nominalModel } from '../state/models';
import type { Language } from '../text/language.svelte';
import { reasonText } from '../text/reasons';

export interface CellWords {
  main: string;
  side: string;
}

/** Who uses it, biggest first: "chen", "chen +2"; nothing where names are hidden. */
export function userNames(gpu: GpuRecord): string {
  const names = [...new Set((gpu.users ?? []).map((use) => use.user ?? '?'))];
  return names.length > 1 ? `${names[0]} +${names.length - 1}` : (names[0] ?? '');
}

export function cellWords(gpu: GpuRecord, now: number, language: Language): CellWords {
  const { say, duration } = language;
  const lasted = gpu.since === null ? null : now - gpu.since;
  switch (gpu.verdict) {
    case 'free':
      if (lasted === null) return { main: say('free'), side: '' };
      return { main: say('free'), side: lasted < JUST_FREED_SECONDS ? say('justNow') : duration(lasted) };
    case 'busy':
      return {
        main: gpu.utilization_percent === null ? say('busy') : `${language.number(gpu.utilization_percent)}%`,
        side: userNames(gpu),
      };
    case 'idle':
      return { main: lasted === null ? say('idle') : duration(lasted), side: userNames(gpu) };
    case 'booked':
      return {
        main: gpu.claim?.until
          ? say('until', { time: language.shortTime(gpu.claim.until, now) })
          : say('booked'),
        side: gpu.claim?.who ?? '',
      };
    case 'broken':
      return { main: shortTrouble(gpu.reason, language), side: '' };
    default:
      return { main: say(gpu.verdict), side: '' };
  }
}

function shortTrouble({ code, values }: Reason, { say, knows }: Language): string {
  const xid = values['xid'] ?? values['code'];
  if (code === 'xid') return xid === undefined ? 'XID' : `XID ${String(xid)}`;
  const key = `short_${code}`;
  return knows(key) ? say(key) : say('broken');
}

/** One sentence for those who do not see the cell. */
export function cellSentence(gpu: GpuRecord, now: number, language: Language): string {
  const { main, side } = cellWords(gpu, now, language);
  const word = language.say(gpu.verdict);
  const facts = [`${gpu.node} GPU ${gpu.index}`, nominalModel(gpu), word];
  if (main !== word) facts.push(main);
  if (side) facts.push(side);
  return facts.join(', ');
}

/** Why a node is not live, or nothing. */
export function nodeTrouble(node: NodeRecord, now: number, language: Language): string {
  if (node.state === 'live') return '';
  return node.reason
    ? reasonText(node.reason, now, language, node.sampled_at)
    : language.say(`state_${node.state}`);
}

/** A shell line that opens a shell on the node with these devices; empty if a name could not go there safely. */
export function takeCommand(node: string, gpus: Pick<GpuRecord, 'uuid' | 'index'>[]): string {
  const safe = (text: string) => /^[A-Za-z0-9][A-Za-z0-9._/-]*$/.test(text);
  if (!safe(node)) return '';
  // A source without UUIDs makes them up as node:index: then the driver's order has to do.
  const devices = gpus.every(({ uuid }) => safe(uuid))
    ? gpus.map(({ uuid }) => uuid)
    : gpus.map(({ index }) => index);
  return `ssh -t ${node} 'env CUDA_VISIBLE_DEVICES=${devices.join(',')} $SHELL -l'`;
}
