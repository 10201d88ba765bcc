/** GPUs as lines of text, one each, in columns: for those who read, select, search and print. */

import type { GpuProcess, GpuRow, NodeRow } from '../api/wire';
import { steadyUse } from '../state/figures';
import { nominalModel } from '../state/models';
import type { Language } from '../text/language.svelte';
import { widthOf } from '../text/width';
import { flagWords, hardware, isIgnored, nodeProblem } from './words';

const PROGRAM_LENGTH = 60;

/** How wide the columns are, in characters. */
export interface Widths {
  label: number;
  model: number;
  verdict: number;
}

export function widthsOf(gpus: Iterable<GpuRow>, { say }: Language): Widths {
  const widths = { label: 1, model: 0, verdict: 0 };
  for (const gpu of gpus) {
    widths.label = Math.max(widths.label, gpu.label.length);
    widths.model = Math.max(widths.model, widthOf(nominalModel(gpu)));
    widths.verdict = Math.max(widths.verdict, widthOf(say(gpu.verdict)));
  }
  return widths;
}

/** What stands behind the number of a GPU; on a narrow screen who is on it comes first, where one sees it. */
export function gpuLine(
  gpu: GpuRow,
  processes: GpuProcess[] | null | undefined,
  widths: Widths,
  now: number,
  language: Language,
  isNarrow = false,
): string {
  const { say, number, memory } = language;
  const held = `${memory(gpu.memory_used_bytes)} / ${memory(gpu.memory_total_bytes)}`;
  const model = pad(nominalModel(gpu), widths.model);
  const verdict = pad(isIgnored(gpu) ? say('notCounted') : say(gpu.verdict), widths.verdict);
  const use = pad(`${number(steadyUse(gpu))} %`, -5);
  const figures = [
    pad(held, -15),
    pad(`${number(gpu.temperature_celsius)} °C`, -6),
    pad(`${number(gpu.power_watts)} W`, -6),
  ];
  const people = peopleOf(gpu, now, language);
  const rest = [...programsOf(processes), ...flagWords(gpu, language)];
  const columns = isNarrow
    ? [verdict, use, people.join(' · '), ...figures, model, rest.join(' · ')]
    : [model, verdict, use, ...figures, [...people, ...rest].join(' · ')];
  return columns.filter(Boolean).join('  ').trimEnd();
}

/** The line above the GPUs of a node. */
export function nodeLine(node: NodeRow, gpus: GpuRow[], now: number, language: Language): string {
  return [
    node.display_name && node.display_name !== node.name ? node.name : '',
    hardware(node, gpus, language),
    nodeProblem(node, now, language),
  ]
    .filter(Boolean)
    .join(' · ');
}

/** Everybody who is on it, and who has booked it. */
function peopleOf(gpu: GpuRow, now: number, { say, person, memory, duration, time }: Language): string[] {
  const idle = gpu.verdict === 'idle' && gpu.since !== null ? ` (${duration(now - gpu.since)})` : '';
  const users = (gpu.users ?? []).map((use) => `${person(use.name)} ${memory(use.memory_used_bytes)}${idle}`);
  if (gpu.claim) {
    const until = gpu.claim.until ? ` ${say('until', { time: time(gpu.claim.until, now) })}` : '';
    const doubt = gpu.claim.is_unverified ? ` (${say('unverified')})` : '';
    users.push(
      say('titled', { name: say('claim'), text: `${gpu.claim.who ?? say('someone')}${doubt}${until}` }),
    );
  }
  return users;
}

/** Each program once, with how many of it there are. */
function programsOf(processes: GpuProcess[] | null | undefined): string[] {
  const counts = new Map<string, number>();
  for (const { program, arguments: given } of processes ?? []) {
    const whole = [program, given].filter(Boolean).join(' ');
    const cut = whole.length > PROGRAM_LENGTH ? `${whole.slice(0, PROGRAM_LENGTH)}…` : whole;
    if (cut) counts.set(cut, (counts.get(cut) ?? 0) + 1);
  }
  return [...counts].map(([name, count]) => (count > 1 ? `${name} × ${count}` : name));
}

/** To so many characters; a negative number puts the room before the text. */
export function pad(text: string, to: number): string {
  const room = ' '.repeat(Math.max(0, Math.abs(to) - widthOf(text)));
  return to < 0 ? room + text : text + room;
}
