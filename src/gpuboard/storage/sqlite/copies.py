"""Copies of the database: made while a board writes to it, checked, and put back."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final
from urllib.parse import quote

from gpuboard.model.errors import StorageError
from gpuboard.storage.migrations import STEPS
from gpuboard.storage.sqlite.integrity import find_damage

BUSY_SECONDS: Final = 30.0
# So many pages at a time; in between the board may write.
PAGES: Final = 256
# In the header of a file, by which versions it is written and read: those that know no write-ahead log.
_WITHOUT_JOURNAL: Final = b"\x01\x01"


def copy_database(source: Path, target: Path) -> None:
    """Copy a database whole, of one moment, also while somebody writes to it; a copy appears when it is done.

    Raises:
        StorageError: it cannot be read or written, or the copy is not whole.
    """
    if target.is_dir():
        raise StorageError(f"{target} is a directory; name a file in it")
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        unfinished.unlink(missing_ok=True)
        # Made first, and for nobody else's eyes: SQLite would ask the umask.
        os.close(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
        with closing(_connect(source, "ro")) as old, closing(_connect(unfinished, "rw")) as new:
            old.backup(new, pages=PAGES)
            # One file, that can be carried away as it is.
            new.execute("PRAGMA journal_mode = DELETE")
        check_copy(unfinished)
        unfinished.replace(target)
    except (OSError, sqlite3.Error) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise StorageError(f"{source} cannot be copied to {target}: {why}") from None
    finally:
        unfinished.unlink(missing_ok=True)


def is_copy(path: Path) -> bool:
    """Whether a file is as `copy_database` leaves it: no journal is its own, whatever lies beside it.

    A board's database says from its first page on that it has one.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        head = file.read(20)
    return head.startswith(b"SQLite format 3\x00") and head[18:20] == _WITHOUT_JOURNAL


def check_copy(path: Path) -> int:
    """Make sure that a copy is whole and ours; its schema.

    Raises:
        StorageError: it is not ("storage-damaged"), or a newer gpuboard has made it.
    """
    if not path.is_file():
        raise StorageError(f"{path} is no file")
    try:
        with closing(_connect(path, "ro")) as connection:
            (schema,) = connection.execute("SELECT max(version) FROM schema_versions").fetchone()
    except sqlite3.Error as error:
        text = f"{path} is no copy of a board's database ({error})"
        raise StorageError(text, code="storage-damaged") from None
    if not isinstance(schema, int) or schema > len(STEPS):
        raise StorageError(f"{path} has schema {schema}, and this gpuboard knows {len(STEPS)}: it is too old")
    damage = find_damage(path) if schema == len(STEPS) else None
    if damage is not None:
        raise StorageError(f"{path} is damaged ({damage})", code="storage-damaged")
    return schema


def put_back(copy: Path, target: Path) -> None:
    """Write a copy over a database that nobody else uses, whole or not at all.

    Raises:
        StorageError: it cannot be written.
    """
    try:
        with closing(_connect(copy, "ro")) as old, closing(_connect(target, "rw")) as new:
            old.backup(new)
    except sqlite3.Error as error:
        raise StorageError(f"{copy} cannot be put back as {target}: {error}") from None


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(str(path))}?mode={mode}", uri=True, timeout=BUSY_SECONDS)
