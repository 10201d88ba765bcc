"""Connections to a PostgreSQL server: made with patience, never waited for without end."""

import contextlib
import os
import socket
import threading
import time
from typing import Any, Final, Self

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import ExecStatus

from gpuboard.model.errors import OutsideError, SettingsError, StorageAwayError
from gpuboard.outside.backoff import Backoff
from gpuboard.outside.files import user_path
from gpuboard.outside.secrets import read_shared_secret

CONNECT_SECONDS: Final = 5
FIRST_RETRY_SECONDS: Final = 0.5
LONGEST_RETRY_SECONDS: Final = 15.0
# The server itself ends a statement after so long, and so it does with a client that forgets to go on.
STATEMENT_SECONDS: Final = 10
FORGOTTEN_SECONDS: Final = 30
# A server that says nothing for so long, whatever it promised, has its connection cut.
DEADLINE_SECONDS: Final = 20.0
# How libpq encrypts.
SSL_MODES: Final = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")

PsycopgConnection = psycopg.Connection[Any]

# Keepalives: a machine that vanished is noticed by us, and by the server, which lets go of its locks then.
_CONNECTION: Final[dict[str, str | int]] = {
    "connect_timeout": CONNECT_SECONDS,
    "client_encoding": "UTF8",
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}
_SESSION: Final = {
    "statement_timeout": f"{STATEMENT_SECONDS}s",
    "idle_in_transaction_session_timeout": f"{FORGOTTEN_SECONDS}s",
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
}
_SET_UP: Final = "SELECT " + ", ".join(["set_config(%s, %s, false)"] * len(_SESSION))


def check_url(url: str) -> None:
    """Make sure that libpq understands what the settings say of the server.

    Raises:
        SettingsError: it does not, and would never connect.
    """
    try:
        mode = conninfo_to_dict(url).get("sslmode", SSL_MODES[0])
    except psycopg.Error as error:
        raise SettingsError(f"[storage] url: {in_one_line(error)}") from None
    if mode not in SSL_MODES:
        raise SettingsError(f"[storage] url: sslmode={mode}: use one of {', '.join(SSL_MODES)}")


class PostgresConnector:
    """Connects, one at a time; after a failure it fails at once for a while, longer each time."""

    def __init__(self, url: str, name: str, password_file: str | None) -> None:
        self._url = url
        self._name = name
        self._password_file = password_file
        self._connecting = threading.Lock()
        self._backoff = Backoff(FIRST_RETRY_SECONDS, limit=LONGEST_RETRY_SECONDS)
        self._next_try = float("-inf")
        self._why = ""

    def connect(self, application: str = "gpuboard") -> PsycopgConnection:
        """A new connection; the transactions on it are those that we begin.

        Raises:
            StorageAwayError: the server does not let us in now; says why.
        """
        with self._connecting:
            if time.monotonic() >= self._next_try:
                try:
                    connection = self._try(application)
                except (psycopg.Error, OutsideError) as error:
                    self._why = in_one_line(error)
                    self._next_try = time.monotonic() + self._backoff.failed()
                else:
                    self._backoff.succeeded()
                    return connection
            raise StorageAwayError(f"the database {self._name} cannot be reached: {self._why}")

    def _try(self, application: str) -> PsycopgConnection:
        # Read each time: it may have been changed while the board runs.
        file = self._password_file
        secret = {} if file is None else {"password": read_shared_secret(user_path(file))}
        whole = make_conninfo(self._url, application_name=application, **_CONNECTION, **secret)
        connection: PsycopgConnection = psycopg.connect(whole, autocommit=True)
        try:
            with Deadline(connection):
                connection.execute(_SET_UP, [each for pair in _SESSION.items() for each in pair])
        except BaseException:
            connection.close()
            raise
        return connection


class Deadline:
    """Cuts a connection unless it is over in time: a server that is frozen keeps its promises no longer."""

    def __init__(self, connection: PsycopgConnection) -> None:
        # A handle of our own, so that it is never that of another connection.
        self._socket = socket.socket(fileno=os.dup(connection.fileno()))
        self._timer = threading.Timer(DEADLINE_SECONDS, self._cut)
        self._timer.daemon = True
        self._timer.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.over()

    def over(self) -> None:
        """The server has answered."""
        self._timer.cancel()
        self._socket.close()

    def _cut(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)


def answers(connection: PsycopgConnection) -> bool:
    """Whether the server still knows this connection."""
    try:
        with Deadline(connection):
            return connection.pgconn.exec_(b"").status == ExecStatus.EMPTY_QUERY
    except (OSError, psycopg.Error):
        return False


def in_one_line(error: BaseException) -> str:
    """What an error says, without what it says below."""
    return " ".join(str(error).split())[:300]
