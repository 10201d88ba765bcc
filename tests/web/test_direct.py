"""The short way for simple messages, and that all else takes the ordinary one; on a server of its own."""

import contextlib
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode
from websockets.sync.client import ClientConnection, connect

from gpuboard.web.direct import DirectSocket, answer_directly
from gpuboard.wire.ingest import MAX_MESSAGE_BYTES
from tests.serving import serving
from tests.tls import Authority


def answer(message: bytes) -> bytes | None:
    """Answer what is not odd."""
    if message == b"broken":
        raise RuntimeError("cannot answer that")
    return None if message == b"odd" else b"direct " + message


async def application(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - ASGI's own
    """Answer everything, and say by which way it came."""
    await receive()
    await send({"type": "websocket.accept"})
    answer_directly(scope, answer)
    while (message := await receive())["type"] == "websocket.receive":
        data = message.get("bytes") or message.get("text", "").encode()
        await send({"type": "websocket.send", "bytes": b"ordinary " + data})


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """A server that knows the short way."""
    with serving(application, ws=DirectSocket, ws_per_message_deflate=False) as chosen:
        yield chosen


@pytest.fixture
def line(port: int) -> Iterator[ClientConnection]:
    """A connection to it."""
    with connect(f"ws://127.0.0.1:{port}/", compression=None, close_timeout=1) as connection:
        yield connection


def frame(data: bytes, opcode: Opcode = Opcode.BINARY, *, fin: bool = True, mask: bool = True) -> bytes:
    """One frame as it travels."""
    return Frame(opcode, data, fin).serialize(mask=mask)


LONG: Final = b"l" * 70_000
HUGE: Final = b"h" * (MAX_MESSAGE_BYTES + 1)
OTHER: Final = frame(b"bcd")
PING: Final = frame(b"are you there", Opcode.PING)

CASES: Final[list[tuple[str, list[bytes], list[bytes]]]] = [
    ("one", [frame(b"a")], [b"direct a"]),
    ("an empty one", [frame(b"")], [b"direct "]),
    ("of 126 bytes", [frame(b"a" * 126)], [b"direct " + b"a" * 126]),
    ("a long one", [frame(LONG)], [b"direct " + LONG]),
    ("two at once", [frame(b"a") + frame(b"b")], [b"direct a", b"direct b"]),
    ("byte by byte", [bytes([byte]) for byte in frame(b"a" * 130)], [b"direct " + b"a" * 130]),
    ("one and a half", [frame(b"a") + OTHER[:4], OTHER[4:]], [b"direct a", b"direct bcd"]),
    ("with a ping between", [frame(b"a") + PING + frame(b"b")], [b"direct a", b"direct b"]),
    ("with half a ping", [PING[:5], PING[5:] + frame(b"b")], [b"direct b"]),
    ("odd", [frame(b"a") + frame(b"odd") + frame(b"b")], [b"direct a", b"ordinary odd", b"ordinary b"]),
    ("text", [frame(b"a", Opcode.TEXT) + frame(b"b")], [b"ordinary a", b"ordinary b"]),
    (
        "in pieces",
        [frame(b"a", fin=False) + PING + frame(b"b", Opcode.CONT) + frame(b"c")],
        [b"ordinary ab", b"ordinary c"],
    ),
    ("too large", [frame(HUGE) + frame(b"b")], [b"ordinary " + HUGE, b"ordinary b"]),
]


@pytest.mark.parametrize(
    ("packets", "answers"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_every_message_is_answered_once_and_in_order(
    line: ClientConnection, packets: list[bytes], answers: list[bytes]
) -> None:
    """Simple ones directly; from the first other one on, all by the ordinary way."""
    for packet in packets:
        line.socket.sendall(packet)
        if len(packets) > 1:
            time.sleep(0.002)
    assert [line.recv(timeout=30) for _ in answers] == answers
    with pytest.raises(TimeoutError):
        line.recv(timeout=0.05)


def test_a_ping_is_answered_beside_the_short_way(line: ClientConnection) -> None:
    """Or the other side would think us dead."""
    line.send(b"a")
    assert line.recv(timeout=30) == b"direct a"
    assert line.ping().wait(5)


def test_a_frame_without_mask_ends_the_line(line: ClientConnection) -> None:
    """As the protocol wants it."""
    line.socket.sendall(frame(b"a", mask=False))
    with pytest.raises(ConnectionClosed) as closed:
        line.recv(timeout=30)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1002


def test_after_good_bye_nothing_is_answered(line: ClientConnection) -> None:
    """What follows a close is nobody's."""
    goodbye = frame((1000).to_bytes(2), Opcode.CLOSE)
    line.socket.sendall(frame(b"a") + goodbye + frame(b"b"))
    heard = [line.recv(timeout=30)]
    with contextlib.suppress(ConnectionClosed):
        heard.append(line.recv(timeout=30))
    assert heard == [b"direct a"]


def test_who_reads_no_answers_is_not_answered_without_end(port: int) -> None:
    """Its messages then wait on its own side of the line, not in our memory."""
    with connect(f"ws://127.0.0.1:{port}/", compression=None, close_timeout=1, max_queue=1) as line:
        line.socket.settimeout(2)
        message = frame(b"x" * 65_000)
        sent = 0
        with contextlib.suppress(TimeoutError):
            for _ in range(2000):
                line.socket.sendall(message)
                sent += 1
    assert sent < 1000


def test_many_lines_that_speak_within_a_moment_are_all_answered(port: int) -> None:
    """Each once, with its own answer."""
    with contextlib.ExitStack() as stack:
        lines = [
            stack.enter_context(connect(f"ws://127.0.0.1:{port}/", compression=None, close_timeout=1))
            for _ in range(20)
        ]
        for number, line in enumerate(lines):
            line.socket.sendall(frame(b"%d" % number))
        assert [line.recv(timeout=30) for line in lines] == [b"direct %d" % number for number in range(20)]


def test_an_answer_that_fails_ends_its_own_line_only(port: int, line: ClientConnection) -> None:
    """Whoever speaks in the same moment is answered all the same."""
    with connect(f"ws://127.0.0.1:{port}/", compression=None, close_timeout=1) as broken:
        broken.socket.sendall(frame(b"broken"))
        line.socket.sendall(frame(b"a"))
        assert line.recv(timeout=30) == b"direct a"
        with pytest.raises(ConnectionClosed):
            broken.recv(timeout=30)


def test_who_hangs_up_at_once_is_still_answered(line: ClientConnection) -> None:
    """Its last words count."""
    line.socket.sendall(frame(b"a"))
    line.socket.shutdown(socket.SHUT_WR)
    assert line.recv(timeout=30) == b"direct a"


def test_over_tls_messages_are_answered_directly_again_and_again(tmp_path: Path) -> None:
    """An answer that has been sent does not stand in the way of the next."""
    authority = Authority(tmp_path)
    certificate, key = authority.certificate("127.0.0.1")
    trusted = ssl.create_default_context(cafile=authority.ca_file)
    options = {"ssl_certfile": certificate, "ssl_keyfile": key}
    with (
        serving(application, ws=DirectSocket, ws_per_message_deflate=False, loop="uvloop", **options) as port,
        connect(f"wss://127.0.0.1:{port}/", compression=None, ssl=trusted, close_timeout=1) as line,
    ):
        heard = []
        for _ in range(3):
            line.send(b"a")
            line.send(LONG)
            heard += [line.recv(timeout=30), line.recv(timeout=30)]
    assert heard == [b"direct a", b"direct " + LONG] * 3
