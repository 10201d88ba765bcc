"""One-time links: to look at one does not use it up. Each call is part of a transaction."""

from typing import Final

from sqlalchemy import Connection, delete, insert, select, update

from gpuboard.accounts.records import Link, Vouched
from gpuboard.model.errors import LinkRefused
from gpuboard.model.identity import Role
from gpuboard.storage.base import read_row
from gpuboard.storage.tables import SIGN_IN_LINKS
from gpuboard.wire.enrolment import digest
from gpuboard.wire.people import LinkKind, is_link_code, make_link_code

SIGN_IN_SECONDS: Final = 120.0
SET_UP_SECONDS: Final = 3600.0
# A link that was used, or whose time is over, is remembered so long, to say so.
REMEMBERED_SECONDS: Final = 86400.0


def add_link(
    connection: Connection, vouched: Vouched, role: Role, *, kind: LinkKind, now: float
) -> tuple[str, float]:
    """Make a link: its code, and when it is over. A new set-up link takes the place of the one before."""
    code = make_link_code()
    expires_at = now + (SET_UP_SECONDS if kind == "set-up" else SIGN_IN_SECONDS)
    connection.execute(delete(SIGN_IN_LINKS).where(SIGN_IN_LINKS.c.expires_at < now - REMEMBERED_SECONDS))
    if kind == "set-up":
        mine = (SIGN_IN_LINKS.c.person == vouched.person, SIGN_IN_LINKS.c.kind == kind)
        connection.execute(delete(SIGN_IN_LINKS).where(*mine, SIGN_IN_LINKS.c.used_at.is_(None)))
    connection.execute(
        insert(SIGN_IN_LINKS).values(
            digest=digest(code),
            kind=kind,
            person=vouched.person,
            role=role,
            way=vouched.way,
            through=vouched.through,
            created_at=now,
            expires_at=expires_at,
        )
    )
    return code, expires_at


def read_link(connection: Connection, code: str, now: float) -> Link:
    """What a link is for.

    Raises:
        LinkRefused: there is none such, it was used, or its time is over.
    """
    row = None
    if is_link_code(code):
        row = connection.execute(select(SIGN_IN_LINKS).where(SIGN_IN_LINKS.c.digest == digest(code))).first()
    if row is None:
        raise LinkRefused("This link is not known here.", code="link-unknown")
    link = read_row(Link, row)
    if link.used_at is not None:
        raise LinkRefused("This link was used already: each is good for one time.", code="link-used")
    if link.expires_at <= now:
        raise LinkRefused("The time of this link is over; ask for another.", code="link-over")
    return link


def use_link(connection: Connection, code: str, now: float) -> Link:
    """Use a link up.

    Raises:
        LinkRefused: there is none such, it was used, or its time is over.
    """
    link = read_link(connection, code, now)
    connection.execute(update(SIGN_IN_LINKS).where(SIGN_IN_LINKS.c.digest == link.digest).values(used_at=now))
    return link
