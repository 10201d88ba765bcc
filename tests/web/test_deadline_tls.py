"""TLS that nobody agrees on: a connection has its deadline and its room from the first moment on."""

import contextlib
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuboard.web import deadline_tls
from gpuboard.web.deadline import DeadlineProtocol
from gpuboard.web.room import Room
from tests.pushing import wait_until
from tests.serving import serving
from tests.tls import Authority
from tests.web.test_deadline import Application, ask


class Secured:
    """The smallest application behind TLS."""

    def __init__(self, port: int, ca_file: Path) -> None:
        self._port = port
        self._context = ssl.create_default_context(cafile=ca_file)

    def connect(self) -> socket.socket:
        """A connection that says nothing yet."""
        return socket.create_connection(("127.0.0.1", self._port), timeout=5)

    def secure(self, line: socket.socket) -> ssl.SSLSocket:
        """Agree on TLS."""
        return self._context.wrap_socket(line, server_hostname="127.0.0.1")


@contextlib.contextmanager
def server(folder: Path, room: Room, loop: str) -> Iterator[Secured]:
    """A server with a certificate, on one of the event loops."""
    authority = Authority(folder)
    certificate, key = authority.certificate("127.0.0.1")
    options = {"ssl_certfile": str(certificate), "ssl_keyfile": str(key), "log_config": None, "loop": loop}
    with serving(Application(room), http=DeadlineProtocol, **options) as port:
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
