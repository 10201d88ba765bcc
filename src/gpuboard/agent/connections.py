"""The connections of a listening agent: few, each with a deadline, and none that keeps the board out."""

import contextlib
import logging
import socket
import threading
import time
from collections.abc import Callable
from typing import Final

from gpuboard.model.address import customer

log = logging.getLogger(__name__)

MAX_CONNECTIONS: Final = 32
MAX_OF_ONE_PEER: Final = 8
# For a whole request and its answer, from the first byte or from the answer before; however slowly they come.
REQUEST_SECONDS: Final = 10.0
TELL_SECONDS: Final = 60.0


class ServedConnection:
    """One connection, and until when it has to have asked."""

    def __init__(self, line: socket.socket, peer: str, deadline: float) -> None:
        self.line = line
        self.peer = peer
        self.deadline = deadline
        # Whoever has shown the token is not cut off for others.
        self.has_token = False

    def cut(self) -> None:
        """End it, whatever its thread is waiting for."""
        with contextlib.suppress(OSError):
            # Not TLS's own way: that would wait for the other side, and belongs to its thread.
            socket.socket.shutdown(self.line, socket.SHUT_RDWR)


class Connections:
    """All connections that are open; for several threads."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._open: list[ServedConnection] = []
        self._lock = threading.Lock()
        self._told_at = float("-inf")

    @property
    def open(self) -> tuple[ServedConnection, ...]:
        """Who is here, the oldest first."""
        with self._lock:
            return tuple(self._open)

    def enter(self, line: socket.socket, address: str) -> ServedConnection | None:
        """Let a connection in; the oldest that has shown no token makes room for it. None: there is none."""
        peer = customer(address)
        with self._lock:
            neighbours = [one for one in self._open if one.peer == peer]
            crowd = neighbours if len(neighbours) >= MAX_OF_ONE_PEER else self._open
            if crowd is neighbours or len(self._open) >= MAX_CONNECTIONS:
                oldest = next((one for one in crowd if not one.has_token), None)
                self._tell(address)
                if oldest is None:
                    return None
                self._open.remove(oldest)
                oldest.cut()
            connection = ServedConnection(line, peer, self._clock() + REQUEST_SECONDS)
            self._open.append(connection)
            return connection

    def leave(self, connection: ServedConnection) -> None:
        """Hear that a connection has ended."""
        with self._lock, contextlib.suppress(ValueError):
            self._open.remove(connection)

    def begin_anew(self, connection: ServedConnection) -> None:
        """Hear that a request has been answered: there is time for another."""
        connection.deadline = self._clock() + REQUEST_SECONDS

    def cut_late(self) -> None:
        """Cut off whoever has not asked in time, or does not take the answer."""
        now = self._clock()
        with self._lock:
            for connection in self._open:
                if now > connection.deadline:
                    connection.cut()

    def _tell(self, address: str) -> None:
        if self._clock() - self._told_at >= TELL_SECONDS:
            self._told_at = self._clock()
            log.warning("too many connections, the oldest without a token is cut: peer=%s", address)
