"""Requests must arrive, and answers be taken, in time and in size: what uvicorn itself does not limit.

docs/decisions/0007-limits-below-the-framework.md says why this stands on uvicorn's own protocols.
"""

import asyncio
import logging
import socket
import struct
from collections.abc import Callable
from typing import Final
from weakref import WeakKeyDictionary

from httptools import HttpParserError, HttpParserUpgrade
from uvicorn import Config
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from gpuboard.web.limits import (
    ANSWER_SEND_BUFFER_BYTES,
    MAX_HEAD_BYTES,
    MAX_HEADERS,
    MAX_PIPELINED,
    REQUEST_SECONDS,
    TAKE_BYTES,
    TAKE_SECONDS,
)
from gpuboard.web.room import Room

log = logging.getLogger(__name__)

_TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
)
_TOO_SLOW: Final = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_NO_ROOM: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 5\r\ncontent-length: 0\r\n\r\n"
)

_rooms: Final[WeakKeyDictionary[Config, Room]] = WeakKeyDictionary()


def room_of(config: Config) -> Room:
    """The room of a server: the application's own, if it has one."""
    room = _rooms.get(config)
    if room is None:
        room = _rooms[config] = getattr(config.app, "room", None) or Room()
    return room


def cut_off(transport: asyncio.Transport) -> None:
    """End a connection at once: to close it would mean to wait until the rest has been taken."""
    connection = transport.get_extra_info("socket")
    if connection is not None:
        # Nothing may be left, even in the kernel.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


def limit_send_buffer(transport: asyncio.BaseTransport, size: int) -> None:
    """Let the kernel keep no more than this of what is not taken."""
    connection = transport.get_extra_info("socket")
    if connection is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, size)


class DeadlineProtocol(HttpToolsProtocol):
    """HTTP as uvicorn speaks it, with an end to patience from the first byte (or the connection) on."""

    # What is to be done when TLS is agreed on, before this takes over.
    before_it_is_made: Callable[[], None] | None = None
    _arriving: asyncio.TimerHandle | None = None
    _untaken: asyncio.TimerHandle | None = None
    _answering: RequestResponseCycle | None = None
    # What has come of a request that is no body: its head, the frames of its chunks, trailers.
    _head_bytes = 0
    _header_count = 0
    _is_head = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request, if there is room for one more who does."""
        if self.before_it_is_made is not None:
            self.before_it_is_made()
        super().connection_made(transport)
        limit_send_buffer(transport, ANSWER_SEND_BUFFER_BYTES)
        self._room = room_of(self.config)
        self._start()
        if not self._room.enter(self, self._peer()):
            self._give_up(_NO_ROOM)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop()
        self._stop_taking()
        self._room.leave(self)
        # uvicorn knows the last request only; the one that is being answered may be an earlier one.
        if self._answering is not None:
            self._answering.disconnected = True
            self._answering.message_event.set()
        self.pipeline.clear()
        super().connection_lost(exc)
        # Its requests know their connection: whatever a stranger leaves behind shall go at once, and not wait
        # for the garbage to be collected.
        self.cycle = self._answering = None  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        """Take in bytes, no more of a head than may be: one that is longer is not looked at to its end."""
        while data and not self.transport.is_closing() and self.transport.get_protocol() is self:
            room = MAX_HEAD_BYTES - self._head_bytes
            if room <= 0:
                self._give_up(_TOO_LARGE)
                return
            if not self._is_head:
                # Most of it will be body; byte by byte it would take for ever.
                room = MAX_HEAD_BYTES
            piece, data = data[:room], data[room:]
            self._head_bytes += len(piece)
            self._read(piece)

    def _read(self, data: bytes) -> None:
        """As uvicorn does, but whoever is cut meanwhile, or speaks no HTTP, has one line in the log."""
        self._unset_keepalive_if_required()
        try:
            self.parser.feed_data(data)
        except HttpParserUpgrade:
            if self._should_upgrade():
                self.handle_websocket_upgrade()
            else:
                self._unsupported_upgrade_warning()
        except HttpParserError:
            if not self.transport.is_closing():
                log.info("request refused: address=%s reason=it is no HTTP", self._peer())
                self.send_400_response("Invalid HTTP request received.")

    def on_message_begin(self) -> None:
        """The first bytes of a request are here."""
        super().on_message_begin()
        self._header_count = 0
        self._start()

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header more; those behind the body are counted and left out: the head was checked without."""
        self._header_count += 1
        if self._header_count > MAX_HEADERS:
            self._give_up(_TOO_LARGE)
            # Nothing else stops the parser, which has thousands more of them before it.
            raise ConnectionAbortedError
        if self._is_head:
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        """What is body is limited by whoever reads it."""
        # Not below zero: the begin of a request that came with the end of another was not counted.
        self._head_bytes = max(0, self._head_bytes - len(body))
        super().on_body(body)

    def on_headers_complete(self) -> None:
        """The head is here."""
        self._is_head = False
        if len(self.pipeline) >= MAX_PIPELINED:
            self.cut("too many requests at once on one connection")
            # Nothing else stops the parser, which has a thousand more of them before it.
            raise ConnectionAbortedError
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request has arrived whole."""
        self._stop()
        self._is_head, self._head_bytes = True, 0
        self._room.work(self)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request, if none is here already."""
        if not self.pipeline:
            self._room.wait(self)
        super().on_response_complete()

    def handle_websocket_upgrade(self) -> None:
        """From here on the WebSocket has its own deadlines."""
        self._stop()
        self._room.leave(self)
        super().handle_websocket_upgrade()
        # What still has to be sent of TLS itself may have made us wait; the WebSocket hears when it is gone.
        self._stop_taking()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def pause_writing(self) -> None:
        """The other side does not take what we send: begin to wait."""
        super().pause_writing()
        self._watch_taking()

    def resume_writing(self) -> None:
        """It has taken nearly everything."""
        self._stop_taking()
        super().resume_writing()

    def cut(self, reason: str) -> None:
        """End this connection now."""
        if self.transport.is_closing() and not self.transport.get_write_buffer_size():
            return
        log.info("connection cut: address=%s reason=%s", self._peer(), reason)
        if self.transport.get_write_buffer_size():
            cut_off(self.transport)
        else:
            self.transport.close()

    def _watch_taking(self) -> None:
        size = self.transport.get_write_buffer_size()
        if self._room.hold(self, size, self.loop.time()) and self._untaken is None:
            self._untaken = self.loop.call_later(TAKE_SECONDS, self._look_at_taking, size)

    def _look_at_taking(self, before: int) -> None:
        self._untaken = None
        if before - self.transport.get_write_buffer_size() < TAKE_BYTES:
            self.cut("its answer is not taken")
        else:
            self._watch_taking()

    def _stop_taking(self) -> None:
        if self._untaken is not None:
            self._untaken.cancel()
            self._untaken = None
            self._room.hold(self, 0, self.loop.time())

    def _start(self) -> None:
        if self._arriving is None:
            self._arriving = self.loop.call_later(REQUEST_SECONDS, self._give_up, _TOO_SLOW)

    def _stop(self) -> None:
        if self._arriving is not None:
            self._arriving.cancel()
            self._arriving = None

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
