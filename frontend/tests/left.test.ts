import { describe, expect, it } from 'vitest';
import { timeLeft } from '../src/pages/bookings/left';
import { words as en } from '../src/text/en/words';
import { Language } from '../src/text/language.svelte';

const english = new Language('en', en);

describe('what is left of a booking', () => {
  it.each([
    [59 * 60, '59 min'],
    [3 * 3600 + 28 * 60, '3 h 28'],
    [6 * 3600 + 55 * 60, '6 h 55'],
    [8 * 3600, '8 h'],
    [50 * 3600, '2 d'],
  ])('of %i seconds is %s', (seconds, words) => {
    // The blanks between figures do not break.
    expect(timeLeft(seconds, english).replaceAll('\u00a0', ' ')).toBe(words);
  });
});
