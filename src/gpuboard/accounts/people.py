"""People who have an account or a role here; each call is part of a transaction."""

from collections.abc import Mapping
from typing import Final

import msgspec
from sqlalchemy import Connection, delete, insert, select, update

from gpuboard.accounts.records import Person, Vouched
from gpuboard.model.identity import Role
from gpuboard.storage.base import read_row, set_fact
from gpuboard.storage.tables import (
    FACTS,
    KNOWN_BROWSERS,
    PEOPLE,
    PERSON_TOKENS,
    PROVIDER_GROUPS,
    SESSIONS,
    SIGN_IN_LINKS,
)

_REMOVALS: Final = "people_removed"
# A board that has not heard of it after so long has been away, and nobody was here meanwhile.
REMEMBERED_SECONDS: Final = 86400.0


def find_person(connection: Connection, name: str) -> Person | None:
    """Somebody by name."""
    row = connection.execute(select(PEOPLE).where(PEOPLE.c.name == name)).first()
    return None if row is None else read_row(Person, row)


def all_people(connection: Connection) -> list[Person]:
    """Everybody, by name."""
    return [read_row(Person, row) for row in connection.execute(select(PEOPLE).order_by(PEOPLE.c.name))]


def put_person(connection: Connection, name: str, role: Role, now: float) -> None:
    """Give somebody a role, with a new account if there is none."""
    changed = connection.execute(update(PEOPLE).where(PEOPLE.c.name == name).values(role=role))
    if not changed.rowcount:
        connection.execute(insert(PEOPLE).values(name=name, role=role, created_at=now))


def set_password(connection: Connection, name: str, hashed: str) -> None:
    """Write a password's hash down; browsers that were known start anew."""
    connection.execute(update(PEOPLE).where(PEOPLE.c.name == name).values(password=hashed))
    connection.execute(delete(KNOWN_BROWSERS).where(KNOWN_BROWSERS.c.person == name))


def apply_role(connection: Connection, name: str, role: Role) -> None:
    """Let a role hold for what somebody has in hand already; a node's word gives users at most."""
    for table in (SESSIONS, PERSON_TOKENS, SIGN_IN_LINKS):
        mine = table.c.person == name
        node = role if role == "viewer" else "user"
        connection.execute(update(table).where(mine, table.c.way == "node").values(role=node))
        others = table.c.way.not_in(("node", "socket"))
        connection.execute(update(table).where(mine, others).values(role=role))


def take_word(connection: Connection, vouched: Vouched, role: Role, now: float) -> None:
    """Let what the provider says now hold for what somebody has by its word before: the role, and groups."""
    for table in (SESSIONS, PERSON_TOKENS):
        its = (table.c.person == vouched.person, table.c.way == "oidc")
        connection.execute(update(table).where(*its).values(role=role))
    _forget_groups(connection, vouched.person)
    if vouched.groups:
        groups = msgspec.json.encode(vouched.groups).decode()
        row = {"person": vouched.person.casefold(), "groups": groups, "told_at": now}
        connection.execute(insert(PROVIDER_GROUPS).values(**row))


def provider_groups(connection: Connection) -> Mapping[str, tuple[str, ...]]:
    """The groups that the provider has last said of everybody, by name in lower case."""
    rows = connection.execute(select(PROVIDER_GROUPS.c.person, PROVIDER_GROUPS.c.groups))
    return {row.person: msgspec.json.decode(row.groups, type=tuple[str, ...]) for row in rows}


def _forget_groups(connection: Connection, name: str) -> int:
    its = delete(PROVIDER_GROUPS).where(PROVIDER_GROUPS.c.person == name.casefold())
    return connection.execute(its).rowcount


def remove_person(connection: Connection, name: str) -> int:
    """Take away the account and all that it had; how much that was."""
    gone = _forget_groups(connection, name)
    gone += connection.execute(delete(PEOPLE).where(PEOPLE.c.name == name)).rowcount
    for table in (SESSIONS, PERSON_TOKENS, SIGN_IN_LINKS, KNOWN_BROWSERS):
        gone += connection.execute(delete(table).where(table.c.person == name)).rowcount
    return gone


def note_removal(connection: Connection, name: str, now: float) -> None:
    """Note that somebody was shown out, for a board that has a page of theirs open by a proxy's word."""
    lately = {who: at for who, at in removals(connection).items() if at > now - REMEMBERED_SECONDS}
    set_fact(connection, _REMOVALS, msgspec.json.encode({**lately, name: now}).decode())


def removals(connection: Connection) -> Mapping[str, float]:
    """Who was lately shown out, and when last."""
    told = connection.scalar(select(FACTS.c.value).where(FACTS.c.name == _REMOVALS))
    return msgspec.json.decode(told or "{}", type=dict[str, float])
