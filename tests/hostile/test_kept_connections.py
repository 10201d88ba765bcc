"""Thousands of connections that are kept and do nothing: pages, API and agents work beside them."""

import contextlib
import resource
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import httpx

from tests.board import running_board
from tests.hostile.floods import Honest, Place, place_of
from tests.parts import missing
from tests.pushing import token_of, wait_until

KEPT = 4096


@contextlib.contextmanager
def many_files() -> Iterator[None]:
    """Let this process have so many connections."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before[1] != resource.RLIM_INFINITY and before[1] < KEPT + 200:
        missing("more open files than this machine allows")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(before[0], KEPT + 500), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def keep(place: Place, stack: contextlib.ExitStack, count: int) -> None:
    """Connections on which one request was answered and nothing follows."""
    for number in range(count):
        line = stack.enter_context(socket.create_connection(place, timeout=20))
        with contextlib.suppress(OSError):
            if number % 2:
                line.sendall(f"GET /healthz HTTP/1.1\r\nHost: {place[0]}\r\n\r\n".encode())


def test_kept_connections_keep_nobody_out(tmp_path: Path) -> None:
    """The API, an agent that posts and one that has a line are answered all the time."""
    with (
        many_files(),
        running_board("--demo", "1", log=tmp_path / "log") as board,
        contextlib.ExitStack() as stack,
        httpx.Client(base_url=board.url, timeout=30) as http,
    ):
        honest = Honest(board.url, "honest", token_of(board, "honest"))
        with honest.line() as line:
            honest.report_once(line)
            wait_until(lambda: http.get("readyz").status_code == 200)
            keep(place_of(board.url), stack, KEPT)
            codes = set()
            for path in ("api/v1/fleet", "readyz", "healthz", "metrics"):
                with httpx.Client(base_url=board.url, timeout=30) as visitor:
                    codes.add(visitor.get(path).status_code)
            honest.report_once(line)
        assert codes == {200}
        assert http.get("readyz").status_code == 200
        assert len(honest.report(time.monotonic() + 0.5)) > 1
