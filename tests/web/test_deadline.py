"""Limits below the framework, on a server of their own."""

import contextlib
import gc
import logging
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from gpuboard.web import deadline
from gpuboard.web.deadline import DeadlineProtocol
from gpuboard.web.room import Room
from tests.serving import serving
from tests.started import eventually


async def hello(_scope: Any, _receive: Any, send: Any) -> None:  # noqa: ANN401 - ASGI's own
    """The smallest application."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"hi"})


class Application:
    """The smallest application, with the room that a test gives it."""

    def __init__(self, room: Room) -> None:
        self.room = room

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - ASGI's own
        """Answer."""
        await hello(scope, receive, send)


@contextlib.contextmanager
def server(room: Room | None = None) -> Iterator[int]:
    """A server with these limits in a thread."""
    application = Application(room or Room())
    with serving(application, http=DeadlineProtocol, timeout_keep_alive=5, log_config=None) as port:
        yield port


def ask(line: socket.socket) -> bytes:
    """Ask once on a connection; nothing if it is closed."""
    with contextlib.suppress(OSError):
        line.sendall(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        answer = b""
        while not answer.endswith(b"hi") and (data := line.recv(1000)):
            answer += data
        return answer
    return b""


@pytest.mark.parametrize("half", [b"", b"GET / HTTP/1.1\r\n"], ids=["silent", "half a request"])
@pytest.mark.parametrize(("most", "most_of_one"), [(100, 3), (3, 100)], ids=["one address", "all"])
def test_who_waits_longest_makes_room_for_who_comes(half: bytes, most: int, most_of_one: int) -> None:
    """So that kept and half-open connections keep nobody out."""
    room = Room(most=most, most_of_one=most_of_one, is_limited=lambda _address: True)
    with server(room) as port, contextlib.ExitStack() as stack:
        lines = []
        for _ in range(5):
            lines.append(stack.enter_context(socket.create_connection(("127.0.0.1", port), 5)))
            lines[-1].sendall(half)
        newest = stack.enter_context(socket.create_connection(("127.0.0.1", port), 5))
        answered = ask(newest)
        first = lines[0].recv(100)
        again = ask(newest)
    assert (answered[-2:], first, again[-2:]) == (b"hi", b"", b"hi")


def test_whoever_goes_leaves_no_garbage_behind() -> None:
    """Thousands of strangers would fill the memory until it is looked through, and spread over all of it."""
    with server() as port:
        gc.collect()
        gc.disable()
        try:
            for _ in range(20):
                with socket.create_connection(("127.0.0.1", port), 5) as line:
                    assert ask(line).endswith(b"hi")
            # One that asks for more than it waits for, as those do who never read.
            with socket.create_connection(("127.0.0.1", port), 5) as line:
                line.sendall(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n" * 4)
            eventually(lambda: not any(isinstance(each, DeadlineProtocol) for each in gc.get_objects()))
        finally:
            gc.enable()


def test_every_request_on_a_kept_line_has_its_own_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second half request is ended too, without a word into the first one's answer."""
    monkeypatch.setattr(deadline, "REQUEST_SECONDS", 0.3)
    room = Room()
    with server(room) as port, socket.create_connection(("127.0.0.1", port), 5) as line:
        line.sendall(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        first = line.recv(1000)
        line.sendall(b"GET / HTTP/1.1\r\n")
        second = line.recv(1000)
    assert first.endswith(b"hi")
    assert second == b""
    assert not room._here


def talk(port: int, request: bytes) -> bytes:
    """Send this in one go; all that comes back until the server hangs up."""
    answer = b""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as line, contextlib.suppress(OSError):
        line.sendall(request)
        line.shutdown(socket.SHUT_WR)
        while data := line.recv(65536):
            answer += data
    return answer


@pytest.mark.parametrize(
    "before", [b"", b"POST / HTTP/1.1\r\ncontent-length: 2\r\n\r\nhi"], ids=["alone", "behind"]
)
@pytest.mark.parametrize("kilobytes", [150, 200])
def test_a_head_that_is_too_long_is_refused_though_it_comes_whole(kilobytes: int, before: bytes) -> None:
    """It is not read to its end; nor is one behind another request."""
    head = b"GET / HTTP/1.1\r\nhost: a\r\nx: " + b"y" * kilobytes * 1000 + b"\r\n\r\n"
    with server() as port:
        assert talk(port, before + head).count(b"200 OK") == (1 if before else 0)
        assert talk(port, head[:70_000]).startswith(b"HTTP/1.1 431")


def test_a_head_and_a_body_within_their_limits_are_read() -> None:
    """However they are cut into pieces on their way; the connection is good for the next request."""
    head = b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 200000\r\nx: " + b"y" * 60_000 + b"\r\n\r\n"
    with server() as port, socket.create_connection(("127.0.0.1", port), timeout=10) as line:
        line.sendall(head + b"z" * 200_000)
        assert ask(line).startswith(b"HTTP/1.1 200")
        assert ask(line).endswith(b"hi")


@pytest.mark.parametrize(
    ("nonsense", "line"),
    [
        (
            b"GET / HTTP/1.1\r\nhost: a\r\n\r\n" * 2000,
            "connection cut: address=127.0.0.1 reason=too many requests",
        ),
        (b"\x16\x03\x01 hello\r\n\r\n", "request refused: address=127.0.0.1 reason=it is no HTTP"),
    ],
    ids=["two thousand requests", "no HTTP"],
)
def test_who_is_cut_is_named_once(nonsense: bytes, line: str, caplog: pytest.LogCaptureFixture) -> None:
    """With its address; the server below has nothing to add."""
    with server() as port:
        caplog.set_level("INFO")
        logging.getLogger("uvicorn.error").setLevel("INFO")
        talk(port, nonsense)
        messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 1
    assert messages[0].startswith(line)


CHUNKED = b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n"
FRAMES = CHUNKED.removesuffix(b"0\r\n")


def seen_of(application: Any, request: bytes) -> bytes:  # noqa: ANN401 - ASGI's own
    """What an application on a server with these limits answers."""
    with serving(application, http=DeadlineProtocol, timeout_keep_alive=5, log_config=None) as port:
        return talk(port, request)


async def show_headers(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - ASGI's own
    """Read the whole request, then answer with the names of its headers."""
    while (await receive()).get("more_body"):
        pass
    names = b" ".join(name for name, _ in scope["headers"])
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": names})


@pytest.mark.parametrize(
    "request_bytes",
    [
        CHUNKED + b"a:b\r\n" * 1000 + b"\r\n",
        CHUNKED + b"a: " + b"b" * 200_000 + b"\r\n\r\n",
        FRAMES + b"1;" + b"e" * 200_000 + b"\r\na\r\n0\r\n\r\n",
        FRAMES + b"1;eeeeeeeeeeeeeeeeeeee\r\na\r\n" * 8000 + b"0\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: a\r\n" + b"a:b\r\n" * 1000 + b"\r\n",
    ],
    ids=["trailers", "one long trailer", "one long extension", "many extensions", "headers"],
)
def test_a_request_with_too_much_that_is_no_body_is_refused(request_bytes: bytes) -> None:
    """Whatever it is, and wherever: nothing of it is kept, or read to its end."""
    # What was not read may take the answer with it.
    assert seen_of(show_headers, request_bytes)[:12] in (b"HTTP/1.1 431", b"")


def test_trailers_do_not_change_the_head_that_was_checked() -> None:
    """A second host, or a token, behind the body is nobody's."""
    answer = seen_of(show_headers, CHUNKED + b"authorization: Bearer x\r\nhost: b\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200")
    assert b"host transfer-encoding" in answer
    assert b"authorization" not in answer


def test_a_body_in_chunks_is_read_whatever_its_head_has_left() -> None:
    """Its frames count, what is in them does not; a head of nearly all that may be leaves room for both."""
    head = b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\nx: " + b"y" * 64_000 + b"\r\n\r\n"
    chunk = b"2000\r\n" + b"z" * 0x2000 + b"\r\n"
    assert seen_of(show_headers, head + chunk * 32 + b"0\r\n\r\n").startswith(b"HTTP/1.1 200")
