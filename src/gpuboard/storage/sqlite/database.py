"""The board's database in a file of its state directory."""

import logging
import os
import sqlite3
from pathlib import Path
from typing import Any, Final

import sqlalchemy
from sqlalchemy import Connection, create_engine, event
from sqlalchemy.exc import DBAPIError

from gpuboard.model.errors import StorageError
from gpuboard.model.verdict import Reason
from gpuboard.storage.base import DAMAGED, Database
from gpuboard.storage.migrations import migrate
from gpuboard.storage.sqlite.integrity import find_damage
from gpuboard.storage.sqlite.lock import BoardLock, board_runs
from gpuboard.storage.sqlite.place import prepare_directory

log = logging.getLogger(__name__)

FILE_NAME: Final = "gpuboard.sqlite"
BUSY_SECONDS: Final = 10.0


class SqliteDatabase(Database):
    """One file, and beside it the lock of the board that uses it."""

    def __init__(self, path: Path) -> None:
        # Autocommit, so that the transactions are those that we begin: DDL would end pysqlite's own.
        engine = create_engine(
            sqlalchemy.URL.create("sqlite", database=str(path)),
            connect_args={"timeout": BUSY_SECONDS, "isolation_level": None},
        )
        event.listen(engine, "connect", _set_up)
        super().__init__(str(path), engine)
        self.path = path
        self._lock: BoardLock | None = None
        self._identity: tuple[int, int] | None = None

    def open(self, *, as_board: bool = False) -> None:
        """Open the file, or make it, for nobody else's eyes."""
        place = prepare_directory(self.path.parent)
        if as_board:
            # Before anything else: two boards would undo what the other writes down.
            self._lock = BoardLock(place)
        try:
            self._make_file(place)
            self._identity = _identity_of(self.path)
            with self.write() as connection:
                migrate(connection)
        except BaseException:
            self.close()
            raise

    def exists(self) -> bool:
        """Whether there is a file."""
        try:
            return self.path.exists()
        except OSError as error:
            raise StorageError(
                f"the state directory {self.path.parent} cannot be read: {error.strerror}; "
                "run as the user that the board runs as, or as root"
            ) from None

    def has_board(self) -> bool:
        """Whether somebody holds the lock."""
        return board_runs(self.path.parent)

    def find_damage(self) -> str | None:
        """Look at the file as a whole."""
        return find_damage(self.path)

    def find_loss(self) -> Reason | None:
        """Whether the file that was opened is still the one of its name."""
        if _identity_of(self.path) == self._identity:
            return None
        text = (
            f"the database {self.path} was deleted or replaced while the board runs, and what is "
            "written down now is lost; put the file back and restart the board"
        )
        return Reason(code="storage-replaced", text=text)

    def close(self) -> None:
        """Let go of the file and of the lock."""
        self._engine.dispose()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _make_file(self, place: Path) -> None:
        path = self.path
        try:
            is_new = not path.exists()
            if not is_new and path.is_file() and path.stat().st_size == 0:
                log.warning("database was empty, made anew: path=%s", path)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            if is_new and os.geteuid() == 0:
                # Made by an administrator for a board that runs as somebody else.
                owner = place.stat()
                os.chown(path, owner.st_uid, owner.st_gid)
        except OSError as error:
            raise StorageError(f"the database {path} cannot be opened: {error.strerror}") from None

    def _begin_transaction(self, connection: Connection, *, is_write: bool) -> None:
        # Writers queue at the start; upgrading a reader later could fail at once.
        connection.exec_driver_sql("BEGIN IMMEDIATE" if is_write else "BEGIN")

    def _explain(self, error: DBAPIError) -> StorageError:
        # Damage is of the base class itself; what may pass (locked, disk full) is of one below it.
        is_damaged = type(error.orig) is sqlite3.DatabaseError or "Could not decode" in str(error.orig)
        remedy = f"; {DAMAGED}" if is_damaged else ""
        return StorageError(f"the database {self.path} cannot be used: {error.orig}{remedy}")


def _identity_of(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _set_up(connection: sqlite3.Connection, _record: Any) -> None:  # noqa: ANN401 - the pool's own record
    # FULL and not NORMAL: what was acknowledged must survive a power cut, not only a crash.
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}").close()
