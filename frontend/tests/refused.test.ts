import { expect, test } from 'vitest';
import { notesText } from '../src/pages/bookings/notes';
import { clashText, refusalOf, refusalText } from '../src/pages/bookings/refused';
import { AccountError } from '../src/api/asker';
import { ApiError } from '../src/api/client';
import { signInProblem } from '../src/parts/sign-in/problem';
import { account } from '../src/text/de/account';
import { bookings } from '../src/text/de/bookings';
import { words } from '../src/text/de/words';
import type { App } from '../src/state/context';
import { Language } from '../src/text/language.svelte';

const app = {
  clock: { coarse: 0 } as App['clock'],
  session: { person: 'lin' } as App['session'],
  language: new Language('de', { ...words, ...account, ...bookings }),
};
const text = (code: string, values: Record<string, unknown>) =>
  refusalText({ code, message: '', values }, app);

test.each([
  [null, 'Regel: [bookings] gpus_at_once.'],
  ['few', 'Regel: [bookings.groups.few] gpus_at_once.'],
])('a policy that refuses is named as the settings name it: of %s', (group, named) => {
  const values = { policy: 'gpus_at_once', group, limit: 2, asked: 3, left: 0 };
  expect(text('booking-gpus-at-once', values)).toBe(
    `Du darfst 2 GPUs zugleich haben, damit wären es 3. ${named}`,
  );
});

test('who has a GPU by a name that anybody may have typed is told as not verified', () => {
  const values = { node: 'gpu01', gpu: 0, who: 'eve', until: null, gap_start: null };
  expect(text('booking-conflict', { ...values, kind: 'comments-json' })).toContain('eve (ungeprüft)');
  expect(text('booking-conflict', { ...values, kind: 'booking' })).toContain('von eve gebucht');
});

const failed = 'TypeError: Failed to fetch';
test.each([new AccountError(0, failed), new ApiError(0, failed), new TypeError('Failed to fetch')])(
  'a board that does not answer is said in the viewer’s words, not in the browser’s: %s',
  (error) => {
    expect(refusalText(refusalOf(error), app)).toBe(words.why_unreachable);
    expect(signInProblem(error, app.language)).toContain(words.why_unreachable);
    expect(signInProblem(error, app.language)).not.toContain('fetch');
  },
);

test('how many there are on one node is said where one was wanted, and from when on there are enough', () => {
  const values = { wanted: 2, free: 2, fitting: 48, on_one_node: 1, gap_start: null };
  const together = text('booking-not-enough', values);
  expect(together).toContain('nur 1 auf einem Knoten');
  expect(text('booking-not-enough', { ...values, on_one_node: null })).toContain('nur 2 zu haben');
  const later = text('booking-not-enough', { ...values, gap_start: 3600 });
  expect(later.startsWith(together) && later.includes('So viele sind ab ')).toBe(true);
});

test('what no policy refuses names none', () => {
  expect(text('booking-over', {})).toBe(bookings.refused_over);
});

test('what is worth a word about a booking is said in the viewer’s own, and else in the board’s', () => {
  const note = (code: string, values = {}) =>
    notesText([{ code, text: 'as the board', values }], app.language);
  const block = { node: 'gpu01', size: 3, model: 'H100' };
  expect(note('booking-chosen-smallest', block)).toMatch(/kleinste Block, der reicht: 3 × H100 auf gpu01\.$/);
  expect(note('booking-chosen-spread')).toBe(bookings.note_spread);
  expect(note('booking-broken-now', { node: 'gpu01', gpus: [2] })).toMatch(/^gpu01 GPU 2 ist jetzt defekt /);
  expect(note('booking-stale-now', { node: 'gpu01', gpus: [0, 1] })).toMatch(
    /^gpu01 GPU 0, 1 sind jetzt veraltet /,
  );
  expect(note('booking-stale-now', { node: 'gpu01', gpus: null })).toMatch(/^gpu01 ist jetzt veraltet /);
  expect(note('booking-else')).toBe('as the board');
});

test('one’s own booking is called so, with its start if that is to come', () => {
  const at = (who: string, start: number) => clashText('gpu01 GPU 7', { who, start, end: 7200 }, app);
  expect(at('lin', 3600)).toMatch(/^gpu01 GPU 7 ist .+ – .+ von dir gebucht\.$/);
  expect(at('lin', 0)).toMatch(/^gpu01 GPU 7 ist bis .+ von dir gebucht\.$/);
  expect(at('eve', 3600)).toMatch(/^gpu01 GPU 7 ist .+ – .+ von eve gebucht\.$/);
});
