"""The audit log: who did what by which way from where. Written in the transaction of what was done."""

import re
import secrets
from typing import Final

from msgspec import Struct
from sqlalchemy import Connection, delete, insert, select

from gpuboard.storage.base import read_row
from gpuboard.storage.tables import AUDIT
from gpuboard.wire.clean import clean_text
from gpuboard.wire.people import AuditEntry

KEEP_SECONDS: Final = 400 * 86400.0
MAX_ENTRIES: Final = 100_000
LONGEST_DETAIL: Final = 500
_ID: Final = re.compile(r"[0-9]{17}-[0-9a-f]{8}")


class Deed(Struct, frozen=True, kw_only=True):
    """What somebody has done."""

    what: str
    who: str | None = None
    way: str | None = None
    through: str | None = None
    address: str | None = None
    detail: str | None = None


def is_deed_id(text: str) -> bool:
    """Whether this has the form of an entry's id."""
    return _ID.fullmatch(text) is not None


def write_deed(connection: Connection, deed: Deed, now: float) -> None:
    """Write a deed down, as part of the transaction in which it is done."""
    detail = None if deed.detail is None else clean_text(deed.detail)[:LONGEST_DETAIL]
    connection.execute(
        insert(AUDIT).values(
            id=f"{int(now * 1e6):017d}-{secrets.token_hex(4)}",
            at=now,
            who=deed.who,
            what=deed.what,
            way=deed.way,
            through=deed.through,
            address=deed.address,
            detail=detail,
        )
    )


def read_deeds(connection: Connection, *, limit: int, before: str | None = None) -> list[AuditEntry]:
    """The newest deeds first; those before one of them, if it is named."""
    query = select(AUDIT).order_by(AUDIT.c.id.desc()).limit(limit)
    if before is not None:
        query = query.where(AUDIT.c.id < before)
    return [read_row(AuditEntry, row) for row in connection.execute(query)]


def forget_old_deeds(connection: Connection, now: float) -> None:
    """Drop what is older than is kept, or more."""
    connection.execute(delete(AUDIT).where(AUDIT.c.at < now - KEEP_SECONDS))
    last = connection.scalar(select(AUDIT.c.id).order_by(AUDIT.c.id.desc()).offset(MAX_ENTRIES).limit(1))
    if last is not None:
        connection.execute(delete(AUDIT).where(AUDIT.c.id <= last))
