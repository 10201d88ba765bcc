"""Personal tokens; each call is part of a transaction."""

import secrets
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
from sqlalchemy import ColumnElement, Connection, delete, func, insert, or_, select, update

from gpuboard.accounts.records import PersonToken, Vouched
from gpuboard.model.errors import UsageError
from gpuboard.model.identity import SCOPES, Role, Scope, WayKind
from gpuboard.storage.base import read_row
from gpuboard.storage.tables import PERSON_TOKENS
from gpuboard.wire.enrolment import digest
from gpuboard.wire.people import make_feed_key, make_person_token

# What `gpuboard login` gets: as long as a session at most.
LOGIN_SECONDS: Final = 30 * 86400.0
# Of those that somebody made on purpose.
MAX_TOKENS_OF_ONE: Final = 50
# Command lines that one person is signed in at: a new one ends the oldest.
MAX_LOGINS_OF_ONE: Final = 50
# The kind of a calendar feed's key, and that of a command line's token.
FEED: Final = "feed"
LOGIN: Final = "login"
# Command lines that are signed in from one node: whoever is root there can name whom it likes.
MAX_LOGINS_OF_NODE: Final = 500


class _Stored(PersonToken, frozen=True, kw_only=True):
    """A token as its row has it."""

    scopes: str  # type: ignore[assignment] # JSON in the database


def add_token(
    connection: Connection,
    vouched: Vouched,
    role: Role,
    *,
    name: str,
    kind: str,
    scopes: Iterable[Scope],
    now: float,
    expires_at: float | None,
) -> tuple[PersonToken, str]:
    """Make a token: what is known of it, and the token itself, which is shown once.

    Raises:
        UsageError: this person has too many that were made on purpose.
    """
    mine = (PERSON_TOKENS.c.person == vouched.person, PERSON_TOKENS.c.kind != LOGIN)
    count = connection.scalar(select(func.count()).select_from(PERSON_TOKENS).where(*mine)) or 0
    if kind != LOGIN and count >= MAX_TOKENS_OF_ONE:
        raise UsageError(
            f"{vouched.person} has {count} tokens already, which is the most; revoke some of them"
        )
    token = make_feed_key() if kind == FEED else make_person_token()
    made = PersonToken(
        id=secrets.token_hex(6),
        digest=digest(token),
        person=vouched.person,
        role=role,
        name=name,
        kind=kind,
        scopes=tuple(scope for scope in SCOPES if scope in set(scopes)),
        way=vouched.way,
        through=vouched.through,
        created_at=now,
        last_used_at=None,
        expires_at=expires_at,
    )
    row = msgspec.to_builtins(made) | {"scopes": msgspec.json.encode(made.scopes).decode()}
    connection.execute(insert(PERSON_TOKENS).values(**row))
    return made, token


def replace_login(connection: Connection, vouched: Vouched, name: str) -> None:
    """Make room: end the login at the same place before, and the oldest of a person or a node with many."""
    mine = (PERSON_TOKENS.c.person == vouched.person, PERSON_TOKENS.c.kind == LOGIN)
    connection.execute(delete(PERSON_TOKENS).where(*mine, PERSON_TOKENS.c.name == name))
    _end_oldest(connection, *mine, kept=MAX_LOGINS_OF_ONE - 1)
    if vouched.through is not None:
        its = (PERSON_TOKENS.c.through == vouched.through, PERSON_TOKENS.c.kind == LOGIN)
        _end_oldest(connection, *its, kept=MAX_LOGINS_OF_NODE - 1)


def _end_oldest(connection: Connection, *which: ColumnElement[bool], kept: int) -> None:
    newest = select(PERSON_TOKENS.c.id).where(*which).order_by(PERSON_TOKENS.c.created_at.desc())
    for old in connection.scalars(newest).all()[kept:]:
        connection.execute(delete(PERSON_TOKENS).where(PERSON_TOKENS.c.id == old))


def end_feed(connection: Connection, person: str, *, way: WayKind | None = None) -> bool:
    """End the key of somebody's calendar feed, of this way if one is named; False when there was none."""
    its = delete(PERSON_TOKENS).where(PERSON_TOKENS.c.kind == FEED, *_mine(person, way))
    return connection.execute(its).rowcount > 0


def _mine(person: str, way: WayKind | None) -> list[ColumnElement[bool]]:
    return [PERSON_TOKENS.c.person == person, *([] if way is None else [PERSON_TOKENS.c.way == way])]


def good_tokens(connection: Connection, now: float) -> list[PersonToken]:
    """All tokens that are not over."""
    good = or_(PERSON_TOKENS.c.expires_at.is_(None), PERSON_TOKENS.c.expires_at > now)
    query = select(PERSON_TOKENS).where(good).order_by(PERSON_TOKENS.c.created_at)
    return [_read(read_row(_Stored, row)) for row in connection.execute(query)]


def end_token(
    connection: Connection, ident: str, person: str | None = None, *, way: WayKind | None = None
) -> PersonToken | None:
    """Revoke a token, of this person and way if they are named; what it was, or None when there was none."""
    which = [PERSON_TOKENS.c.id == ident]
    if person is not None:
        which += _mine(person, way)
    row = connection.execute(select(PERSON_TOKENS).where(*which)).first()
    if row is None:
        return None
    connection.execute(delete(PERSON_TOKENS).where(*which))
    return _read(read_row(_Stored, row))


def end_logins_of(connection: Connection, person: str, *, way: WayKind | None = None) -> None:
    """End the tokens that somebody's command lines have, of this way if one is named."""
    connection.execute(delete(PERSON_TOKENS).where(PERSON_TOKENS.c.kind == LOGIN, *_mine(person, way)))


def note_tokens_used(connection: Connection, used_at: Mapping[str, float], now: float) -> None:
    """Note when tokens were last used, by id, and drop those that are over."""
    for ident, at in used_at.items():
        connection.execute(update(PERSON_TOKENS).where(PERSON_TOKENS.c.id == ident).values(last_used_at=at))
    connection.execute(delete(PERSON_TOKENS).where(PERSON_TOKENS.c.expires_at <= now))


def _read(stored: _Stored) -> PersonToken:
    fields = {name: getattr(stored, name) for name in PersonToken.__struct_fields__}
    fields["scopes"] = msgspec.json.decode(stored.scopes, type=tuple[Scope, ...])
    return PersonToken(**fields)
