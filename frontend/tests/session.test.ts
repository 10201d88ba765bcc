/** Who looks at the page, and what follows when that changes. */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { AccountError, Accounts } from '../src/api/accounts';
import { ApiError } from '../src/api/client';
import type { SessionView } from '../src/api/people';
import { codeIn, linkTrouble } from '../src/pages/account/link';
import { orderOf, scopesFor } from '../src/pages/account/tokens';
import { wayWords } from '../src/pages/account/ways';
import { signInProblem } from '../src/parts/sign-in/problem';
import { nextAddress } from '../src/state/next';
import { parseRoute } from '../src/state/router.svelte';
import { Session } from '../src/state/session.svelte';
import { watchSession } from '../src/state/watch';
import { account } from '../src/text/en/account';
import { words } from '../src/text/en/words';
import { Language } from '../src/text/language.svelte';

const language = new Language('en', { ...words, ...account });

function told(change: Partial<SessionView> = {}): SessionView {
  return {
    person: null,
    display_name: null,
    role: 'anonymous',
    tier: 'counts',
    way: null,
    through: null,
    since: null,
    expires_at: null,
    csrf: 'first',
    ways: [],
    needs_https: false,
    plaintext_allowed: false,
    has_admin: true,
    ...change,
  };
}
const ana = told({
  person: 'ana',
  role: 'user',
  tier: 'names',
  way: 'node',
  through: 'gpu01',
  csrf: 'second',
});

function sessionOf(answers: (SessionView | ApiError)[], me: string | null = null) {
  const heard: string[] = [];
  const client = {
    get: async <Answer>(path: string) => {
      heard.push(path);
      const next = answers.length > 1 ? answers.shift()! : answers[0]!;
      if (next instanceof ApiError) throw next;
      return next as Answer;
    },
  };
  const changed = vi.fn();
  return { session: new Session(client, { me }, changed), heard, changed };
}

describe('the session', () => {
  test('is nobody’s until the board has said whose', async () => {
    const { session } = sessionOf([ana], 'ben');
    expect([session.told, session.person]).toEqual([null, null]);
    expect(session.me).toBe('ben');
    await session.ask();
    expect([session.person, session.me]).toEqual(['ana', 'ana']);
  });

  test('makes the stream anew when somebody signs in, and not for what it knew already', async () => {
    const { session, changed } = sessionOf([told()]);
    await session.ask();
    await session.ask();
    expect(changed).not.toHaveBeenCalled();
    session.take(ana);
    expect(changed.mock.calls).toEqual([[false]]);
    session.take({ ...ana, csrf: 'third' });
    expect(changed).toHaveBeenCalledOnce();
  });

  test.each([
    ['nobody', told()],
    ['somebody else', { ...ana, person: 'ben' }],
  ])('leaves nothing behind when it is %s’s now', async (_, next) => {
    const { session, changed } = sessionOf([ana]);
    await session.ask();
    session.take(next);
    expect(changed.mock.calls).toEqual([[true]]);
  });

  test('is still whose it was while the board is away', async () => {
    const { session, changed } = sessionOf([ana, new ApiError(0, 'away')]);
    await session.ask();
    await session.ask();
    expect(session.person).toBe('ana');
    expect(changed).not.toHaveBeenCalled();
  });

  describe('asked again', () => {
    let seen: () => void;
    beforeEach(() => {
      vi.useFakeTimers();
      vi.stubGlobal('document', {
        visibilityState: 'visible',
        addEventListener: (_: string, listener: () => void) => (seen = listener),
        removeEventListener: () => {},
      });
      vi.stubGlobal('addEventListener', () => {});
      vi.stubGlobal('removeEventListener', () => {});
    });
    afterEach(() => {
      vi.useRealTimers();
      vi.unstubAllGlobals();
    });

    test.each([
      ['a visitor soon', told(), 4, 6],
      ['somebody signed in after long', ana, 599, 601],
    ])('when the tab is looked at: %s', async (_, view, early, late) => {
      const { session, heard } = sessionOf([view]);
      await session.ask();
      const stop = watchSession(session);
      await vi.advanceTimersByTimeAsync(early * 1000);
      seen();
      expect(heard).toHaveLength(1);
      await vi.advanceTimersByTimeAsync((late - early) * 1000);
      seen();
      expect(heard).toHaveLength(2);
      stop();
    });

    test('until the board has answered once', async () => {
      const { session } = sessionOf([new ApiError(0, 'away'), ana]);
      await session.ask();
      await vi.advanceTimersByTimeAsync(6000);
      expect(session.person).toBe('ana');
    });
  });
});

describe('a change', () => {
  afterEach(() => vi.unstubAllGlobals());

  const answer = (status: number, body: unknown) =>
    new Response(status === 204 ? null : JSON.stringify(body), { status });

  test('carries the session’s word, and is tried once more with a newer one', async () => {
    const sent: (string | null)[] = [];
    const answers = [answer(403, { code: 'csrf' }), answer(204, null)];
    vi.stubGlobal('fetch', async (_: URL, init: RequestInit) => {
      sent.push(new Headers(init.headers).get('x-csrf-token'));
      return answers.shift()!;
    });
    const bearer = { told: { csrf: 'old' }, ask: async () => void (bearer.told = { csrf: 'new' }) };
    await new Accounts({ base: new URL('http://board/') }, bearer).signOut(false);
    expect(sent).toEqual(['old', 'new']);
  });

  test('that the board refuses is not tried again', async () => {
    const fetched = vi.fn(async () => answer(401, { code: 'wrong-password', detail: 'no' }));
    vi.stubGlobal('fetch', fetched);
    const accounts = new Accounts(
      { base: new URL('http://board/') },
      { told: { csrf: 'x' }, ask: async () => {} },
    );
    await expect(accounts.signIn('ana', 'wrong')).rejects.toMatchObject({ code: 'wrong-password' });
    expect(fetched).toHaveBeenCalledOnce();
  });
});

describe('after signing in', () => {
  const base = new URL('http://board.example/gpus/');
  const board = '/gpus/?view=map';
  const next = (text: string) => nextAddress({ base, board, query: new URLSearchParams({ next: text }) });

  test.each([
    ['/gpus/?q=free', '/gpus/?q=free'],
    ['/gpus/nodes/dgx-01', '/gpus/nodes/dgx-01'],
    ['/gpus/account', '/gpus/account'],
  ])('%s is shown', (asked, shown) => expect(next(asked)).toBe(shown));

  test.each([
    'https://evil.example/gpus/',
    '//evil.example/gpus/',
    'javascript:alert(1)',
    '/elsewhere',
    '/gpus/sign-in?next=/gpus/sign-in',
    '/gpus/sign-in/link#abc',
    'http://[',
    '\\\\evil.example',
    '',
  ])('%j leads to the board as it was', (asked) => expect(next(asked)).toBe(board));
});

test('addresses of whom they are about are pages, what the board answers itself is none', () => {
  expect(parseRoute('sign-in')).toEqual({ page: 'account', part: 'sign-in' });
  expect(parseRoute('sign-in/link')).toEqual({ page: 'account', part: 'sign-in/link' });
  expect(parseRoute('account')).toEqual({ page: 'account', part: 'account' });
  expect(parseRoute('audit')).toEqual({ page: 'account', part: 'audit' });
  expect(parseRoute('sign-in/oidc').page).toBe('missing');
});

describe('a one-time link', () => {
  test('has its code behind the #, or in the query', () => {
    expect(codeIn({ hash: '#a-B_9', search: '' })).toBe('a-B_9');
    expect(codeIn({ hash: '', search: '?code=xyz' })).toBe('xyz');
    expect(codeIn({ hash: '#<b>', search: '' })).toBe('');
  });

  test.each([
    ['', null, 'Broken'],
    ['abc', null, null],
    ['abc', { status: 410, code: 'link-used' }, 'Used'],
    ['abc', { status: 410, code: 'link-over' }, 'Over'],
    ['abc', { status: 404, code: null }, 'Unknown'],
    ['abc', { status: 400, code: null }, 'Unknown'],
    ['abc', { status: 400, code: 'bad-password' }, null],
    ['abc', { status: 0, code: null }, null],
    ['abc', { status: 403, code: 'needs-https' }, null],
  ] as const)('%j with %j is %s', (code, failure, trouble) => {
    expect(linkTrouble(code, failure)).toBe(trouble);
  });
});

describe('a new token', () => {
  test('can do no more than who makes it', () => {
    expect(scopesFor('viewer')).not.toContain('book');
    expect(scopesFor('user')).not.toContain('admin');
    expect(scopesFor('admin')).toContain('admin');
  });

  test('needs a name and something to do', () => {
    expect(orderOf('  ', ['read'], '')).toBe('Name');
    expect(orderOf('laptop', [], '')).toBe('Scope');
    expect(orderOf(' laptop ', ['read'], '30')).toEqual({
      name: 'laptop',
      scopes: ['read'],
      expires_in_seconds: 30 * 86_400,
    });
    expect(orderOf('laptop', ['read'], '')).toMatchObject({ expires_in_seconds: null });
  });
});

describe('in words', () => {
  test('a refusal says what to do', () => {
    const says = (...error: ConstructorParameters<typeof AccountError>) =>
      signInProblem(new AccountError(...error), language);
    expect(says(401, 'no', 'wrong-password')).toBe(account.account_wrongPassword);
    expect(says(429, 'slow', 'too-many-guesses', 120)).toContain('2 min');
    expect(says(403, 'no', 'needs-https')).toContain('https');
    expect(says(0, 'TypeError')).toContain(words.why_unreachable);
    expect(says(503, 'the disk is full')).toContain('the disk is full');
  });

  test('a way is told with the node that vouched; an unknown one stays as the board says it', () => {
    expect(wayWords({ way: 'node', through: 'gpu01' }, language)).toBe('from a node, through gpu01');
    expect(wayWords({ way: 'carrier-pigeon', through: null }, language)).toBe('carrier-pigeon');
    expect(wayWords({ way: null, through: null }, language)).toBe('');
  });
});
