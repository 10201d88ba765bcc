/** What the board answers about people: who somebody is, by which way, with which tokens. */

import { Asker } from './asker';
import type { FeedView } from './generated';
import type { AuditEntry, LinkView, OpenSession, Scope, SessionView, TokenView } from './people';

export { AccountError, type Bearer } from './asker';

export interface TokenOrder {
  name: string;
  scopes: Scope[];
  expires_in_seconds: number | null;
}

/** Asks for what concerns people. Only parts of the page that open later need it. */
export class Accounts extends Asker {
  /** The code is no part of the address: those stand in the logs of proxies. */
  link = (code: string): Promise<LinkView> =>
    this.call('GET', 'session/link', undefined, { 'x-link-code': code });
  useLink = (code: string): Promise<SessionView> => this.change('POST', 'session/link', { code });
  signIn = (name: string, password: string): Promise<SessionView> =>
    this.change('POST', 'session/password', { name, password });
  setUp = (code: string, password: string): Promise<SessionView> =>
    this.change('POST', 'session/setup', { code, password });
  signOut = (everywhere: boolean): Promise<null> => this.change('POST', 'session/sign-out', { everywhere });

  sessions = (): Promise<OpenSession[]> => this.call('GET', 'sessions');
  endSession = (id: string): Promise<null> => this.change('DELETE', `sessions/${encodeURIComponent(id)}`);

  tokens = (): Promise<TokenView[]> => this.call('GET', 'tokens');
  makeToken = (order: TokenOrder): Promise<TokenView> => this.change('POST', 'tokens', order);
  revokeToken = (id: string): Promise<null> => this.change('DELETE', `tokens/${encodeURIComponent(id)}`);

  /** The calendar feed of one's own bookings; its address is told when it is made, and never again. */
  feed = (): Promise<FeedView> => this.call('GET', 'bookings/feed');
  makeFeed = (): Promise<FeedView> => this.change('POST', 'bookings/feed');
  revokeFeed = (): Promise<null> => this.change('DELETE', 'bookings/feed');

  /** Newest first; with `before` those that came before it. */
  audit = (limit: number, before: AuditEntry | null): Promise<AuditEntry[]> =>
    this.call('GET', `audit?limit=${limit}${before ? `&before=${encodeURIComponent(before.id)}` : ''}`);
}
