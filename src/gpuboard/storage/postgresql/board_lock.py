"""One board per database: two would undo what the other writes down."""

import os
import socket
import time
from collections.abc import Callable
from typing import Final

import psycopg

from gpuboard.model.errors import StorageAwayError, StorageError
from gpuboard.storage.postgresql.connecting import Deadline, PsycopgConnection, answers, in_one_line

# Among all advisory locks of a database these are ours: "gpub" with a number.
_FAMILY: Final = 0x67707562
BOARD: Final = (_FAMILY, 1)
WRITER: Final = (_FAMILY, 2)
# The server may need a moment to see that the board before has ended.
PATIENCE_SECONDS: Final = 3.0
PAUSE_SECONDS: Final = 0.1
HOLDER: Final = """
    SELECT application_name FROM pg_locks JOIN pg_stat_activity USING (pid)
    WHERE locktype = 'advisory' AND classid = %s AND objid = %s AND granted
    AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


class BoardLock:
    """Held by a connection of its own; the server lets go of it however the board ends."""

    def __init__(self, name: str, connect: Callable[[str], PsycopgConnection]) -> None:
        self._name = name
        self._connect = connect
        self._connection: PsycopgConnection | None = None

    def take(self, *, patience: float = PATIENCE_SECONDS) -> None:
        """Take it, or see that we have it still.

        Raises:
            StorageAwayError: the server does not answer.
            StorageError: another board has it.
        """
        if self._connection is not None and answers(self._connection):
            return
        self.release()
        connection = self._connect(f"gpuboard on {socket.gethostname()[:30]}, process {os.getpid()}")
        try:
            self._take_on(connection, patience)
        except BaseException:
            connection.close()
            raise
        self._connection = connection

    def _take_on(self, connection: PsycopgConnection, patience: float) -> None:
        until = time.monotonic() + patience
        try:
            while not _is_taken(connection):
                if time.monotonic() >= until:
                    raise StorageError(
                        f"another board{_holder(connection)} uses the database {self._name}; stop it, or "
                        "give this one a database of its own with [storage] url",
                        code="storage-shared",
                    )
                time.sleep(PAUSE_SECONDS)
        except psycopg.Error as error:
            raise StorageAwayError(
                f"the database {self._name} cannot be used: {in_one_line(error)}"
            ) from None

    def release(self) -> None:
        """Let the next board have it."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _is_taken(connection: PsycopgConnection) -> bool:
    with Deadline(connection):
        row = connection.execute("SELECT pg_try_advisory_lock(%s, %s)", BOARD).fetchone()
    return row is not None and bool(row[0])


def _holder(connection: PsycopgConnection) -> str:
    with Deadline(connection):
        row = connection.execute(HOLDER, BOARD).fetchone()
    return f" ({row[0]})" if row is not None and row[0] else ""
