"""WebSockets must be opened in time, say little, and take what they are sent: what uvicorn does not limit."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, Final

from litestar.types import Scope
from uvicorn._types import ASGISendEvent
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request

from gpuboard.outside.pace import RateBucket
from gpuboard.outside.stopwatch import Stopwatch
from gpuboard.web.deadline import cut_off, limit_send_buffer, room_of
from gpuboard.web.limits import (
    AGENT_FRAMES_BURST,
    AGENT_FRAMES_PER_SECOND,
    HANDSHAKE_SECONDS,
    SLICE_BYTES,
    SOCKET_SEND_BUFFER_BYTES,
    TAKE_SECONDS,
    VIEWER_BYTES_BURST,
    VIEWER_BYTES_PER_SECOND,
    VIEWER_CPU_SECONDS_BURST,
    VIEWER_CPU_SECONDS_PER_SECOND,
    VIEWER_FRAMES_BURST,
    VIEWER_FRAMES_PER_SECOND,
)

log = logging.getLogger(__name__)

_EXTENSION: Final = "gpuboard.let_in"
_BAD_HANDSHAKE: Final = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_SWITCHING_PROTOCOLS: Final = 101


def let_in(scope: Scope) -> None:
    """Say that this connection is somebody's from now on; until then it has seconds to live."""
    extensions: Mapping[str, Any] = scope.get("extensions") or {}
    if _EXTENSION in extensions:
        extensions[_EXTENSION]["let_in"]()


class DeadlineSocket(WebSocketsSansIOProtocol):
    """WebSockets as uvicorn speaks them, with an end to patience with whoever lingers, talks or is deaf."""

    _opening: asyncio.TimerHandle | None = None
    _stuck: asyncio.TimerHandle | None = None
    # None: an agent's, whose bytes and time are its node's affair.
    _bytes: RateBucket | None = None
    _time: RateBucket | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Hear of every byte that the kernel does not take, and let it take few."""
        super().connection_made(transport)
        # Not 0: with TLS, uvloop takes 0 bytes that wait for too many, and may never say that they are gone.
        self.transport.set_write_buffer_limits(high=1, low=0)
        limit_send_buffer(transport, SOCKET_SEND_BUFFER_BYTES)
        now = self.loop.time()
        self._frames = RateBucket(per_second=VIEWER_FRAMES_PER_SECOND, burst=VIEWER_FRAMES_BURST, now=now)
        self._bytes = RateBucket(per_second=VIEWER_BYTES_PER_SECOND, burst=VIEWER_BYTES_BURST, now=now)
        self._time = RateBucket(
            per_second=VIEWER_CPU_SECONDS_PER_SECOND, burst=VIEWER_CPU_SECONDS_BURST, now=now
        )
        self._stopwatch = Stopwatch()
        self._room = room_of(self.config)
        self._opening = self.loop.call_later(HANDSHAKE_SECONDS, self.cut, "it was not let in in time")
        if not self._room.enter(self, self._peer()):
            self.cut("there is no room for it")

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._let_in()
        self._be_patient()
        super().connection_lost(exc)

    def handle_connect(self, event: Request) -> None:
        """Let whoever serves this connection say that it is let in."""
        super().handle_connect(event)
        if self.response.status_code == _SWITCHING_PROTOCOLS:
            extensions = self.scope["extensions"]
            assert extensions is not None  # noqa: S101 - tells the type checker
            extensions[_EXTENSION] = {"let_in": self._let_in}

    def data_received(self, data: bytes) -> None:
        """Take in bytes, few at a time; who sends more than it can have to say is cut off."""
        if not self.handshake_initiated:
            super().data_received(data)
            self._check_handshake()
            return
        if self._bytes is not None and self._bytes.delay(self.loop.time(), len(data)):
            self.cut("it says more than it can have to say")
        for start in range(0, len(data), SLICE_BYTES):
            if self.transport.is_closing():
                return
            self._look_at(data[start : start + SLICE_BYTES])

    def _look_at(self, data: bytes) -> None:
        time = self._time
        # An agent's time is charged to its node, where its reports are read.
        if time is None:
            super().data_received(data)
            return
        started = self._stopwatch.start()
        super().data_received(data)
        if time.delay(self.loop.time(), self._stopwatch.stop(started)):
            self.cut("it takes too much of the board's time")

    def handle_events(self) -> None:
        """Deal with frames, if they are not too many."""
        if self.handshake_initiated and self._frames.delay(self.loop.time(), len(self.conn.events)):
            self.cut("it sends too many frames")
            return
        super().handle_events()

    def handle_parser_exception(self) -> None:
        """Say why it is over, or, to one who spoke nonsense before it was answered, nothing."""
        if self.conn.close_sent is None:
            self.cut("it does not speak WebSocket")
            return
        super().handle_parser_exception()

    async def send(self, message: ASGISendEvent) -> None:
        """Send, unless nobody is there any more: uvicorn notices later, and calls it a mistake."""
        if self.transport.is_closing():
            raise ClientDisconnected
        await super().send(message)

    def pause_writing(self) -> None:
        """The other side does not take what we send: begin to wait."""
        super().pause_writing()
        self._stuck = self._stuck or self.loop.call_later(TAKE_SECONDS, self.cut, "it does not read")

    def resume_writing(self) -> None:
        """It has taken everything."""
        self._be_patient()
        super().resume_writing()

    def cut(self, reason: str) -> None:
        """End this connection now."""
        if self.transport.is_closing() and not self.transport.get_write_buffer_size():
            return
        log.info("connection cut: address=%s reason=%s", self._peer(), reason)
        cut_off(self.transport)

    def speaks_for_a_node(self) -> None:
        """Allow as much as an agent may have to say."""
        self._bytes = self._time = None
        self._frames = RateBucket(
            per_second=AGENT_FRAMES_PER_SECOND, burst=AGENT_FRAMES_BURST, now=self.loop.time()
        )
        self._let_in()

    def _let_in(self) -> None:
        if self._opening is not None:
            self._opening.cancel()
            self._opening = None
        self._room.leave(self)

    def _check_handshake(self) -> None:
        # The library has given up on it, and would read on for ever.
        if self.conn.handshake_exc is not None and not self.handshake_initiated:
            self.transport.write(_BAD_HANDSHAKE)
            self.transport.close()

    def _be_patient(self) -> None:
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None

    def _peer(self) -> str:
        return self.client[0] if self.client else ""
