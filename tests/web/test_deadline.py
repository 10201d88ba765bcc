"""Limits below the framework, on a server of their own."""

import contextlib
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from gpuboard.web import deadline
from gpuboard.web.deadline import DeadlineProtocol
from tests.serving import serving


async def hello(_scope: Any, _receive: Any, send: Any) -> None:  # noqa: ANN401 - ASGI's own
    """The smallest application."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"hi"})


@contextlib.contextmanager
def server() -> Iterator[int]:
    """A server with these limits in a thread."""
    with serving(hello, http=DeadlineProtocol, timeout_keep_alive=1) as port:
        yield port


def test_one_address_cannot_hold_many_half_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond its share it is turned away, and a whole request makes room again."""
    monkeypatch.setattr(deadline, "MAX_ARRIVING", 2)
    monkeypatch.setattr(deadline, "is_loopback", lambda _peer: False)
    with server() as port, contextlib.ExitStack() as stack:
        lines = [stack.enter_context(socket.create_connection(("127.0.0.1", port), 5)) for _ in range(3)]
        turned_away = lines[2].recv(100)
        lines[0].sendall(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        answered = lines[0].recv(100)
        another = stack.enter_context(socket.create_connection(("127.0.0.1", port), 5))
        another.sendall(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        let_in = another.recv(100)
    assert [answer.split()[1] for answer in (turned_away, answered, let_in)] == [b"429", b"200", b"200"]


def test_every_request_on_a_kept_line_has_its_own_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second half request is ended too, without a word into the first one's answer."""
    monkeypatch.setattr(deadline, "REQUEST_SECONDS", 0.3)
    with server() as port, socket.create_connection(("127.0.0.1", port), 5) as line:
        line.sendall(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        first = line.recv(1000)
        line.sendall(b"GET / HTTP/1.1\r\n")
        second = line.recv(1000)
    assert first.endswith(b"hi")
    assert second == b""
    assert not DeadlineProtocol._arriving
