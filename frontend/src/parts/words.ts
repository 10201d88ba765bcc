/** What a GPU says in a cell, and as a sentence. */

import type { GpuRecord, NodeRecord, Reason } from '../api/wire';
import { holderName, JUST_FREED_SECONDS } from '../state/answers';
import { nominalModel } from '../state/models';
import type { Language } from '../text/language.svelte';
import { reasonText } from '../text/reasons';

export interface CellWords {
  /** The first to go where room is short; then `main`; never `side`, which is mostly a name. */
  lead: string;
  main: string;
  side: string;
}

/** Who uses it, biggest first: "chen", "chen +2"; nothing where names are hidden. */
export function userNames(gpu: GpuRecord): string {
  const names = [...new Set((gpu.users ?? []).map(holderName))];
  return names.length > 1 ? `${names[0]} +${names.length - 1}` : (names[0] ?? '');
}

export function cellWords(gpu: GpuRecord, now: number, language: Language): CellWords {
  const { say, duration } = language;
  const lasted = gpu.since === null ? null : now - gpu.since;
  switch (gpu.verdict) {
    case 'free':
      return {
        lead: '',
        main: say('free'),
        side: lasted === null ? '' : lasted < JUST_FREED_SECONDS ? say('justNow') : duration(lasted, true),
      };
    case 'busy':
      return {
        lead: '',
        main: gpu.utilization_percent === null ? say('busy') : `${language.number(gpu.utilization_percent)}%`,
        side: userNames(gpu),
      };
    case 'idle':
      return lasted === null
        ? { lead: '', main: say('idle'), side: userNames(gpu) }
        : { lead: say('idle'), main: duration(lasted, true), side: userNames(gpu) };
    case 'booked':
      return {
        lead: gpu.claim?.until ? say('until', { time: '' }).trim() : '',
        main: gpu.claim?.until ? language.shortTime(gpu.claim.until, now) : say('booked'),
        side: gpu.claim?.who ?? '',
      };
    case 'broken':
      return { lead: '', main: shortTrouble(gpu.reason, language), side: '' };
    default:
      return { lead: '', main: say(gpu.verdict), side: '' };
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
  const { lead, main, side } = cellWords(gpu, now, language);
  const word = language.say(gpu.verdict);
  const facts = [`${gpu.node} GPU ${gpu.index}`, nominalModel(gpu), word];
  if (main !== word) facts.push(lead && lead !== word ? `${lead} ${main}` : main);
  if (side) facts.push(side);
  return [...facts, ...flagWords(gpu, language)].join(', ');
}

/** What the "!" on a cell stands for. */
export function flagWords({ flags }: GpuRecord, { say, knows }: Language): string[] {
  return flags.map((flag) => (knows(`flag_${flag}`) ? say(`flag_${flag}`) : flag));
}

/** Why a node is not live, or nothing. */
export function nodeTrouble(node: NodeRecord, now: number, language: Language): string {
  if (node.state === 'live') return '';
  return node.reason
    ? reasonText(node.reason, now, language, node.sampled_at)
    : language.say(`state_${node.state}`);
}

/** What is wrong with a node in one line: why it is not live, or the first of its problems. */
export function nodeProblem(node: NodeRecord, now: number, language: Language): string {
  const more = node.problems.length > 1 ? ` +${node.problems.length - 1}` : '';
  return nodeTrouble(node, now, language) || (node.problems[0] ? node.problems[0].text + more : '');
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
