/** Who is who, as the board says it, word for word. */

import type { SessionView, TokenView } from './generated';

export type { AuditEntry, LinkView, OpenSession, SessionView, TokenView, WayCard } from './generated';

export type Role = SessionView['role'];
export type WayKind = NonNullable<SessionView['way']>;
export type Scope = TokenView['scopes'][number];
