/** Asks as somebody: with the word without which the board takes no change. */

import { ApiError, type Client } from './client';
import type { SessionView } from './people';

/** The board said no, and in one word why. */
export class AccountError extends ApiError {
  constructor(
    status: number,
    message: string,
    readonly code: string | null = null,
    /** When to try again, where the board said so. */
    readonly retryAfterSeconds: number | null = null,
    /** What it said about it, for programs. */
    readonly values: Record<string, unknown> = {},
  ) {
    super(status, message);
  }
}

/** Who asks: the board takes no change without the word that it gave them. */
export interface Bearer {
  readonly told: Pick<SessionView, 'csrf'> | null;
  ask(): Promise<unknown>;
}

interface Problem {
  title?: string;
  detail?: string;
  code?: string | null;
  values?: Record<string, unknown>;
}

export class Asker {
  constructor(
    private readonly client: Pick<Client, 'base'>,
    private readonly bearer: Bearer,
  ) {}

  protected async change<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
    if (!this.bearer.told) await this.bearer.ask();
    try {
      return await this.call(method, path, body);
    } catch (error) {
      // Another tab signed in or out meanwhile: its word is the one that counts now.
      if (!(error instanceof AccountError && error.code === 'csrf')) throw error;
      await this.bearer.ask();
      return this.call(method, path, body);
    }
  }

  protected async call<Answer>(
    method: string,
    path: string,
    body?: unknown,
    more: Record<string, string> = {},
  ): Promise<Answer> {
    const headers: Record<string, string> = { accept: 'application/json', ...more };
    if (method !== 'GET') headers['x-csrf-token'] = this.bearer.told?.csrf ?? '';
    if (body !== undefined) headers['content-type'] = 'application/json';
    let response: Response;
    try {
      response = await fetch(new URL(`api/v1/${path}`, this.client.base), {
        method,
        headers,
        cache: 'no-store',
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    } catch (error) {
      throw new AccountError(0, String(error));
    }
    if (response.ok) return (response.status === 204 ? null : await response.json()) as Answer;
    const problem = (await response.json().catch(() => ({}))) as Problem;
    throw new AccountError(
      response.status,
      problem.detail ?? problem.title ?? response.statusText,
      problem.code,
      Number(response.headers.get('retry-after')) || null,
      problem.values ?? {},
    );
  }
}
