"""What a host sends over one connection, counted before anything else: no host may keep us busy."""

import asyncio
import time
from collections.abc import Callable
from typing import Final, TypeVar

import asyncssh

from gpuboard.outside.stopwatch import Stopwatch

# A login takes some kilobytes; a sample at most 256 KiB, every two seconds at most.
SPARE_BYTES: Final = 1024 * 1024
BYTES_PER_SECOND: Final = 256 * 1024
# Taking in and reading samples costs a hundredth of this. Packets without content cost us far more than
# their bytes say.
SPARE_SECONDS: Final = 1.0
BUSY_SHARE: Final = 0.05
# For every packet, asyncssh copies all that waits behind it: in small pieces that is little.
_PIECE_BYTES: Final = 8 * 1024
# Under this name a connection knows its meter.
_METER: Final = "gpuboard_meter"

Value = TypeVar("Value")


class FloodError(asyncssh.Error):
    """A host sends far more than it was asked for."""

    def __init__(self, what: str) -> None:
        super().__init__(asyncssh.DISC_BY_APPLICATION, what)


class Meter(asyncio.Protocol):
    """Stands between a socket and its ssh connection, and cuts it off beyond a measure."""

    def __init__(self, connection: asyncssh.SSHClientConnection) -> None:
        self._connection = connection
        self._receive = connection.data_received
        self._began = time.monotonic()
        self._bytes = 0
        self._busy = 0.0
        self._stopwatch = Stopwatch()
        self._is_cut = False
        connection.set_extra_info(**{_METER: self})

    @classmethod
    def put_before(cls, connection: asyncssh.SSHClientConnection) -> None:
        """Count what comes over a connection: its socket, or the command that stands for one.

        What comes through a jump host is counted there.
        """
        transport = connection._transport  # noqa: SLF001 - it has no other way to its transport
        meter = cls(connection)
        if isinstance(transport, asyncio.Transport) and transport.get_protocol() is connection:
            transport.set_protocol(meter)
        elif isinstance(transport, asyncio.SubprocessProtocol):
            # A ProxyCommand's output is handed to the connection itself, whoever else would like to have it.
            setattr(connection, "data_received", meter.data_received)  # noqa: B010 - mypy knows it as a method

    @classmethod
    def of(cls, connection: asyncssh.SSHClientConnection) -> "Meter":
        """The meter of a connection."""
        meter = connection.get_extra_info(_METER)
        return meter if isinstance(meter, cls) else cls(connection)

    def charge(self, work: Callable[[], Value]) -> Value:
        """Do some work on what the host has sent, which counts like taking it in."""
        started = self._stopwatch.start()
        try:
            return work()
        finally:
            self._busy += self._stopwatch.stop(started)
            self._is_within_measure()

    def data_received(self, data: bytes) -> None:
        """Count some bytes and hand them on."""
        self._bytes += len(data)
        for start in range(0, len(data), _PIECE_BYTES):
            if not self._is_within_measure():
                return
            started = self._stopwatch.start()
            self._receive(data[start : start + _PIECE_BYTES])
            self._busy += self._stopwatch.stop(started)

    def eof_received(self) -> None:
        """Hand on that no more will come."""
        self._connection.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """Hand on that the socket is gone."""
        self._connection.connection_lost(exc)

    def _is_within_measure(self) -> bool:
        passed = time.monotonic() - self._began
        if self._is_cut:
            return False
        if self._bytes > SPARE_BYTES + BYTES_PER_SECOND * passed:
            self._cut(f"{self._bytes} bytes within {passed:.1f} s")
        elif self._busy > SPARE_SECONDS + BUSY_SHARE * passed:
            self._cut(f"what it sends took {self._busy:.1f} s of our time within {passed:.0f} s")
        return not self._is_cut

    def _cut(self, what: str) -> None:
        self._is_cut = True
        self._connection.connection_lost(FloodError(what))
