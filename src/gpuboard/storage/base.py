"""What the board asks of its database, whichever it is. Every call but `run` blocks: always in a thread."""

import abc
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, TypeVar

import msgspec
from msgspec import Struct
from sqlalchemy import Connection, Engine, Row, event, insert, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoConnectionFree

from gpuboard.model.errors import OutsideError, StorageError
from gpuboard.model.verdict import Reason
from gpuboard.outside.threads import Workers
from gpuboard.storage.tables import FACTS

# So many looks at once; each part of the board takes one at a time, and so do a few people who ask.
THREADS: Final = 8
# Writers come one after the other in any case: those that wait take neither a thread nor a connection.
WRITING_THREADS: Final = 1
# A call that takes longer hangs: it goes on in its thread, and whoever asked is told.
PATIENCE_SECONDS: Final = 30.0
DAMAGED: Final = (
    "it is damaged: stop the board, and put a copy back (gpuboard restore FILE), or move it away and enroll "
    "nodes anew"
)


Kind = TypeVar("Kind", bound=Struct)
Value = TypeVar("Value")


class Before(NamedTuple):
    """What a copy took the place of."""

    path: Path
    # Set aside as it was found; else it is a copy itself.
    is_damaged: bool = False
    # There was no file, only the journal of one.
    is_journal: bool = False


class Run(Protocol):
    """Runs a call that blocks in one of the database's threads."""

    def __call__(self, call: Callable[[], Value], *, is_write: bool = False) -> Awaitable[Value]:
        """Wait for what the call returns."""


class Database(abc.ABC):
    """Transactions on the board's tables; several processes may have it open at once, of boards one."""

    def __init__(self, name: str, engine: Engine) -> None:
        # What people know it by; never with a secret in it.
        self.name = name
        self._engine = engine
        self._readers = Workers(THREADS, patience=PATIENCE_SECONDS)
        self._writers = Workers(WRITING_THREADS, patience=PATIENCE_SECONDS)
        event.listen(engine, "begin", self._begin)

    async def run(self, call: Callable[[], Value], *, is_write: bool = False) -> Value:
        """Run a call of a store on this database in one of its threads, and wait for what it returns.

        Each call of a store is one transaction. Those that write queue among themselves, in the order in
        which they came; who only reads waits for none of them.

        Raises:
            StorageError: the database cannot be used, or does not answer.
        """
        try:
            return await (self._writers if is_write else self._readers).run(lambda _: call())
        except OutsideError:
            raise StorageError(f"the database {self.name} does not answer", code="storage-hung") from None

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
        """One transaction: done whole, or not at all when the block raises; one after the other.

        Raises:
            StorageError: the database cannot be written.
        """
        with (
            self._in_words(),
            self._engine.connect().execution_options(gpuboard_write=True) as connection,
            connection.begin(),
        ):
            yield connection

    def fact(self, name: str) -> str | None:
        """A small fact about the board, by name."""
        with self.read() as connection:
            return connection.scalar(select(FACTS.c.value).where(FACTS.c.name == name))

    def set_fact(self, name: str, value: str) -> None:
        """Note a small fact about the board."""
        with self.write() as connection:
            set_fact(connection, name, value)

    @abc.abstractmethod
    def open(self, *, as_board: bool = False) -> None:
        """Make the tables, or bring them up to date, if need be; a board also keeps other boards out.

        May be tried again when it failed.

        Raises:
            StorageAwayError: the database does not answer now; the next try may succeed.
            StorageError: it cannot be used, or another board uses it.
        """

    @abc.abstractmethod
    def exists(self) -> bool:
        """Whether a board has ever made its tables there; makes none itself.

        Raises:
            StorageError: one cannot tell.
        """

    @abc.abstractmethod
    def has_board(self) -> bool:
        """Whether a board runs on it just now.

        Raises:
            StorageError: one cannot tell.
        """

    @abc.abstractmethod
    def find_damage(self) -> str | None:
        """What is wrong with the database as a whole, in words; None when nothing was found."""

    @abc.abstractmethod
    def find_loss(self) -> Reason | None:
        """Why what is written now may be lost: the database is another, or another's; None: it is not.

        Raises:
            StorageError: one cannot tell.
        """

    @abc.abstractmethod
    def backup(self, file: Path) -> None:
        """Write a copy of one moment to a file, also while a board runs.

        Raises:
            StorageError: it cannot be made here; says how else.
        """

    @abc.abstractmethod
    def restore(self, file: Path) -> Before | None:
        """Put a copy back, also over what is damaged; what was there before, if anything. No board may run.

        Raises:
            StorageError: it cannot be put back; says why, or how else.
        """

    @abc.abstractmethod
    def close(self) -> None:
        """Let go of it, and let another board have it."""

    @abc.abstractmethod
    def _begin_transaction(self, connection: Connection, *, is_write: bool) -> None:
        """Begin as `read` and `write` promise."""

    @abc.abstractmethod
    def _explain(self, error: DBAPIError) -> StorageError:
        """What the driver says, in words for people."""

    def _begin(self, connection: Connection) -> None:
        is_write = bool(connection.get_execution_options().get("gpuboard_write"))
        self._begin_transaction(connection, is_write=is_write)

    @contextlib.contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise self._explain(error) from error
        except NoConnectionFree:
            raise StorageError(f"the database {self.name} does not answer", code="storage-hung") from None


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
