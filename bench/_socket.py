"""A WebSocket client that costs next to nothing, so that a load generator leaves the cores to the board."""

import asyncio
import struct
from collections.abc import Callable
from typing import Final, cast

# A mask of zeros leaves the payload as it is: legal, and nothing has to be computed.
_MASK: Final = bytes(4)
_BINARY: Final = 0x82
_PING: Final = 0x89
_PONG: Final = 0x8A
_CLOSE: Final = 0x88
_MASKED: Final = 0x80
_SHORT: Final = 126
_LONG: Final = 127


class Socket(asyncio.Protocol):
    """One open WebSocket; whole messages go to `hear`."""

    def __init__(self, request: bytes, hear: Callable[[bytes], None]) -> None:
        self._request = request
        self._hear = hear
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None
        self._is_open = False
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.is_lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the upgrade."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.write(self._request)

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that the board hung up."""
        self.is_lost = True
        if not self.opened.done():
            self.opened.set_exception(exc or ConnectionError("the board hung up"))

    def data_received(self, data: bytes) -> None:
        """Hand on the messages that are complete now."""
        self._buffer += data
        if not self._is_open and not self._open():
            return
        while (end := self._frame_end()) is not None:
            start, stop = end
            kind, payload = self._buffer[0], bytes(self._buffer[start:stop])
            del self._buffer[:stop]
            if kind == _PING:
                self._write(_PONG, payload)
            elif kind == _CLOSE:
                raise ConnectionError(f"the board closed the line: {payload[2:].decode()}")
            elif kind != _PONG:
                self._hear(payload)

    def send(self, message: bytes) -> None:
        """Send one binary message."""
        self._write(_BINARY, message)

    def close(self) -> None:
        """Hang up."""
        if self._transport is not None:
            self._transport.close()

    def _open(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return False
        status = bytes(self._buffer[: self._buffer.find(b"\r\n")]).decode()
        if " 101 " not in f"{status} ":
            self.opened.set_exception(ConnectionError(f"no WebSocket: {status}"))
            return False
        del self._buffer[: end + 4]
        self._is_open = True
        self.opened.set_result(None)
        return True

    def _frame_end(self) -> tuple[int, int] | None:
        """Where the payload of the first frame starts and stops; None while it is not whole."""
        buffer = self._buffer
        if len(buffer) < 2:
            return None
        length, start = buffer[1], 2
        if length == _SHORT:
            if len(buffer) < (start := 4):
                return None
            length = int.from_bytes(buffer[2:4])
        elif length == _LONG:
            if len(buffer) < (start := 10):
                return None
            length = int.from_bytes(buffer[2:10])
        return (start, start + length) if len(buffer) >= start + length else None

    def _write(self, kind: int, payload: bytes) -> None:
        assert self._transport is not None
        size = len(payload)
        if size < _SHORT:
            head = struct.pack("!BB", kind, _MASKED | size)
        elif size < 1 << 16:
            head = struct.pack("!BBH", kind, _MASKED | _SHORT, size)
        else:
            head = struct.pack("!BBQ", kind, _MASKED | _LONG, size)
        self._transport.write(head + _MASK + payload)


async def connect(port: int, path: str, hear: Callable[[bytes], None], *, token: str | None = None) -> Socket:
    """Open a WebSocket on this machine."""
    authorization = f"Authorization: Bearer {token}\r\n" if token else ""
    request = (
        f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n{authorization}\r\n"
    )
    loop = asyncio.get_running_loop()
    _, socket = await loop.create_connection(lambda: Socket(request.encode(), hear), "127.0.0.1", port)
    async with asyncio.timeout(30):
        await socket.opened
    return socket
