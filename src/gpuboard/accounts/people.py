"""People who have an account or a role here; each call is part of a transaction."""

from sqlalchemy import Connection, delete, insert, select, update

from gpuboard.accounts.records import Person
from gpuboard.model.identity import Role
from gpuboard.storage.base import read_row
from gpuboard.storage.tables import (
    KNOWN_BROWSERS,
    PEOPLE,
    PERSON_TOKENS,
    SESSIONS,
    SIGN_IN_LINKS,
)


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
    for table in (SESSIONS, PERSON_TOKENS):
        mine = table.c.person == name
        node = role if role == "viewer" else "user"
        connection.execute(update(table).where(mine, table.c.way == "node").values(role=node))
        others = table.c.way.not_in(("node", "socket"))
        connection.execute(update(table).where(mine, others).values(role=role))


def remove_person(connection: Connection, name: str) -> int:
    """Take away the account and all that it had; how much that was."""
    gone = connection.execute(delete(PEOPLE).where(PEOPLE.c.name == name)).rowcount
    for table in (SESSIONS, PERSON_TOKENS, SIGN_IN_LINKS, KNOWN_BROWSERS):
        gone += connection.execute(delete(table).where(table.c.person == name)).rowcount
    return gone
