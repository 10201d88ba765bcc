/** What lanes show: everything has its look, its own one, and its word in the legend. */

import { describe, expect, test } from 'vitest';
import { FEET, LOOKS } from '../src/pages/bookings/lanes/legend';
import css from '../src/pages/bookings/lanes/looks.css?raw';
import { bookings } from '../src/text/en/bookings';
import { past } from '../src/text/en/past';
import { words } from '../src/text/en/words';

const english: Record<string, unknown> = { ...words, ...past, ...bookings };

/** What a class looks like without its colours: patterns stay, what they are drawn with goes. */
function shapes(prefix: string): Map<string, string> {
  const found = [...css.matchAll(new RegExp(`^\\.${prefix}-([\\w-]+) \\{([^}]*)\\}`, 'gm'))];
  return new Map(
    found.map(([, name, rules]) => [name!, rules!.replace(/var\(--[\w-]+\)/g, 'ink').replace(/\s+/g, ' ')]),
  );
}

describe.each([
  ['foot', FEET],
  ['look', LOOKS],
])('each %s', (prefix, legend) => {
  test('is drawn, and stands in the legend with a word of its own', () => {
    expect([...shapes(prefix).keys()].sort()).toEqual(Object.keys(legend).sort());
    const said = Object.values(legend).map((key) => english[key]);
    expect(said.every(Boolean)).toBe(true);
    expect(new Set(said).size).toBe(said.length);
  });
});

test('what was broken and what somebody else used are told apart without colour, as is all at the foot of a lane', () => {
  const drawn = [...shapes('foot').values()];
  expect(new Set(drawn).size).toBe(drawn.length);
});
