"""The board's database. Every call blocks: never from the event loop, always in a thread."""

import contextlib
import logging
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
import sqlalchemy
from msgspec import Struct
from sqlalchemy import Connection, Row, create_engine, event, insert, select
from sqlalchemy.exc import DBAPIError

from gpuboard.model.errors import StorageError
from gpuboard.storage.migrations import migrate
from gpuboard.storage.place import prepare_directory
from gpuboard.storage.tables import FACTS

log = logging.getLogger(__name__)

FILE_NAME: Final = "gpuboard.sqlite"
BUSY_SECONDS: Final = 10.0
DAMAGED: Final = (
    "it is damaged: stop the board, put a copy in its place or move it away, and enroll nodes anew"
)


Kind = TypeVar("Kind", bound=Struct)


class Database:
    """Transactions on the board's tables; several processes may have it open at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._identity = _identity_of(path)
        # Autocommit, so that the transactions are those that we begin: DDL would end pysqlite's own.
        self._engine = create_engine(
            sqlalchemy.URL.create("sqlite", database=str(path)),
            connect_args={"timeout": BUSY_SECONDS, "isolation_level": None},
        )
        event.listen(self._engine, "connect", _set_up)
        event.listen(self._engine, "begin", _begin)

    @contextlib.contextmanager
    def read(self) -> Iterator[Connection]:
        """One consistent look.

        Raises:
            StorageError: the database cannot be read.
        """
        with self._in_words(), self._engine.begin() as connection:
            yield connection

    @contextlib.contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction: done whole, or not at all when the block raises.

        Raises:
            StorageError: the database cannot be written.
        """
        with (
            self._in_words(),
            self._engine.connect().execution_options(gpuboard_write=True) as connection,
            connection.begin(),
        ):
            yield connection

    def is_in_place(self) -> bool:
        """Whether the file that was opened is still the one of its name. Blocks."""
        return _identity_of(self.path) == self._identity

    def close(self) -> None:
        """Let go of the file."""
        self._engine.dispose()

    def fact(self, name: str) -> str | None:
        """A small fact about the board, by name."""
        with self.read() as connection:
            return connection.scalar(select(FACTS.c.value).where(FACTS.c.name == name))

    def set_fact(self, name: str, value: str) -> None:
        """Note a small fact about the board."""
        with self.write() as connection:
            set_fact(connection, name, value)

    @contextlib.contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            # Damage is of the base class itself; what may pass (locked, disk full) is of one below it.
            is_damaged = type(error.orig) is sqlite3.DatabaseError
            remedy = f"; {DAMAGED}" if is_damaged else ""
            raise StorageError(f"the database {self.path} cannot be used: {error.orig}{remedy}") from error


def _identity_of(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def open_database(directory: Path) -> Database:
    """Open the database in the state directory; make it, or bring it up to date, if need be.

    Raises:
        StorageError: the directory or the database in it cannot be used.
    """
    place = prepare_directory(directory)
    path = place / FILE_NAME
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
    database = Database(path)
    try:
        with database.write() as connection:
            migrate(connection)
    except BaseException:
        database.close()
        raise
    return database


def read_row(kind: type[Kind], row: Row[*tuple[Any, ...]]) -> Kind:
    """Read a row as what it should be; SQLite keeps anything.

    Raises:
        StorageError: the row holds something else.
    """
    try:
        # The names are of a class of their own, which the decoder does not know.
        return msgspec.convert({str(name): value for name, value in row._asdict().items()}, kind)
    except msgspec.ValidationError as error:
        raise StorageError(f"a row of the database holds no {kind.__name__} ({error}); {DAMAGED}") from None


def set_fact(connection: Connection, name: str, value: str) -> None:
    """Note a small fact about the board, as part of a transaction."""
    changed = connection.execute(FACTS.update().where(FACTS.c.name == name).values(value=value))
    if not changed.rowcount:
        connection.execute(insert(FACTS).values(name=name, value=value))


def _set_up(connection: sqlite3.Connection, _record: Any) -> None:  # noqa: ANN401 - the pool's own record
    # FULL and not NORMAL: what was acknowledged must survive a power cut, not only a crash.
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}").close()


def _begin(connection: Connection) -> None:
    # Writers queue at the start; upgrading a reader later could fail at once.
    how = "BEGIN IMMEDIATE" if connection.get_execution_options().get("gpuboard_write") else "BEGIN"
    connection.exec_driver_sql(how)
