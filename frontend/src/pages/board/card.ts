/** A phone's card of a node: its height is reckoned before it is drawn, and NodeCard.svelte draws exactly that. */

import { bookedWords } from '../../parts/words';
import type { Row } from '../../state/arrange';
import type { Gpu } from '../../state/fleet.svelte';
import { idleOf } from '../../state/idlers';
import { isEnded, people, type Holder } from '../../state/people';
import type { Language } from '../../text/language.svelte';
import { widthOf } from '../../text/width';
import { linesOf, SECTION, SMALL_CELL, type Item } from './layout';

export const CARD_SLOTS = 8;
// Edges and name; then per line of cells; then two lines of trouble, who is on it, and whose booking is over.
const EDGE = 80;
const CELLS = SMALL_CELL + 22;
const TROUBLE = 50;
const GAP = 6;
export const LINE = 22;
const PEOPLE = 4;
// Of the letters of a name and of the edges of a card, in pixels.
const LETTER = 7.4;
const EDGES = 30;

/** Somebody on a card: half of a line where that is enough, and two where one is not. */
export interface HolderLine {
  name: string;
  count: string;
  idle: string;
  booked: string;
  half: boolean;
  lines: number;
}

/** What a card is drawn with. */
export interface CardSetting {
  /** Of the list, in pixels. */
  width: number;
  now: number;
  language: Language;
}

/** Who holds what of a node is shown; whoever looks for idle GPUs must not write to somebody at work. */
export function holderLines({ node, shown }: Row, { width, now, language }: CardSetting): HolderLine[] {
  const all = people([node], (gpu) => shown.has(gpu));
  const room = Math.floor((width - EDGES) / LETTER);
  const lines = all.slice(0, PEOPLE).map((person) => {
    const words = wordsOf(person, now, language);
    const length = widthOf(Object.values(words).filter(Boolean).join(' '));
    return { ...words, half: all.length > 1 && length < room / 2 - 1, lines: length > room ? 2 : 1 };
  });
  const more = all.length - lines.length;
  if (more) lines.push({ name: '', count: `+${more}`, idle: '', booked: '', half: true, lines: 1 });
  return lines;
}

function wordsOf(person: Holder, now: number, language: Language) {
  const { since } = idleOf(person, now);
  const lasted = since === null ? '' : ` ${language.duration(now - since, true)}`;
  const until = person.until ? ` ${language.say('until', { time: language.time(person.until, now) })}` : '';
  return {
    name: language.person(person.user),
    count: person.gpus > 1 ? `×${person.gpus}` : '',
    idle: person.idle ? `(${language.say('nIdle', { count: person.idle })}${lasted})` : '',
    booked: person.booked ? `(${bookedWords(person, language)}${until})` : '',
  };
}

/** How many lines these take, placed one after the other as a grid of two columns places them. */
export function stacked(holders: HolderLine[]): number {
  let lines = 0;
  let isOpen = false;
  for (const { half, lines: own } of holders) {
    if (!half || !isOpen) lines += own;
    isOpen = half && !isOpen;
  }
  return lines;
}

export function cardHeight(item: Item, drawn: CardSetting): number {
  if (item.kind === 'section') return SECTION;
  const { row } = item;
  const { record, gpus } = row.node;
  const cells = linesOf(
    gpus.filter((gpu) => row.shown.has(gpu)),
    CARD_SLOTS,
  );
  const holders = stacked(holderLines(row, drawn));
  return (
    EDGE +
    cells * CELLS +
    (record.state !== 'live' || record.problems.length ? TROUBLE : 0) +
    (holders ? GAP + LINE * holders : 0) +
    (ended(row) ? GAP + LINE : 0)
  );
}

/** The GPU whose booking was over last, and nobody has come since. */
export function ended({ node }: Row): Gpu | undefined {
  const until = ({ record }: Gpu) => record.ended_claim?.until ?? 0;
  return node.gpus.filter(({ record }) => isEnded(record)).sort((a, b) => until(b) - until(a))[0];
}
