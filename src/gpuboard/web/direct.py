"""Messages answered straight from the wire, without the queue and the task that usually lie in between.

Agents talk much more than everybody else together, and always in the same simple way: one whole binary frame,
one answer. Whatever is not as simple as that takes the ordinary way, from there to the end of the connection.
Messages of many connections that come within a moment are answered in one go: what answers them, and what it
reads, is then still in the caches of the processor.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, Final
from weakref import WeakKeyDictionary

from litestar.types import Scope
from websockets import frames
from websockets.frames import Frame, Opcode
from websockets.http11 import Request

from gpuboard.web.deadline_socket import DeadlineSocket
from gpuboard.wire.ingest import MAX_MESSAGE_BYTES

# None: this message and all that follow shall take the ordinary way.
DirectAnswer = Callable[[bytes], bytes | None]

log = logging.getLogger(__name__)

# Short for whoever waits for an answer, long enough for ten messages at 1,000 a second.
GATHER_SECONDS: Final = 0.01

_EXTENSION: Final = "gpuboard.direct"
_SWITCHING_PROTOCOLS: Final = 101
# The first byte of a whole binary message, and those of close, ping and pong.
_BINARY: Final = 0x82
_CONTROL: Final = frozenset({0x88, 0x89, 0x8A})
# The second byte says that the rest is masked, as all is that clients send, and how long it is. Long frames
# have their length after it; the mask comes next.
_MASKED: Final = 0x80
_LONGEST_SHORT: Final = 125
_LENGTH_BYTES: Final = {126: 2, 127: 8}
_MASK_BYTES: Final = 4
_MANY_BYTES: Final = 4096
# The compiled one, where there is one.
_unmask: Final[Callable[[bytes, bytes], bytes]] = frames.apply_mask  # type: ignore[attr-defined]


def answer_directly(scope: Scope, answer: DirectAnswer) -> None:
    """Let this answer the messages of a connection from now on, if its server knows the short way."""
    extensions: Mapping[str, Any] = scope.get("extensions") or {}
    if _EXTENSION in extensions:
        extensions[_EXTENSION]["begin"](answer)


class DirectSocket(DeadlineSocket):
    """A WebSocket with a short way for simple messages."""

    _answer: DirectAnswer | None = None
    _round: "_Round"
    # What has come and was not answered yet; the end of it may be half a message.
    _waiting = b""
    # Answers that are sent when the round is over.
    _answers = b""

    def handle_connect(self, event: Request) -> None:
        """Offer the short way to whoever serves this connection."""
        super().handle_connect(event)
        if self.response.status_code == _SWITCHING_PROTOCOLS:
            extensions = self.scope["extensions"]
            assert extensions is not None  # noqa: S101 - tells the type checker
            extensions[_EXTENSION] = {"begin": self._begin}

    def data_received(self, data: bytes) -> None:
        """Keep what has come until the next round; more than one message can be is dealt with at once."""
        if self._answer is None:
            super().data_received(data)
            return
        self._waiting += data
        if len(self._waiting) > MAX_MESSAGE_BYTES:
            self.answer_waiting()
            self.send_answers()
        else:
            self._round.add(self)

    def eof_received(self) -> None:
        """Answer the last words of whoever leaves."""
        self.answer_waiting()
        self.send_answers()
        super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget what nobody waits for any more."""
        self._waiting = self._answers = b""
        super().connection_lost(exc)

    def answer_waiting(self) -> None:
        """Answer every whole message that has come; the begin of another waits for its end."""
        data, self._waiting = self._waiting, b""
        while data and self._is_direct():
            begin, end = _extent(data)
            if begin == 0:
                self._answer = None
            elif len(data) < end:
                self._waiting = data
                return
            elif data[0] in _CONTROL:
                self._hand_over(data[:end])
                data = data[end:]
            elif self._reply(_unmask(data[begin:end], data[begin - _MASK_BYTES : begin])):
                data = data[end:]
            else:
                self._answer = None
        if data:
            self._hand_over(data)

    def send_answers(self) -> None:
        """Send what has been answered."""
        answers, self._answers = self._answers, b""
        if answers and not self.transport.is_closing():
            self.transport.write(answers)

    def _hand_over(self, data: bytes) -> None:
        """Let the library deal with this; what was answered before goes before."""
        self.send_answers()
        super().data_received(data)

    def _begin(self, answer: DirectAnswer) -> None:
        self.speaks_for_a_node()
        # A node's answers are short, and the loop sends them in one go: nobody need hear of every byte.
        self.transport.set_write_buffer_limits(high=_MANY_BYTES)
        # What was said too early waits in the queue and has to be heard first.
        self._answer = answer if self.queue.empty() else None
        self._round = _rounds.setdefault(self.loop, _Round())

    def _is_direct(self) -> bool:
        return self._answer is not None and not self.close_sent and not self.transport.is_closing()

    def _reply(self, message: bytes) -> bool:
        if self._answer is None or not self.writable.is_set():
            return False
        answer = self._answer(message)
        if answer is None:
            return False
        self._answers += _frame(answer)
        if len(self._answers) > _MANY_BYTES:
            # Then it shows whether anybody reads them.
            self.send_answers()
        return True


class _Round:
    """The connections of one event loop on which something has come since the last round."""

    def __init__(self) -> None:
        self._sockets: dict[DirectSocket, None] = {}

    def add(self, socket: DirectSocket) -> None:
        """Let this connection take part in the next round."""
        if not self._sockets:
            socket.loop.call_later(GATHER_SECONDS, self._answer_all)
        self._sockets[socket] = None

    def _answer_all(self) -> None:
        sockets, self._sockets = self._sockets, {}
        for socket in sockets:
            _or_hang_up(socket, socket.answer_waiting)
        # In one go too: to send is long work for the kernel, and wakes up those who wait.
        for socket in sockets:
            _or_hang_up(socket, socket.send_answers)


def _or_hang_up(socket: DirectSocket, step: Callable[[], None]) -> None:
    """Do this for one connection; where it fails, the others go on."""
    try:
        step()
    except Exception:
        # What was not acknowledged comes again.
        log.exception("message not answered: address=%s", socket.client)
        socket.transport.abort()


_rounds: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, _Round]] = WeakKeyDictionary()


def _frame(answer: bytes) -> bytes:
    if len(answer) <= _LONGEST_SHORT:
        return bytes((_BINARY, len(answer))) + answer
    return Frame(Opcode.BINARY, answer).serialize(mask=False)


def _extent(data: bytes) -> tuple[int, int]:
    """Where the payload of the first frame begins and ends, as far as one can see; zeros: not simple."""
    if len(data) < 2:  # noqa: PLR2004 - the two bytes that every frame begins with
        return 2, 2
    size = data[1] & ~_MASKED
    is_simple = data[0] == _BINARY or (data[0] in _CONTROL and size <= _LONGEST_SHORT)
    if not is_simple or not data[1] & _MASKED:
        return 0, 0
    length_bytes = _LENGTH_BYTES.get(size, 0)
    begin = 2 + length_bytes + _MASK_BYTES
    if length_bytes:
        if len(data) < begin:
            return begin, begin
        size = int.from_bytes(data[2 : 2 + length_bytes])
    return (begin, begin + size) if size <= MAX_MESSAGE_BYTES else (0, 0)
