"""The board's database in a file of its state directory."""

import contextlib
import logging
import os
import sqlite3
import tempfile
import time
from contextlib import closing
from itertools import chain, count
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import sqlalchemy
from sqlalchemy import Connection, create_engine, event, select
from sqlalchemy.exc import DBAPIError

from gpuboard.model.errors import StorageError
from gpuboard.model.verdict import Reason
from gpuboard.outside.state_directory import hand_over, prepare_directory
from gpuboard.storage.base import DAMAGED, Before, Database
from gpuboard.storage.migrations import migrate
from gpuboard.storage.sqlite.copies import check_copy, copy_database, is_copy, put_back
from gpuboard.storage.sqlite.integrity import find_damage
from gpuboard.storage.sqlite.lock import BoardLock, holder_of
from gpuboard.storage.sqlite.lost import LostMark
from gpuboard.storage.tables import ENROLMENT_CODES, NODE_TOKENS

log = logging.getLogger(__name__)

FILE_NAME: Final = "gpuboard.sqlite"
# What SQLite keeps beside a file, and the file itself.
_ENDINGS: Final = ("-wal", "-shm", "")
BUSY_SECONDS: Final = 10.0


class SqliteDatabase(Database):
    """One file, and beside it the lock of the board that uses it."""

    def __init__(self, path: Path) -> None:
        # Autocommit, so that the transactions are those that we begin: DDL would end pysqlite's own.
        engine = create_engine(
            # Never made by a connection: a file that was deleted must not come back empty.
            sqlalchemy.URL.create(
                "sqlite", database=f"file:{quote(str(path))}", query={"mode": "rw", "uri": "true"}
            ),
            connect_args={"timeout": BUSY_SECONDS, "isolation_level": None},
        )
        event.listen(engine, "connect", _set_up)
        super().__init__(str(path), engine)
        self.path = path
        self._lock: BoardLock | None = None
        self._identity: str | None = None
        # How long it was when it was last looked at: it only ever grows.
        self._length = 0
        self._lost = LostMark(path)

    def open(self, *, as_board: bool = False) -> None:
        """Open the file, or make it, for nobody else's eyes."""
        place = prepare_directory(self.path.parent)
        if as_board:
            # Before anything else: two boards would undo what the other writes down.
            self._lock = BoardLock(place)
        try:
            # The last board that ran here had one: so this is no first start.
            is_gone = self._lock is not None and bool(self._lock.files_before) and not self.path.exists()
            self._make_file()
            self._identity = _identity_of(self.path)
            self._note_whether_lost(is_gone=is_gone)
            self._leave_others_journal()
            self._agree_with_board()
            with self.write() as connection:
                migrate(connection)
            self._note_journal()
        except BaseException:
            self.close()
            raise

    def exists(self) -> bool:
        """Whether there is a file."""
        try:
            is_there = self.path.exists()
        except OSError as error:
            raise StorageError(
                f"the state directory {self.path.parent} cannot be read: {error.strerror}; "
                "run as the user that the board runs as, or as root"
            ) from None
        if not is_there and self._of_board() is not None:
            raise self._replaced()
        return is_there

    def has_board(self) -> bool:
        """Whether somebody holds the lock."""
        return holder_of(self.path.parent) is not None

    def find_damage(self) -> str | None:
        """Look at the file as a whole."""
        return find_damage(self.path)

    def find_loss(self) -> Reason | None:
        """Whether the file that was opened is still the one of its name, whole and readable."""
        if _identity_of(self.path) == self._identity:
            return self._find_harm()
        text = (
            f"the database {self.path} was deleted or replaced while the board runs, and what is "
            "written down now is lost; put the file back and restart the board"
        )
        return Reason(code="storage-replaced", text=text)

    def _find_harm(self) -> Reason | None:
        """What has happened to the file that can be seen from outside."""
        if _is_empty(self.path):
            return Reason(code="storage-damaged", text=self._empty())
        length = self.path.stat().st_size
        if length < self._length:
            text = f"the database {self.path} was cut, which it never is by itself; {DAMAGED}"
            return Reason(code="storage-damaged", text=text)
        self._length = length
        if not os.access(self.path, os.R_OK | os.W_OK):
            text = f"the database {self.path} may no longer be read and written by the board's user"
            return Reason(code="storage", text=text)
        return self._find_start_without()

    def _find_start_without(self) -> Reason | None:
        """Whether the board had to start without its database, and nobody has begun anew since."""
        if not self._lost.is_there():
            return None
        with self.read() as connection:
            has_begun = any(
                connection.execute(select(table.c.node).limit(1)).first()
                for table in (ENROLMENT_CODES, NODE_TOKENS)
            )
        if has_begun:
            self._lost.take_away()
        return None if has_begun else self._lost.reason

    def _note_whether_lost(self, *, is_gone: bool) -> None:
        if is_gone:
            self._lost.leave(self._identity or "")
        elif self._lock is not None:
            self._lost.check(self._identity or "")

    def backup(self, file: Path) -> None:
        """Write a copy of one moment to a file."""
        copy_database(self.path, file)

    def restore(self, file: Path) -> Before | None:
        """Put a copy back, under the lock that keeps boards out."""
        check_copy(file)
        self._lock = BoardLock(prepare_directory(self.path.parent))
        now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        before = None
        if self.path.exists():
            before = self._keep(now)
        else:
            # A journal that was left behind alone belongs to no file that comes; its own may be found.
            journal = _journal_of(self._set_aside(now))
            if journal.exists() and not _is_empty(journal):
                before = Before(journal, is_journal=True)
        self._make_file()
        self._identity = _identity_of(self.path)
        self._agree_with_board()
        put_back(file, self.path)
        with self.write() as connection:
            migrate(connection)
        self._note_journal()
        # Nothing is lost any more, whatever a board has said when it started without.
        self._lost.take_away()
        return before

    def _keep(self, now: str) -> Before:
        """Keep what a copy is to take the place of; what is damaged is set aside as it is, unread.

        Raises:
            StorageError: it cannot be kept, or a newer gpuboard has written it.
        """
        kept = _unused(self.path.with_name(f"{self.path.name}.before-{now}"))
        self._identity = _identity_of(self.path)
        self._leave_others_journal()
        try:
            self._make_file()
            check_copy(self.path)
            copy_database(self.path, kept)
            hand_over(kept)
        except OSError as error:
            raise StorageError(f"{self.path} cannot be kept as {kept}: {error.strerror}") from None
        except StorageError as error:
            if error.reason.code != "storage-damaged":
                raise
            return Before(self._set_aside(now), is_damaged=True)
        return Before(kept)

    def _set_aside(self, now: str) -> Path:
        """Give the file another name, and what SQLite keeps beside it: it belongs to this file alone."""
        aside = _unused(self.path.with_name(f"{self.path.name}.damaged-{now}"))
        try:
            for ending in _ENDINGS:
                with contextlib.suppress(FileNotFoundError):
                    Path(f"{self.path}{ending}").rename(f"{aside}{ending}")
        except OSError as error:
            raise StorageError(f"{self.path} cannot be set aside as {aside}: {error.strerror}") from None
        return aside

    def close(self) -> None:
        """Let go of the file and of the lock."""
        self._engine.dispose()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _of_board(self) -> str | None:
        """Which file the board uses that runs here; None: there is none, or it has not opened it yet."""
        holder = holder_of(self.path.parent)
        return None if holder is None else holder.identity

    def _agree_with_board(self) -> None:
        """Make sure that a command changes what the board reads, and not a file that took its place."""
        if self._lock is not None:
            self._lock.note(self._identity or "")
        elif self._of_board() not in (None, self._identity):
            raise self._replaced()

    def _leave_others_journal(self) -> None:
        """Set a journal aside that belongs to another file than the one that has the name by now.

        The last board was killed, or its file was replaced under it; SQLite would write what that had open
        into this one.
        """
        journal = _journal_of(self.path)
        if not self._has_others_journal(journal):
            return
        aside = _unused(journal.with_name(f"{journal.name}.lost"))
        log.warning(
            "journal of another database set aside: path=%s; what was not yet in the database that was there "
            "before is in it; to put a copy back, use gpuboard restore",
            aside,
        )
        try:
            journal.rename(aside)
            self.path.with_name(f"{self.path.name}-shm").unlink(missing_ok=True)
        except OSError as error:
            raise StorageError(f"{journal} cannot be set aside as {aside}: {error.strerror}") from None

    def _has_others_journal(self, journal: Path) -> bool:
        if self._lock is None and self.has_board():
            # That is the board's business, which has both open.
            return False
        of_journal = _identity_of(journal)
        if of_journal is None:
            return False
        try:
            if is_copy(self.path):
                return True
        except OSError as error:
            raise StorageError(f"the database {self.path} cannot be opened: {error.strerror}") from None
        before = [] if self._lock is None else self._lock.files_before[:2]
        return len(before) == 2 and before[0] != self._identity and before[1] == of_journal  # noqa: PLR2004 - the file and its journal

    def _note_journal(self) -> None:
        journal = _identity_of(_journal_of(self.path))
        if self._lock is not None and journal is not None:
            self._lock.note(self._identity or "", journal)

    def _replaced(self) -> StorageError:
        return StorageError(
            f"the database {self.path} was deleted or replaced while the board runs: the board does not see "
            "what is changed there, so nothing was; put the file back, or restart the board",
            code="storage-replaced",
        )

    def _empty(self) -> str:
        return f"the database {self.path} is empty, which it never is by itself; {DAMAGED}"

    def _make_file(self) -> None:
        try:
            if not self.path.exists():
                _make(self.path)
            elif _is_empty(self.path):
                raise StorageError(self._empty(), code="storage-damaged")
            os.close(os.open(self.path, os.O_RDWR))
        except OSError as error:
            raise StorageError(f"the database {self.path} cannot be opened: {error.strerror}") from None

    def _begin_transaction(self, connection: Connection, *, is_write: bool) -> None:
        # Writers queue at the start; upgrading a reader later could fail at once.
        connection.exec_driver_sql("BEGIN IMMEDIATE" if is_write else "BEGIN")

    def _explain(self, error: DBAPIError) -> StorageError:
        # Damage is of the base class itself; what may pass (locked, disk full) is of one below it.
        is_damaged = type(error.orig) is sqlite3.DatabaseError or "Could not decode" in str(error.orig)
        remedy = f"; {DAMAGED}" if is_damaged else ""
        code = "storage-damaged" if is_damaged else "storage"
        return StorageError(f"the database {self.path} cannot be used: {error.orig}{remedy}", code=code)


def _make(path: Path) -> None:
    """Make the file with its first page: whatever ends us meanwhile, it is there whole or not at all.

    Raises:
        OSError: it cannot be made.
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".new", dir=path.parent)
    os.close(handle)
    new = Path(name)
    try:
        with closing(sqlite3.connect(new)) as connection:
            connection.execute("PRAGMA journal_mode=WAL").close()
        hand_over(new)
        _give_name(new, path)
    except sqlite3.Error as error:
        raise OSError(None, str(error)) from None
    finally:
        new.unlink(missing_ok=True)


def _give_name(new: Path, path: Path) -> None:
    """Let a file be found under its name, unless somebody else has made it meanwhile."""
    try:
        path.hardlink_to(new)
    except FileExistsError:
        return
    except OSError:
        # Not every file system has second names.
        new.rename(path)


def _unused(path: Path) -> Path:
    """This name, else with the first number that makes it new: what was kept once is never written over."""
    names = (path.with_name(f"{path.name}{more}") for more in chain([""], (f"-{n}" for n in count(2))))
    return next(name for name in names if not any(os.path.lexists(f"{name}{ending}") for ending in _ENDINGS))


def _is_empty(path: Path) -> bool:
    return path.is_file() and path.stat().st_size == 0


def _journal_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _identity_of(path: Path) -> str | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return f"{found.st_dev}:{found.st_ino}"


def _set_up(connection: sqlite3.Connection, _record: Any) -> None:  # noqa: ANN401 - the pool's own record
    # FULL and not NORMAL: what was acknowledged must survive a power cut, not only a crash.
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}").close()
