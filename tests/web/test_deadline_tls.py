"""TLS that nobody agrees on: a connection has its deadline and its room from the first moment on."""

import contextlib
import socket
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gpuboard.web import deadline, deadline_tls
from gpuboard.web.deadline import DeadlineProtocol
from gpuboard.web.deadline_socket import let_in
from gpuboard.web.direct import DirectSocket
from gpuboard.web.room import Room
from tests.hostile.floods import KEY
from tests.pushing import wait_until
from tests.serving import serving
from tests.tls import Authority
from tests.web.test_deadline import Application, ask


class Secured:
    """The smallest application behind TLS."""

    def __init__(self, port: int, ca_file: Path) -> None:
        self._port = port
        self._context = ssl.create_default_context(cafile=ca_file)

    def connect(self, source: str = "127.0.0.1") -> socket.socket:
        """A connection that says nothing yet."""
        return socket.create_connection(("127.0.0.1", self._port), timeout=5, source_address=(source, 0))

    def secure(self, line: socket.socket) -> ssl.SSLSocket:
        """Agree on TLS."""
        return self._context.wrap_socket(line, server_hostname="127.0.0.1")

    def secure_and_say(self, line: socket.socket, words: bytes) -> Callable[[], bytes]:
        """Agree on TLS, and send the last of that together with the first words; what reads the answer."""
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = self._context.wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")

        def read() -> bytes:
            while True:
                with contextlib.suppress(ssl.SSLWantReadError):
                    return tls.read(1000)
                incoming.write(line.recv(65536))

        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                line.sendall(outgoing.read())
                incoming.write(line.recv(65536))
        tls.write(words)
        line.sendall(outgoing.read())
        return read


@contextlib.contextmanager
def server(folder: Path, room: Room, loop: str, application: object = None) -> Iterator[Secured]:
    """A server with a certificate, on one of the event loops."""
    authority = Authority(folder)
    certificate, key = authority.certificate("127.0.0.1")
    options = {"ssl_certfile": str(certificate), "ssl_keyfile": str(key), "log_config": None, "loop": loop}
    application = application or Application(room)
    with serving(application, http=DeadlineProtocol, ws=DirectSocket, **options) as port:
        yield Secured(port, authority.ca_file)


@pytest.fixture(params=["uvloop", "asyncio"])
def loop(request: pytest.FixtureRequest) -> str:
    """Each event loop that the board may run on."""
    return str(request.param)


def is_over(line: socket.socket) -> bool:
    """Whether the other side hangs up without a word."""
    try:
        return line.recv(100) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("words", [b"", b"\x16\x03\x01"], ids=["silent", "half a handshake"])
def test_a_handshake_that_does_not_end_is_ended(
    tmp_path: Path, loop: str, words: bytes, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As soon as one without TLS, and the log says so once."""
    caplog.set_level("INFO")
    monkeypatch.setattr(deadline_tls, "HANDSHAKE_SECONDS", 0.3)
    room = Room()
    with server(tmp_path, room, loop) as tls, tls.connect() as line:
        line.sendall(words)
        over = is_over(line)
        wait_until(lambda: not room._here)
    assert over
    assert [record.getMessage() for record in caplog.records] == [
        "connection cut: address=127.0.0.1 reason=its TLS was not agreed on in time"
    ]


@pytest.mark.parametrize(("most", "most_of_one"), [(100, 3), (3, 100)], ids=["one address", "all"])
def test_silent_connections_make_room_for_who_agrees(
    tmp_path: Path, loop: str, most: int, most_of_one: int
) -> None:
    """The oldest goes before it has said a word; whoever comes is served, again and again."""
    room = Room(most=most, most_of_one=most_of_one, is_limited=lambda _address: True)
    with server(tmp_path, room, loop) as tls, contextlib.ExitStack() as stack:
        silent = [stack.enter_context(tls.connect()) for _ in range(5)]
        newest = stack.enter_context(tls.secure(tls.connect()))
        answers = [ask(newest)[-2:] for _ in range(3)]
        first = is_over(silent[0])
        counted = len(room._here)
    assert (answers, first, counted) == ([b"hi"] * 3, True, 3)


def test_a_connection_behind_tls_is_counted_once(tmp_path: Path, loop: str) -> None:
    """And no longer than it is there."""
    room = Room(most_of_one=1, is_limited=lambda _address: True)
    with server(tmp_path, room, loop) as tls:
        for _ in range(3):
            with tls.secure(tls.connect()) as line:
                assert ask(line).endswith(b"hi")
                assert len(room._here) == 1
        wait_until(lambda: not room._here)


def test_who_speaks_no_tls_or_leaves_is_forgotten(
    tmp_path: Path, loop: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Without a line in the log: browsers do that all the time."""
    room = Room()
    with server(tmp_path, room, loop) as tls:
        with tls.connect() as plain:
            plain.sendall(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
            assert b"HTTP" not in plain.recv(100)
        tls.connect().close()
        wait_until(lambda: not room._here)
    assert caplog.records == []


def test_an_address_that_agrees_on_tls_too_often_is_refused_and_no_other(
    tmp_path: Path, loop: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Before it costs anything, and with one line in the log; a moment later it is welcome again."""
    caplog.set_level("INFO")
    monkeypatch.setattr(deadline_tls, "TLS_PER_SECOND", 2.0)
    monkeypatch.setattr(deadline_tls, "TLS_BURST", 3.0)
    room = Room(is_limited=lambda _address: True)
    with server(tmp_path, room, loop) as tls:
        for _ in range(3):
            with tls.secure(tls.connect()) as line:
                assert ask(line).endswith(b"hi")
        for _ in range(5):
            with tls.connect() as hasty:
                assert is_over(hasty)
        with tls.secure(tls.connect("127.0.0.2")) as other:
            assert ask(other).endswith(b"hi")

        def is_let_in() -> bool:
            with contextlib.suppress(OSError), tls.secure(tls.connect()) as line:
                return ask(line).endswith(b"hi")
            return False

        wait_until(is_let_in)
    cut = [record.getMessage() for record in caplog.records]
    assert cut == ["connection cut: address=127.0.0.1 reason=its address agrees on TLS too often"]


async def accept(_scope: object, receive: Any, send: Any) -> None:  # noqa: ANN401 - ASGI's own
    """Let a WebSocket in, and say nothing."""
    await receive()
    await send({"type": "websocket.accept"})
    let_in(_scope)  # type: ignore[arg-type]
    while (await receive())["type"] != "websocket.disconnect":
        pass


def test_a_websocket_that_comes_with_the_end_of_its_handshake_stays(
    tmp_path: Path, loop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What TLS has still to send then is not an answer that nobody takes."""
    monkeypatch.setattr(deadline, "TAKE_SECONDS", 0.2)
    upgrade = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" + KEY + b"\r\n"
    with server(tmp_path, Room(), loop, accept) as tls, tls.connect() as line:
        read = tls.secure_and_say(line, upgrade)
        answer = read()
        line.settimeout(1)
        with pytest.raises(TimeoutError):
            read()
    assert answer.startswith(b"HTTP/1.1 101")
