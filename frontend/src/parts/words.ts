/** What a GPU says in a cell, and as a sentence. */

import type { GpuRecord, Reason } from '../api/wire';
import { JUST_FREED_SECONDS } from '../state/answers';
import { nominalModel } from '../state/models';
import type { Language } from '../text/language.svelte';

export interface CellWords {
  main: string;
  side: string;
}

/** Who uses it, biggest first: "chen", "chen +2"; nothing where names are hidden. */
export function userNames(gpu: GpuRecord): string {
  const names = [...new Set((gpu.users ?? []).map((use) => use.user ?? '?'))];
  return names.length > 1 ? `${names[0]} +${names.length - 1}` : (names[0] ?? '');
}

export function cellWords(gpu: GpuRecord, now: number, { say, duration, time, number }: Language): CellWords {
  const lasted = gpu.since === null ? null : now - gpu.since;
  switch (gpu.verdict) {
    case 'free':
      if (lasted === null) return { main: say('free'), side: '' };
      return { main: say('free'), side: lasted < JUST_FREED_SECONDS ? say('justNow') : duration(lasted) };
    case 'busy':
      return {
        main: gpu.utilization_percent === null ? '—' : `${number(gpu.utilization_percent)}%`,
        side: userNames(gpu),
      };
    case 'idle':
      return { main: lasted === null ? say('idle') : duration(lasted), side: userNames(gpu) };
    case 'booked':
      return {
        main: gpu.claim?.until ? say('until', { time: time(gpu.claim.until, now) }) : say('booked'),
        side: gpu.claim?.who ?? '',
      };
    case 'broken':
      return { main: shortTrouble(gpu.reason), side: '' };
    default:
      return { main: say(gpu.verdict), side: '' };
  }
}

function shortTrouble(reason: Reason): string {
  const code = reason.values['xid'] ?? reason.values['code'];
  if (reason.code.startsWith('xid')) return code === undefined ? 'XID' : `XID ${String(code)}`;
  return reason.code.replaceAll('-', ' ');
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
