"""The board's database on a PostgreSQL server."""

from pathlib import Path
from shlex import quote
from typing import Any, Final

from sqlalchemy import Connection, create_engine, event, inspect
from sqlalchemy.exc import DBAPIError, DisconnectionError

from gpuboard.model.errors import StorageAwayError, StorageError
from gpuboard.model.verdict import Reason
from gpuboard.storage.base import Before, Database
from gpuboard.storage.migrations import migrate
from gpuboard.storage.postgresql.board_lock import BOARD, HOLDER, WRITER, BoardLock
from gpuboard.storage.postgresql.connecting import Deadline, PostgresConnector, PsycopgConnection, answers
from gpuboard.storage.tables import SCHEMA_VERSIONS

# Kept open, and at most; a board asks rarely more than once at a time. One more holds the board's lock.
KEPT_CONNECTIONS: Final = 2
MORE_CONNECTIONS: Final = 2
# Whoever waits longer for one of them is told that the server does not answer.
QUEUE_SECONDS: Final = 10.0
# A server that only reads (it may become the first one), lacks room, or is being stopped.
_MAY_PASS: Final = ("25006", "53", "57P", "58")
_NOT_OURS: Final = "make the user in [storage] url its owner: ALTER DATABASE … OWNER TO …"


class PostgresDatabase(Database):
    """A database of its own on a server; the server is away now and then, and nothing waits for it."""

    def __init__(self, url: str, password_file: str | None = None) -> None:
        name = url.partition("?")[0]
        # Whole, for programs that have to reach it: its options may say where the server is. Settings refuse
        # one with a password.
        self._url = url
        self._connector = PostgresConnector(url, name, password_file)
        engine = create_engine(
            "postgresql+psycopg://",
            creator=self._connector.connect,
            pool_size=KEPT_CONNECTIONS,
            max_overflow=MORE_CONNECTIONS,
            pool_timeout=QUEUE_SECONDS,
            pool_use_lifo=True,
            use_native_hstore=False,
        )
        event.listen(engine, "connect", _note_new)
        event.listen(engine, "checkout", _check_out)
        event.listen(engine, "checkin", self._check_in)
        event.listen(engine, "invalidate", lambda driver, record, _: _end_deadline(driver, record))
        super().__init__(name, engine)
        self._lock = BoardLock(name, self._connector.connect)
        self._is_board = False
        self._is_closed = False

    def open(self, *, as_board: bool = False) -> None:
        """See that we are alone, if we are a board, and bring the tables up to date."""
        self._is_closed = False
        try:
            if as_board:
                self._lock.take()
                self._is_board = True
            with self.write() as connection:
                self._check_encoding(connection)
                migrate(connection)
        except BaseException:
            self.close()
            raise

    def exists(self) -> bool:
        """Whether our tables are there."""
        with self.read() as connection:
            return inspect(connection).has_table(SCHEMA_VERSIONS.name)

    def has_board(self) -> bool:
        """Whether somebody holds the lock."""
        with self.read() as connection:
            return connection.exec_driver_sql(HOLDER, BOARD).first() is not None

    def find_damage(self) -> str | None:
        """Nothing: looking after its files is the server's own business."""
        return None

    def find_loss(self) -> Reason | None:
        """Whether another board has come while the server or the way to it was gone."""
        try:
            if self._is_board:
                self._lock.take(patience=0.0)
        except StorageAwayError:
            raise
        except StorageError as error:
            return error.reason
        return None

    def backup(self, file: Path) -> None:
        """Copies of PostgreSQL are PostgreSQL's business."""
        raise StorageError(
            f"the database is PostgreSQL's, which has a program for that; run: pg_dump --format=custom "
            f"--file={quote(str(file))} {quote(self._url)}"
        )

    def restore(self, file: Path) -> Before:
        """The same."""
        raise StorageError(
            f"the database is PostgreSQL's, which has a program for that; stop the board and run: pg_restore "
            f"--clean --if-exists --dbname={quote(self._url)} {quote(str(file))}"
        )

    def close(self) -> None:
        """Let go of all connections, and so of the lock."""
        self._is_closed = True
        self._engine.dispose()
        self._lock.release()

    def _check_in(self, driver: PsycopgConnection | None, record: Any) -> None:  # noqa: ANN401 - the pool's own record
        _end_deadline(driver, record)
        if self._is_closed and driver is not None:
            # Of a call that was under way meanwhile; nobody else would close it.
            driver.close()

    def _begin_transaction(self, connection: Connection, *, is_write: bool) -> None:
        if is_write:
            # Writers queue at the start, as with SQLite: no two of them ever see the same row to change.
            connection.exec_driver_sql("BEGIN")
            connection.exec_driver_sql("SELECT pg_advisory_xact_lock(%s, %s)", WRITER)
        else:
            connection.exec_driver_sql("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def _explain(self, error: DBAPIError) -> StorageError:
        said = str(error.orig).partition("\n")[0]
        state = getattr(error.orig, "sqlstate", None) or ""
        remedy = f"; {_NOT_OURS}" if state == "42501" else ""
        text = f"the database {self.name} cannot be used: {said}{remedy}"
        may_pass = error.connection_invalidated or state.startswith(_MAY_PASS)
        return StorageAwayError(text) if may_pass else StorageError(text)

    def _check_encoding(self, connection: Connection) -> None:
        encoding = connection.exec_driver_sql("SHOW server_encoding").scalar()
        if encoding != "UTF8":
            raise StorageError(
                f"the database {self.name} keeps text as {encoding}, and UTF8 is needed; make one with: "
                "CREATE DATABASE gpuboard OWNER gpuboard ENCODING 'UTF8' TEMPLATE template0"
            )


def _note_new(_driver: PsycopgConnection, record: Any) -> None:  # noqa: ANN401 - the pool's own record
    record.info["is_new"] = True


def _check_out(driver: PsycopgConnection, record: Any, _proxy: object) -> None:  # noqa: ANN401 - the same
    if not record.info.pop("is_new", False) and not answers(driver):
        # The pool makes another one and comes again.
        raise DisconnectionError("the server has closed the connection")
    record.info["deadline"] = Deadline(driver)


def _end_deadline(_driver: PsycopgConnection | None, record: Any) -> None:  # noqa: ANN401 - the same
    deadline = record.info.pop("deadline", None)
    if deadline is not None:
        deadline.over()
