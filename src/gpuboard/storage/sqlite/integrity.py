"""Whether the database is whole: looked at as a whole, since a damaged part may not be read for weeks."""

import logging
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final
from urllib.parse import quote

from sqlalchemy import Column, Double, Integer, Table

from gpuboard.storage.tables import METADATA

log = logging.getLogger(__name__)

# A large database on a slow disk is looked at as far as one gets in this time.
LOOK_SECONDS: Final = 20.0
BUSY_SECONDS: Final = 5.0


def only_if_there(path: Path) -> str:
    """The file for SQLite, which would otherwise make an empty one where it was deleted."""
    return f"file:{quote(str(path))}?mode=rw"


def find_damage(path: Path, *, seconds: float = LOOK_SECONDS) -> str | None:
    """What is wrong with the database, in words; None when nothing was found. Blocks."""
    try:
        with closing(sqlite3.connect(only_if_there(path), uri=True, timeout=BUSY_SECONDS)) as connection:
            watch = threading.Timer(seconds, connection.interrupt)
            watch.start()
            try:
                return next(_damages(connection), None)
            finally:
                watch.cancel()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorname in ("SQLITE_INTERRUPT", "SQLITE_BUSY"):
            log.info("database not looked at as a whole: path=%s reason=%s", path, error)
            return None
        return str(error)
    except sqlite3.DatabaseError as error:
        return str(error)


def _damages(connection: sqlite3.Connection) -> Iterator[str]:
    for (said,) in connection.execute("PRAGMA integrity_check(1)"):
        if said != "ok":
            yield str(said).splitlines()[-1]
    for table in METADATA.tables.values():
        for column in table.columns:
            found = connection.execute(_misfits(table, column)).fetchone()
            if found is not None:
                yield f"{table.name}.{column.name} holds something else than it should"


def _misfits(table: Table, column: Column[object]) -> str:
    """SQLite keeps whatever it is given, of any type; our tables never hold another."""
    kinds = ["'text'"]
    if isinstance(column.type, Integer):
        kinds = ["'integer'"]
    elif isinstance(column.type, Double):
        kinds = ["'real'", "'integer'"]
    if column.nullable:
        kinds.append("'null'")
    # Names of our own, from the table above.
    return f'SELECT 1 FROM "{table.name}" WHERE typeof("{column.name}") NOT IN ({", ".join(kinds)}) LIMIT 1'  # noqa: S608
