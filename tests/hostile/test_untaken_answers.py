"""Answers that nobody reads: they are not kept for ever, and not many of them."""

import contextlib
import socket
import time
from pathlib import Path

import httpx
import psutil
import pytest

from tests.board import running_board
from tests.hostile.floods import Place, place_of, said
from tests.pushing import wait_until, without_history

NODES = 80
CONNECTIONS = 60
GROWTH_BYTES = 60_000_000
# What is left in between of what was needed: less than half of it.
LEFT_BYTES = 25_000_000


def ask_and_never_read(place: Place, paths: list[str]) -> socket.socket:
    """Requests without an end to their answers."""
    line = socket.socket()
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    line.settimeout(20)
    try:
        line.connect(place)
    except OSError:
        line.close()
        raise
    for path in paths:
        said(line, f"GET {path} HTTP/1.1\r\nHost: {place[0]}\r\n\r\n".encode())
    return line


@pytest.mark.timeout(600)
def test_answers_that_nobody_reads_are_let_go(tmp_path: Path) -> None:
    """Memory stays within its bound meanwhile, and the connections end by themselves."""
    log = tmp_path / "log"
    limits = {
        "gpuboard.web.limits.TAKE_SECONDS": 3.0,
        "gpuboard.assembly.memory.GIVE_BACK_SECONDS": 1.0,
    }
    with (
        # The invented past of a demo needs memory of its own.
        running_board("--demo", str(NODES), *without_history(tmp_path), log=log, limits=limits) as board,
        contextlib.ExitStack() as stack,
    ):
        place = place_of(board.url)
        process = psutil.Process(board.process.pid)
        with httpx.Client(base_url=board.url, timeout=60) as client:
            assert len(client.get("api/v1/fleet", headers={"accept-encoding": "identity"}).content) > 200_000
        memory, files = process.memory_info().rss, process.num_fds()
        for _ in range(CONNECTIONS):
            stack.enter_context(ask_and_never_read(place, ["/api/v1/fleet"] * 8))
        wait_until(lambda: process.num_fds() > files + CONNECTIONS // 2)
        most, until = 0, time.monotonic() + 60
        while process.num_fds() > files + 5:
            most = max(most, process.memory_info().rss)
            assert time.monotonic() < until, "they are still there"
            time.sleep(0.2)
        wait_until(lambda: process.memory_info().rss - memory < LEFT_BYTES)
    assert most - memory < GROWTH_BYTES
    assert "Traceback" not in log.read_text()


def test_requests_without_number_on_one_connection_end_it(tmp_path: Path) -> None:
    """A packet holds thousands of the smallest; a few of them may wait."""
    with running_board("--demo", "1", log=tmp_path / "log") as board:
        place = place_of(board.url)
        with socket.create_connection(place, timeout=20) as line, contextlib.suppress(OSError):
            line.sendall(f"GET /healthz HTTP/1.1\r\nHost: {place[0]}\r\n\r\n".encode() * 5000)
            answers = b""
            while data := line.recv(65536):
                answers += data
            assert answers.count(b"200 OK") < 100
        wait_until(lambda: "on one connection" in (tmp_path / "log").read_text())
