/** What opens later says of trouble: of the board's own parts, and what to do. */

import type { ComponentView, Problem } from '../api/wire';
import type { Language } from './language.svelte';
import { reasonText } from './reasons';

/** Why a part of the board is in trouble; who sees names also sees what exactly, as the board says it. */
export function partText({ code, name, reason }: ComponentView, now: number, language: Language): string {
  const exactly = reason ?? '';
  const said = code === null ? exactly : reasonText({ code, text: exactly, values: {} }, now, language);
  return said === exactly || name === null ? said : `${said} (${exactly})`;
}

/** What to do about it. */
export function remedyText({ kind, remedy }: Problem, { knows, say }: Language): string {
  const key = `remedy_${kind}`;
  return knows(key) ? say(key) : remedy;
}
