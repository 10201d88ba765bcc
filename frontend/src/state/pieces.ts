/** How the text of a filter falls into its terms, and which words mean verdicts. Pure. */

import { VERDICTS, type VerdictWord } from '../api/wire';

// The verdicts as people say them, in their order and in every language of the page: a link works in all of them.
const SPOKEN = new Map<string, VerdictWord>(
  [
    'free frei libre 可用 空闲',
    'busy belegt occupe 使用中',
    'idle untatig inactif 閒置 闲置',
    'booked gebucht reserve 已預約 已预约 已预订',
    'stale veraltet perime 過時 过时',
    'broken defekt panne 故障',
    'unknown unbekannt inconnu 不明 未知',
  ].flatMap((words, place) => words.split(' ').map((word) => [word, VERDICTS[place]!] as const)),
);

/** The verdict that a word means, in any language of the page; accents may be left out. */
export function verdictOf(word: string): VerdictWord | null {
  return SPOKEN.get(word.toLowerCase().normalize('NFD').replace(/\p{M}/gu, '')) ?? null;
}

const AND = /^(and|with|und|mit|et|avec|&+)$/i;
const OR = /^(or|oder|ou|或|\|+)$/i;
const NOT = /^(not|nicht|pas|非|不是)$/i;

/** The terms of a filter, each written one way: `memory >= 40 GB` is `memory>=40GB`, `free or idle` is `free,idle`. */
export function split(text: string): string[] {
  const found = splitAt(tidy(text), ' ').map((piece) => piece.replace(SIZE, '$1memory>=$2G'));
  if (found.length < 2) return found;
  const pieces: string[] = [];
  let negated = false;
  let joined = false;
  for (const piece of found) {
    if (AND.test(piece)) continue;
    if (OR.test(piece)) joined = pieces.length > 0;
    else if (NOT.test(piece)) negated = true;
    else {
      const before = joined ? pieces.pop()! : '';
      // Whoever says `node:a or idle` means no node of that name.
      const key = /^[-!]?[\p{L}_]+[:=]/u.test(before) && verdictOf(piece) ? 'is:' : '';
      pieces.push(`${before}${joined ? ',' : ''}${negated ? '-' : ''}${key}${piece}`);
      negated = joined = false;
    }
  }
  // What is not wanted is yet to be said.
  if (negated) pieces.push(found.at(-1)!);
  return pieces;
}

/** Whether a term has nothing to look for: a lone sign, or a `not` of nothing. */
export function isWordless(piece: string): boolean {
  return NOT.test(piece) || /^[^\p{L}\p{N}\s"*<>=,[\]]+$/u.test(piece);
}

const LOOSE =
  /"[^"]*"?|(?<![\p{L}_])([\p{L}_]+)\s*!=\s*|(?<!\s)\s*([<>=]=|[<>=:,≥≤])\s*|(?<=[<>=:≥≤]\s*[\d.]+)\s+(?=(?:[kmgt]i?b?|min|h|d)(?:\s|$))|(?<=(?:^|\s)[-!]?[\d.]+)\s+(?=gi?b(?:\s|$))|\ben panne\b/giu;
// What people call what they look for is no name, and a figure before GB is a size: "gpus with 40 gb".
const CALLED = /^\s*(?:gpus?|cards?|karten?|cartes?)\s+(?=(?:with|mit|avec)\s)/iu;
const SIZE = /^([-!]?)(\d+(?:\.\d+)?)gi?b$/i;
const SIGNS: Record<string, string> = { '≥': '>=', '≤': '<=', '==': '=' };

/** No spaces around signs and commas, or before a unit; what is quoted stays. */
function tidy(text: string): string {
  return text.replace(CALLED, '').replace(LOOSE, (whole, name?: string, sign?: string) => {
    if (name) return `-${name}=`;
    if (sign) return SIGNS[sign] ?? sign;
    return whole.startsWith('"') ? whole : whole.trim() && 'broken';
  });
}

/** Split at a space or a comma, but inside neither quotes nor brackets. */
export function splitAt(text: string, separator: ' ' | ','): string[] {
  const part = separator === ' ' ? /(?:"[^"]*"?|\[[^[\]"]*\]|[^\s])+/g : /(?:"[^"]*"?|\[[^[\]"]*\]|[^,])+/g;
  return text.match(part) ?? [];
}
