"""history.sqlite: the file, who may have it, and what happens when it is damaged."""

import contextlib
import fcntl
import logging
import os
import queue
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import quote

from gpuboard.history.embedded.schema import VERSION, make_tables
from gpuboard.history.questions import is_given_up
from gpuboard.model.errors import StorageError
from gpuboard.model.verdict import Reason
from gpuboard.outside.state_directory import prepare_directory

log = logging.getLogger(__name__)

FILE_NAME: Final = "history.sqlite"
LOCK_NAME: Final = "history.lock"
BUSY_SECONDS: Final = 10.0
# Of SQLite's machine: less than a millisecond.
_STEPS_BETWEEN_LOOKS: Final = 20_000
_JOURNAL_BYTES: Final = 16 * 1024**2
_FULL: Final = frozenset({"SQLITE_FULL", "SQLITE_IOERR_WRITE"})
_DAMAGED: Final = frozenset({"SQLITE_CORRUPT", "SQLITE_NOTADB"})


Value = TypeVar("Value")


class DiskFullError(StorageError):
    """Nothing was written: there is no room."""


class DamagedError(StorageError):
    """The file holds something else than it should."""


class ReplacedError(StorageError):
    """Another file has the name of the one that was written; nothing is safe that was written last."""


class HistoryFile:
    """One file, the lock of the board that uses it, one connection that writes and a few that read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: int | None = None
        self._writer: sqlite3.Connection | None = None
        self._readers: queue.SimpleQueue[sqlite3.Connection] = queue.SimpleQueue()
        # Raised when a new file was begun: connections to the old one are not used again.
        self._life = 0
        self._identity: tuple[int, int] | None = None
        self.set_aside: Reason | None = None

    def open(self) -> None:
        """Take the lock, and open the file or make it.

        Raises:
            StorageError: another board has it, or it cannot be used.
        """
        place = prepare_directory(self.path.parent)
        self._lock = _take_lock(place / LOCK_NAME)
        try:
            try:
                self._connect_writer()
            except DamagedError as error:
                self.begin_anew(str(error))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the file and of the lock."""
        self._disconnect()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def begin_anew(self, why: str) -> None:
        """Set a damaged file aside and begin a new one; what is still in it is somebody's to rescue.

        Raises:
            StorageError: that cannot be done either.
        """
        self._disconnect()
        aside = self.path.with_name(
            f"{self.path.name}.damaged-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}"
        )
        try:
            for ending in ("", "-wal", "-shm"):
                with contextlib.suppress(FileNotFoundError):
                    self.path.with_name(self.path.name + ending).rename(f"{aside}{ending}")
        except OSError as error:
            raise StorageError(f"the damaged history {self.path} cannot be moved: {error.strerror}") from None
        log.error("history damaged, a new one begun: path=%s aside=%s reason=%s", self.path, aside, why)
        text = f"the history was damaged ({why}); it was set aside as {aside.name}, and a new one was begun"
        self.set_aside = Reason(code="history-damaged", text=text, values={"file": aside.name})
        self._connect_writer()

    def is_replaced(self) -> bool:
        """Whether the file that was opened is no longer the one of its name."""
        return _identity_of(self.path) != self._identity

    def open_again(self) -> None:
        """Go on with the file that has the name now, or with a new one: what is written elsewhere is lost.

        Raises:
            StorageError: it cannot be used.
        """
        log.error("history was deleted or replaced while the board runs: path=%s", self.path)
        self._disconnect()
        self._connect_writer()
        text = f"the history {self.path} was deleted or replaced while the board runs; it goes on from there"
        self.set_aside = Reason(code="history-damaged", text=text)

    @contextlib.contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """One transaction: safe when the block ends, undone when it raises.

        Raises:
            DiskFullError: there is no room; nothing was written.
            StorageError: it cannot be written; nothing was.
        """
        writer = self._writer
        if writer is None:
            raise StorageError(f"the history {self.path} is closed")
        with self._in_words():
            try:
                writer.execute("BEGIN IMMEDIATE")
                yield writer
                writer.execute("COMMIT")
            except BaseException:
                # A full disk may have undone it already.
                with contextlib.suppress(sqlite3.Error):
                    writer.execute("ROLLBACK")
                raise

    def outside_transaction(self, call: Callable[[sqlite3.Connection], Value]) -> Value:
        """Let the one who writes do something that is its own transaction.

        Raises:
            StorageError: it cannot be done.
        """
        if self._writer is None:
            raise StorageError(f"the history {self.path} is closed")
        with self._in_words():
            return call(self._writer)

    @contextlib.contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """One consistent look.

        Raises:
            StorageError: it cannot be read.
        """
        life = self._life
        with self._in_words():
            try:
                connection = self._readers.get_nowait()
            except queue.Empty:
                connection = self._connect()
            try:
                connection.execute("BEGIN")
                yield connection
            finally:
                with contextlib.suppress(sqlite3.Error):
                    connection.execute("COMMIT")
                if life == self._life:
                    self._readers.put(connection)
                else:
                    connection.close()

    def _connect_writer(self) -> None:
        """Open the file, or make it; only who writes does."""
        with self._in_words():
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        self._writer = self._connect()
        self._identity = _identity_of(self.path)

    def _connect(self) -> sqlite3.Connection:
        with self._in_words():
            connection = sqlite3.connect(
                f"file:{quote(str(self.path))}?mode=rw",
                uri=True,
                timeout=BUSY_SECONDS,
                isolation_level=None,
                check_same_thread=False,
            )
            try:
                self._set_up(connection)
            except BaseException:
                connection.close()
                raise
            return connection

    def _set_up(self, connection: sqlite3.Connection) -> None:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version == 0 and connection.execute("SELECT 1 FROM sqlite_schema").fetchone() is None:
            make_tables(connection)
        elif version != VERSION:
            raise StorageError(
                f"the history {self.path} is of another version of gpuboard ({version}); "
                "move it away, or use that version"
            )
        # FULL and not NORMAL: what an agent was told is safe must survive a power cut.
        for pragma in ("synchronous = FULL", f"journal_size_limit = {_JOURNAL_BYTES}", "cache_size = -8000"):
            connection.execute(f"PRAGMA {pragma}")
        # Whoever asked may be gone meanwhile: a long search ends then, too.
        connection.set_progress_handler(is_given_up, _STEPS_BETWEEN_LOOKS)

    def _disconnect(self) -> None:
        self._life += 1
        with contextlib.suppress(queue.Empty):
            while True:
                self._readers.get_nowait().close()
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    @contextlib.contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            text = f"the history {self.path} cannot be used: {error}"
            code = getattr(error, "sqlite_errorname", "")
            if code in _FULL:
                raise DiskFullError(text) from error
            if code in _DAMAGED or "malformed" in str(error):
                raise DamagedError(text, code="history-damaged") from error
            raise StorageError(text) from error
        except OSError as error:
            raise StorageError(f"the history {self.path} cannot be used: {error.strerror}") from None


def _identity_of(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _take_lock(path: Path) -> int:
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror}") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise StorageError(
            f"another board uses the history in {path.parent}; stop it, "
            "or name another directory with --state-dir"
        ) from None
    return handle
