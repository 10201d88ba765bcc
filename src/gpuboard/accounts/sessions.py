"""Sessions of browsers; each call is part of a transaction."""

import secrets
from collections.abc import Mapping
from typing import Final

from sqlalchemy import ColumnElement, Connection, delete, insert, or_, select, update

from gpuboard.accounts.records import Place, Session, Vouched
from gpuboard.model.identity import Role, WayKind
from gpuboard.storage.base import read_row
from gpuboard.storage.tables import KNOWN_BROWSERS, SESSIONS
from gpuboard.wire.enrolment import digest

# A session ends when nobody has used it for so long, and at the latest after so long.
IDLE_SECONDS: Final = 7 * 86400.0
LONGEST_SECONDS: Final = 30 * 86400.0
# After so long a browser gets another cookie; what the old one has under way still gets through.
EXCHANGE_SECONDS: Final = 3600.0
OVERLAP_SECONDS: Final = 60.0
# More of one person by one way are not kept: the oldest ends.
MAX_SESSIONS_OF_ONE: Final = 50
MAX_BROWSERS_OF_ONE: Final = 20


def begin_session(
    connection: Connection, vouched: Vouched, role: Role, place: Place, now: float
) -> tuple[str, str]:
    """Sign a browser in; the session's id, and the secret for its cookie."""
    secret, ident = secrets.token_urlsafe(32), secrets.token_hex(8)
    connection.execute(
        insert(SESSIONS).values(
            id=ident,
            digest=digest(secret),
            exchanged_at=now,
            person=vouched.person,
            role=role,
            display_name=vouched.display_name,
            way=vouched.way,
            through=vouched.through,
            groups="[]",
            address=place.address,
            created_at=now,
            last_used_at=now,
            expires_at=now + min(LONGEST_SECONDS, vouched.good_seconds or LONGEST_SECONDS),
        )
    )
    _keep_newest(connection, vouched)
    # Whoever is root on a node signs in as any of its users: that makes no browser the owner's.
    if place.browser is not None and vouched.way != "node":
        _know_browser(connection, place.browser, vouched.person, now)
    return ident, secret


def good_sessions(connection: Connection, now: float) -> list[Session]:
    """All sessions that are not over."""
    query = select(SESSIONS).where(SESSIONS.c.expires_at > now, SESSIONS.c.last_used_at > now - IDLE_SECONDS)
    return [read_row(Session, row) for row in connection.execute(query)]


def exchange_secret(connection: Connection, session: Session, now: float) -> str | None:
    """Give a session another secret; None if another request has done so just now."""
    secret = secrets.token_urlsafe(32)
    changed = connection.execute(
        update(SESSIONS)
        .where(SESSIONS.c.id == session.id, SESSIONS.c.digest == session.digest)
        .values(digest=digest(secret), earlier_digest=session.digest, exchanged_at=now)
    )
    return secret if changed.rowcount else None


def end_session(connection: Connection, ident: str, person: str, *, way: WayKind | None = None) -> bool:
    """End one of somebody's sessions, of this way if one is named; False when there was none."""
    its = delete(SESSIONS).where(SESSIONS.c.id == ident, *_mine(person, way))
    return connection.execute(its).rowcount > 0


def end_sessions_of(connection: Connection, person: str, *, way: WayKind | None = None) -> int:
    """End all of somebody's sessions, of this way if one is named."""
    return connection.execute(delete(SESSIONS).where(*_mine(person, way))).rowcount


def _mine(person: str, way: WayKind | None) -> list[ColumnElement[bool]]:
    return [SESSIONS.c.person == person, *([] if way is None else [SESSIONS.c.way == way])]


def note_sessions_used(connection: Connection, used_at: Mapping[str, float], now: float) -> None:
    """Note when sessions were last used, by id, and drop those that are over."""
    for ident, at in used_at.items():
        connection.execute(update(SESSIONS).where(SESSIONS.c.id == ident).values(last_used_at=at))
    over = or_(SESSIONS.c.expires_at <= now, SESSIONS.c.last_used_at <= now - IDLE_SECONDS)
    connection.execute(delete(SESSIONS).where(over))


def known_browsers(connection: Connection) -> frozenset[tuple[str, str]]:
    """Browsers in which somebody has signed in before, not by a node's word: their digests, and who."""
    rows = connection.execute(select(KNOWN_BROWSERS.c.digest, KNOWN_BROWSERS.c.person))
    return frozenset((row.digest, row.person) for row in rows)


def _keep_newest(connection: Connection, vouched: Vouched) -> None:
    """End the oldest by the same way: many by a node's word end none that somebody began otherwise."""
    mine = select(SESSIONS.c.id).where(SESSIONS.c.person == vouched.person, SESSIONS.c.way == vouched.way)
    old = mine.order_by(SESSIONS.c.created_at.desc()).offset(MAX_SESSIONS_OF_ONE)
    for ident in connection.scalars(old.limit(-1) if connection.dialect.name == "sqlite" else old).all():
        connection.execute(delete(SESSIONS).where(SESSIONS.c.id == ident))


def _know_browser(connection: Connection, browser: str, person: str, now: float) -> None:
    this = (KNOWN_BROWSERS.c.digest == browser, KNOWN_BROWSERS.c.person == person)
    changed = connection.execute(update(KNOWN_BROWSERS).where(*this).values(seen_at=now))
    if changed.rowcount:
        return
    connection.execute(insert(KNOWN_BROWSERS).values(digest=browser, person=person, seen_at=now))
    mine = select(KNOWN_BROWSERS.c.digest).where(KNOWN_BROWSERS.c.person == person)
    newest = list(connection.scalars(mine.order_by(KNOWN_BROWSERS.c.seen_at.desc())))
    for old in newest[MAX_BROWSERS_OF_ONE:]:
        connection.execute(
            delete(KNOWN_BROWSERS).where(KNOWN_BROWSERS.c.digest == old, KNOWN_BROWSERS.c.person == person)
        )
