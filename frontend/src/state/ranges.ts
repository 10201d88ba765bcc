/** Host lists as people write them: `gpu[01-16]` is sixteen hosts. The board's own rule; one table of cases holds both. */

const MOST = 10_000;

/** All names that a pattern means, the last bracket fastest; null if it makes no sense or means too many. */
export function expand(pattern: string): string[] | null {
  // Brackets with a colon hold an IPv6 address, those without hold numbers.
  const pieces = pattern.split(/\[([^[\]:]*)\]/);
  let names = [''];
  for (const [place, piece] of pieces.entries()) {
    const isText = place % 2 === 0;
    if (isText && !piece.includes(':') && /[[\]]/.test(piece)) return null;
    const choices = isText ? [piece] : numbers(piece);
    if (!choices || names.length * choices.length > MOST) return null;
    names = names.flatMap((name) => choices.map((choice) => name + choice));
  }
  return names;
}

function numbers(inside: string): string[] | null {
  const found: string[] = [];
  for (const part of inside.split(',')) {
    const [, first, last = first] = /^\s*(\d{1,9})(?:-(\d{1,9}))?\s*$/.exec(part) ?? [];
    if (!first || Number(last) < Number(first) || Number(last) - Number(first) >= MOST) return null;
    for (let number = Number(first); number <= Number(last); number++)
      // Leading zeros keep their width.
      found.push(String(number).padStart(first.length, '0'));
    if (found.length > MOST) return null;
  }
  return found;
}
