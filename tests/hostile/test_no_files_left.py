"""A crowd that takes every file the board may open: it says so, and nobody who is in notices."""

import contextlib
import socket
from pathlib import Path
from typing import Any

import httpx
import psutil

from tests.board import running_board
from tests.hostile.floods import Honest, place_of
from tests.pushing import token_of, wait_until

OFTEN = {"gpuboard.assembly.descriptors.LOOK_SECONDS": 0.5}


def trouble(looker: httpx.Client) -> dict[str, Any]:
    """What the board says of its open files, on a connection that is there already."""
    parts = looker.get("readyz").json()["components"]
    return next(part for part in parts if part["kind"] == "descriptors")


def test_a_board_without_a_file_left_says_so_and_recovers(tmp_path: Path) -> None:
    """Whoever cannot be let in hears nothing; so it is on the page of those who are, and in the log, once."""
    with (
        running_board("--demo", "1", log=tmp_path / "log", limits=OFTEN) as board,
        httpx.Client(base_url=board.url, timeout=30) as looker,
    ):
        honest = Honest(board.url, "honest", token_of(board, "honest"))
        process = psutil.Process(board.process.pid)
        with honest.line() as line, contextlib.ExitStack() as crowd:
            looker.get("healthz")
            most = process.num_fds() + 20
            process.rlimit(psutil.RLIMIT_NOFILE, (most, most))
            for _ in range(60):
                with contextlib.suppress(OSError):
                    crowd.enter_context(socket.create_connection(place_of(board.url), timeout=10))
            wait_until(lambda: f"all {most} open files are in use" in (trouble(looker)["reason"] or ""))
            honest.report_once(line)
        wait_until(lambda: trouble(looker)["code"] is None)
        assert len(honest.took) == 1
    log = (tmp_path / "log").read_text()
    assert log.count(f"all {most} open files are in use") == 1
    assert "there is room again" in log
    assert "Traceback" not in log
