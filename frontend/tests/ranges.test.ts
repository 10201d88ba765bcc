/** A range of hosts is the same to the page and to the board: the table of cases that the board's own tests read too. */

import { expect, test } from 'vitest';
import cases from '../../tests/golden/ranges.json';
import { expand } from '../src/state/ranges';

for (const { pattern, hosts } of cases)
  test(`${pattern} ${hosts ? `means ${hosts.join(', ')}` : 'makes no sense'}`, () => {
    expect(expand(pattern)).toEqual(hosts);
  });
