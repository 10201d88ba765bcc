import type { NodeRow, Problem, Reason } from '../api/wire';
import type { Gpu } from '../state/fleet.svelte';
import type { Language } from './language.svelte';

/**
 * Why a verdict or a state is what it is, in the viewer's language; codes we do not know keep the board's English.
 * `since` is when it began, where that is known: the seconds in the reason are as old as the reason.
 */
export function reasonText(
  reason: Reason,
  now: number,
  language: Language,
  since: number | null = null,
): string {
  const { knows, memory, duration, time } = language;
  const { code, values } = reason;
  const number = (name: string) => (typeof values[name] === 'number' ? values[name] : null);
  const users = Array.isArray(values['users']) ? values['users'].map(String) : [];
  const who = typeof values['who'] === 'string' ? values['who'] : null;
  const until = number('until');
  let key = `reason_${code}`;
  if (code === 'process' && !users.length) key = 'reason_processes';
  if ((code === 'idle' || code === 'memory') && !users.length) key = `reason_${code}Hidden`;
  if (code === 'free' && number('seen_since') !== null) key = 'reason_freeSeen';
  if (code === 'booked' && !who) key = 'reason_bookedUntil';
  // Not every board sends every value; then its own English is better than a sentence with a hole.
  const said = knows(key)
    ? language.sayWhole(key, {
        users: language.list(users.map(language.person)),
        ...(who ? { who } : {}),
        ...filled(
          'time',
          // How long it has been booked is no answer to until when.
          until === null && code !== 'booked' ? (since === null ? number('seconds') : now - since) : null,
          duration,
        ),
        ...filled('time', until ?? number('seen_since'), (at) => time(at, now)),
        ...filled('memory', number('memory_bytes') ?? number('bytes'), memory),
        ...filled('percent', number('percent'), (value) => language.number(value)),
        ...(typeof values['detail'] === 'string' ? { detail: values['detail'] } : {}),
      })
    : null;
  // A fault of a GPU is called as the problem that it is.
  const kind = {
    kind: code,
    text: reason.text,
    detail: typeof values['detail'] === 'string' ? values['detail'] : null,
  };
  return said ?? problemText(kind, language);
}

/** What is wrong, in the viewer's language, but not where; kinds we do not know keep the words of the node. */
export function problemText(
  { kind, text, detail: told }: Pick<Problem, 'kind' | 'text' | 'detail'>,
  language: Language,
  clockOffset: number | null = null,
): string {
  const key = `problem_${kind}`;
  const detail = kind === 'clock-off' && clockOffset !== null ? clockText(clockOffset, language) : told;
  // After the sentence of its kind come names and numbers, which are the same in every language.
  if (language.knows(key))
    return detail ? language.say('titled', { name: language.say(key), text: detail }) : language.say(key);
  return told && detail ? text.replace(told, () => detail) : text;
}

/** A problem of a node as people say it: "GPU 6: fallen off the bus"; a GPU that is not here as the node names it. */
export function problemLine(
  problem: Problem,
  { record, gpus }: { record: NodeRow; gpus: Gpu[] },
  language: Language,
): string {
  let line = problemText(problem, language, record.clock_offset_seconds);
  let place = problem.place;
  for (const { record: gpu } of gpus) {
    const name = `${language.say('gpu')} ${gpu.label}`;
    if (gpu.uuid === problem.gpu_uuid) place = name;
    line = line.replaceAll(gpu.uuid, name);
  }
  return place ? language.say('titled', { name: place, text: line }) : line;
}

/** The same without saying where, and without what is true of one place alone; the number of an error is its name. */
export function kindLine({ kind, text, detail }: Problem, language: Language): string {
  const more = kind === 'xid' ? '' : `: ${detail}`;
  return problemText({ kind, text: text.replace(more, ''), detail: more ? null : detail }, language);
}

/** How a node's clock goes beside that of the board. */
export function clockText(offset: number, { say, duration }: Language): string {
  return say(offset < 0 ? 'clockBehind' : 'clockAhead', { time: duration(Math.abs(offset)) });
}

function filled(
  name: string,
  value: number | null,
  write: (value: number) => string,
): Record<string, string> {
  return value === null ? {} : { [name]: write(value) };
}
