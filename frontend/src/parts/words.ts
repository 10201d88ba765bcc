/** What a GPU says in a cell, and as a sentence. */

import type { GpuRow, NodeRow, Reason } from '../api/wire';
import type { Fleet } from '../state/fleet.svelte';
import { nominalModel, summarizeModels } from '../state/models';
import { isEnded } from '../state/people';
import type { Language } from '../text/language.svelte';
import { problemText, reasonText } from '../text/reasons';

export interface CellWords {
  /** The verdict, or what stands for it; it is never cut. */
  main: string;
  /** For how long, or until when. */
  time: string;
  /** Mostly a name; whatever is too long is cut here. */
  side: string;
}

const MIG = ['divided', 'mig-empty'];

/** Whether the admin lets it count for nothing, as a card for screens; it is never offered. */
export function isIgnored({ counted, reason }: GpuRow): boolean {
  return !counted && !MIG.includes(reason.code);
}

/** Who uses it, biggest first: "chen", "chen +2"; nothing where names are hidden. */
export function userNames(gpu: GpuRow, { person }: Language): string {
  const names = [...new Set((gpu.users ?? []).map((use) => person(use.name)))];
  return names.length > 1 ? `${names[0]} +${names.length - 1}` : (names[0] ?? '');
}

export function cellWords(gpu: GpuRow, now: number, language: Language, justFreed: number): CellWords {
  const { say, duration } = language;
  const lasted = gpu.since === null ? null : now - gpu.since;
  // A card that is cut up is told by its instances.
  if (MIG.includes(gpu.reason.code)) return { main: 'MIG', time: '', side: '' };
  if (isIgnored(gpu)) return { main: say('notCounted'), time: '', side: userNames(gpu, language) };
  switch (gpu.verdict) {
    case 'free': {
      // For how long, only those know who still hear of it.
      const known = language.past ? null : lasted;
      const told = known === null ? '' : known < justFreed ? say('justNow') : duration(known, true);
      const ended = endedWords(gpu, now, language);
      return {
        main: say('free'),
        time: ended ? told : '',
        side: ended || told,
      };
    }
    case 'busy':
      return {
        main: gpu.utilization_percent === null ? say('busy') : `${language.number(gpu.utilization_percent)}%`,
        time: '',
        side: userNames(gpu, language),
      };
    case 'idle':
      return {
        main: say('idle'),
        time: lasted === null ? '' : duration(lasted, true),
        side: userNames(gpu, language),
      };
    case 'booked':
      return {
        main: say(gpu.claim?.until ? 'to' : 'booked'),
        time: gpu.claim?.until ? language.shortEnd(gpu.claim.until, now) : '',
        side: gpu.claim?.who ?? '',
      };
    case 'broken':
      return { main: say('broken'), time: '', side: shortTrouble(gpu.reason, language) };
    default:
      return { main: say(gpu.verdict), time: '', side: '' };
  }
}

/** That a booking is over, where nobody has come since: "ended 3 h ago". */
export function endedWords(gpu: GpuRow, now: number, { say, duration }: Language): string {
  return isEnded(gpu) ? say('ended', { ago: duration(now - gpu.ended_claim!.until!, true) }) : '';
}

function shortTrouble({ code, values }: Reason, { say, knows }: Language): string {
  const xid = values['xid'] ?? values['code'];
  if (code === 'xid') return xid === undefined ? 'XID' : `XID ${String(xid)}`;
  const key = `short_${code}`;
  return knows(key) ? say(key) : '';
}

/** One sentence for those who do not see the cell. */
export function cellSentence(gpu: GpuRow, now: number, language: Language, justFreed: number): string {
  const { main, time, side } = cellWords(gpu, now, language, justFreed);
  const word = language.say(gpu.verdict);
  const facts = [`${gpu.node} GPU ${gpu.label}`, nominalModel(gpu), word];
  if (gpu.verdict === 'booked' && time) facts.push(language.say('until', { time }));
  else if (main !== word) facts.push(main);
  else if (time) facts.push(time);
  if (side) facts.push(side);
  return [...facts, ...flagWords(gpu, language)].join(', ');
}

/** How long it has been so, or until when it is booked; nothing where neither tells much. */
export function lasting(gpu: GpuRow, now: number, { say, duration, past, time }: Language): string {
  if (gpu.verdict === 'booked' && gpu.claim?.until) return say('until', { time: time(gpu.claim.until, now) });
  const untold = gpu.since === null || gpu.verdict === 'busy' || (gpu.verdict === 'free' && past);
  return untold ? '' : duration(now - gpu.since!);
}

/** What the "!" on a cell stands for. */
export function flagWords({ flags }: GpuRow, { say, knows }: Language): string[] {
  return flags.map((flag) => (knows(`flag_${flag}`) ? say(`flag_${flag}`) : flag));
}

/** Why a node is not live, or nothing. */
export function nodeTrouble(node: NodeRow, now: number, language: Language): string {
  if (node.state === 'live') return '';
  return node.reason
    ? reasonText(node.reason, now, language, node.sampled_at)
    : language.say(`state_${node.state}`);
}

/** What is wrong with a node in one line: why it is not live, or the first of its problems. */
export function nodeProblem(node: NodeRow, now: number, language: Language): string {
  const more = node.problems.length > 1 ? ` +${node.problems.length - 1}` : '';
  return (
    nodeTrouble(node, now, language) ||
    (node.problems[0] ? problemText(node.problems[0], language, node.clock_offset_seconds) + more : '')
  );
}

/** What to say of a node that shows no GPU: that it has none only where that is known. */
export function withoutGpus({ gpus_known }: NodeRow, { say }: Language): string {
  return gpus_known ? say('noGpus') : say('gpusNotKnown');
}

/** What a node has: its models, also where none of them counts; that it has none, only where that is known. */
export function hardware(node: NodeRow, gpus: GpuRow[], language: Language): string {
  const counted = summarizeModels(gpus);
  const all = counted || summarizeModels(gpus.map((gpu) => ({ ...gpu, counted: true })));
  if (!all) return withoutGpus(node, language);
  return counted || `${all}, ${language.say('notCounted')}`;
}

/** What CUDA calls these devices: by UUID, or by number where one has no UUID, never a mix; empty if neither does. */
export function cudaDevices(gpus: Pick<GpuRow, 'uuid' | 'label'>[]): { text: string; numbered: boolean } {
  // A UUID that two nodes have stands before the name of its node.
  const uuids = gpus.map(({ uuid }) => uuid.split('@')[0]!);
  const numbered = !uuids.every((uuid) => /^(GPU|MIG)-[A-Za-z0-9/-]+$/.test(uuid));
  // Cards of a second vendor count from 1000 here: no driver knows those numbers.
  const names = numbered ? gpus.map(({ label }) => label) : uuids;
  return {
    text: numbered && names.some((label) => !/^\d{1,3}$/.test(label)) ? '' : names.join(','),
    numbered,
  };
}

/** The admin's shell line for these devices of a node; empty if a name could not go there safely. */
export function takeCommand(
  { board, nodes }: Pick<Fleet, 'board' | 'nodes'>,
  name: string,
  gpus: Pick<GpuRow, 'uuid' | 'label'>[],
): string {
  // Where it goes may itself be inside of quotes; so nothing passes that a shell would not take as it is.
  const safe = (text: string) => /^[A-Za-z0-9][A-Za-z0-9._:/-]*$/.test(text);
  const devices = cudaDevices(gpus);
  if (!safe(name) || !devices.text) return '';
  const address = nodes.get(name)?.record.address ?? '';
  const values: Record<string, string> = {
    node: name,
    address: safe(address) ? address : name,
    devices: devices.text,
  };
  let copy = board?.copy ?? '';
  // Otherwise CUDA numbers the fastest first, not as the driver does.
  if (devices.numbered) copy = copy.replace('env CUDA_V', 'env CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_V');
  return copy.replace(/\{(\w+)\}/g, (whole, key: string) => values[key] ?? whole);
}
