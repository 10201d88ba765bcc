"""Requests must arrive, and answers be taken, in time and in size: what uvicorn itself does not limit."""

import asyncio
import socket
import struct
from collections import Counter
from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from gpuboard.model.address import is_loopback

REQUEST_SECONDS: Final = 10.0
MAX_HEAD_BYTES: Final = 64 * 1024
# How many requests of one address may be arriving at once; a proxy on this machine is not limited.
MAX_ARRIVING: Final = 64
# How long a WebSocket may leave untaken what we sent, and how much of it may wait in the kernel meanwhile.
TAKE_SECONDS: Final = 10.0
SEND_BUFFER_BYTES: Final = 64 * 1024

_TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
)
_TOO_SLOW: Final = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_TOO_MANY: Final = b"HTTP/1.1 429 Too Many Requests\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class DeadlineProtocol(HttpToolsProtocol):
    """HTTP as uvicorn speaks it, with an end to patience from the first byte (or the connection) on."""

    _arriving: Final[Counter[str]] = Counter()

    _timer: asyncio.TimerHandle | None = None
    _head_bytes = 0
    _is_head = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._start()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take in bytes; a head that never ends is cut off."""
        if self._is_head:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._is_head and self._head_bytes > MAX_HEAD_BYTES:
            self._give_up(_TOO_LARGE)

    def on_message_begin(self) -> None:
        """The first bytes of a request are here."""
        super().on_message_begin()
        self._start()

    def on_headers_complete(self) -> None:
        """The head is here; what follows is limited by whoever reads it."""
        self._is_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request has arrived whole."""
        self._stop()
        self._is_head, self._head_bytes = True, 0
        super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        """From here on the WebSocket has its own deadlines."""
        self._stop()
        super().handle_websocket_upgrade()

    def _start(self) -> None:
        if self._timer is not None:
            return
        self._timer = self.loop.call_later(REQUEST_SECONDS, self._give_up, _TOO_SLOW)
        peer = self._peer()
        self._arriving[peer] += 1
        if self._arriving[peer] > MAX_ARRIVING and not is_loopback(peer):
            self._give_up(_TOO_MANY)

    def _stop(self) -> None:
        if self._timer is None:
            return
        self._timer.cancel()
        self._timer = None
        peer = self._peer()
        self._arriving[peer] -= 1
        if self._arriving[peer] <= 0:
            del self._arriving[peer]

    def _give_up(self, answer: bytes) -> None:
        self._stop()
        if self.transport.is_closing():
            return
        # Words in the middle of another answer would only confuse.
        if not getattr(self.cycle, "response_started", False):
            self.transport.write(answer)
        self.transport.close()

    def _peer(self) -> str:
        return self.client[0] if self.client else ""


class DeadlineSocket(WebSocketsSansIOProtocol):
    """WebSockets as uvicorn speaks them, with an end to patience with whoever does not read."""

    _stuck: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Hear of every byte that the kernel does not take, and let it take few."""
        super().connection_made(transport)
        # Not 0: with TLS, uvloop takes 0 bytes that wait for too many, and may never say that they are gone.
        self.transport.set_write_buffer_limits(high=1, low=0)
        connection = transport.get_extra_info("socket")
        if connection is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._be_patient()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """The other side does not take what we send: begin to wait."""
        super().pause_writing()
        self._stuck = self._stuck or self.loop.call_later(TAKE_SECONDS, self._cut)

    def resume_writing(self) -> None:
        """It has taken everything."""
        self._be_patient()
        super().resume_writing()

    def _be_patient(self) -> None:
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None

    def _cut(self) -> None:
        # To close would mean to wait until the rest has been taken; nothing may be left, even in the kernel.
        connection = self.transport.get_extra_info("socket")
        if connection is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()
