/** What a GPU says in a cell, and as a sentence. */

import type { GpuRow, NodeRow, Reason } from '../api/wire';
import { steadyUse } from '../state/figures';
import type { Gpu } from '../state/fleet.svelte';
import { nominalModel, summarizeModels } from '../state/models';
import { bookerOf, isEnded, isSamePerson, type Holder } from '../state/people';
import type { Language } from '../text/language.svelte';
import { problemLine, reasonText } from '../text/reasons';

export interface CellWords {
  /** The verdict, or what stands for it; it is never cut. */
  main: string;
  /** For how long, or until when; where it has no room it is left out as a whole. */
  time: string;
  /** Mostly a name; whatever is too long is cut here. */
  side: string;
  /** How many more there are, behind the name; never cut. */
  others: string;
}

const MIG = ['divided', 'mig-empty'];

/** Whether the admin lets it count for nothing, as a card for screens; it is never offered. */
export function isIgnored({ counted, reason }: GpuRow): boolean {
  return !counted && !MIG.includes(reason.code);
}

/** Everybody who uses it, biggest first; nobody where names are hidden. */
export function userNames(gpu: GpuRow, { person }: Language): string[] {
  return [...new Set((gpu.users ?? []).map((use) => person(use.name)))];
}

/** A booking that ends within the hour counts down: how long is left; null: it does not. */
export function leftOf({ claim, verdict }: GpuRow, now: number): number | null {
  const left = verdict === 'booked' && claim?.until ? claim.until - now : null;
  return left !== null && left < 3600 ? Math.max(0, left) : null;
}

/** Whether somebody uses what is booked for them. */
export function isInBooking({ claim, users, verdict }: GpuRow): boolean {
  const isUsed = verdict === 'busy' || verdict === 'idle';
  return isUsed && !!users?.some(({ name }) => isSamePerson(name, bookerOf({ claim })));
}

export function cellWords(gpu: GpuRow, now: number, language: Language): CellWords {
  const { say, duration } = language;
  const words = (main: string, time = '', side = '', others = '') => ({ main, time, side, others });
  const held = (main: string, time = '') => {
    const [first = '', ...rest] = userNames(gpu, language);
    return words(main, time, first, rest.length ? `+${rest.length}` : '');
  };
  // A card that is cut up is told by its instances.
  if (MIG.includes(gpu.reason.code)) return words('MIG');
  if (isIgnored(gpu)) return held(say('notCounted'));
  const use = steadyUse(gpu);
  switch (gpu.verdict) {
    case 'free':
      // Since when is told in the detail: beside the word it would read as how long it stays free.
      return words(say('free'), endedWords(gpu, now, language));
    case 'busy':
      return held(use === null ? say('busy') : `${language.number(use)}%`);
    case 'idle':
      return held(say('idle'), gpu.since === null ? '' : duration(now - gpu.since, true));
    case 'booked': {
      const left = leftOf(gpu, now);
      if (left !== null) return words(duration(left), say('remaining'), gpu.claim?.who ?? '');
      const until = gpu.claim?.until;
      const end = until ? language.shortEnd(until, now) : '';
      return words(say(end ? 'to' : 'booked'), end, gpu.claim?.who ?? '');
    }
    case 'broken':
      return words(say('broken'), '', shortTrouble(gpu.reason, language));
    default:
      return words(say(gpu.verdict));
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
export function cellSentence(gpu: GpuRow, now: number, language: Language): string {
  const { say } = language;
  const { main, time, side, others } = cellWords(gpu, now, language);
  const word = gpu.reason.code === 'divided' ? say('divided') : say(gpu.verdict);
  const facts = [`${gpu.node} GPU ${gpu.label}`, nominalModel(gpu), word];
  if (leftOf(gpu, now) !== null)
    facts.push(`${main} ${time}`, say('until', { time: language.time(gpu.claim!.until, now) }));
  else if (gpu.verdict === 'booked' && time) facts.push(say('until', { time }));
  else if (main !== word) facts.push(main);
  else if (time) facts.push(time);
  if (side) facts.push(others ? `${side} ${others}` : side);
  if (isInBooking(gpu)) facts.push(say('inBooking'));
  if (gpu.claim?.is_unverified) facts.push(say('unverified'));
  return [...facts, ...flagWords(gpu, language)].join(', ');
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

/** What is booked for somebody: what nobody uses yet, as the board counts it, and the others. */
export function bookedWords(
  { booked, held, gpus }: Pick<Holder, 'booked' | 'held' | 'gpus'>,
  { say }: Language,
): string {
  const waiting = held - gpus;
  const taken = booked - waiting;
  return [waiting && say('nBooked', { count: waiting }), taken && say('nTaken', { count: taken })]
    .filter(Boolean)
    .join(', ');
}

/** What is wrong with a node in one line: why it is not live, or the gravest of its problems. */
export function nodeProblem(node: NodeRow, now: number, language: Language, gpus: Gpu[] = []): string {
  const more = node.problems.length > 1 ? ` +${node.problems.length - 1}` : '';
  return (
    nodeTrouble(node, now, language) ||
    (node.problems[0] ? problemLine(node.problems[0], { record: node, gpus }, language) + more : '')
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
