/** What to say when signing in did not work. */

import { AccountError } from '../../api/accounts';
import { ApiError } from '../../api/client';
import type { Language } from '../../text/language.svelte';

const SOME_SECONDS = 60;

export function signInProblem(error: unknown, { duration, say }: Language): string {
  if (!(error instanceof AccountError)) {
    const isTold = error instanceof ApiError && error.status > 0;
    return say('account_failed', { why: isTold ? error.message : say('why_unreachable') });
  }
  const { code, message, retryAfterSeconds, status } = error;
  if (code === 'wrong-password') return say('account_wrongPassword');
  if (code === 'too-many-guesses' || status === 429)
    return say('account_tooMany', { time: duration(retryAfterSeconds ?? SOME_SECONDS) });
  if (code === 'needs-https') return say('account_needsHttps');
  if (code === 'csrf') return say('account_csrf');
  return say('account_failed', { why: status ? message : say('why_unreachable') });
}
