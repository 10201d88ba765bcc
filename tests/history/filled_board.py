"""A board on a disk that others fill; run as a program on a small file system, it says what went wrong."""

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.board import free_port
from tests.history.filling import fill

SETTINGS = """
[board]
listen = "127.0.0.1:{port}"
state_dir = "{state}"
[[source]]
kind = "simulated"
nodes = 1
interval = "200ms"
[history]
kind = "embedded"
grid = "1s"
"""


def get(port: int, path: str) -> Any:  # noqa: ANN401
    """What the board answers; None: not yet."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=60) as answer:
            return json.load(answer)
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return None


def until(is_so: Callable[[], object], what: str) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def trouble(port: int) -> str | None:
    """What the board says of its history."""
    found = get(port, "readyz") or {"components": []}
    return next((part.get("code") for part in found["components"] if part["kind"] == "history"), "unasked")


def paused(port: int) -> bool | None:
    """What the page hears of it."""
    snapshot = get(port, "api/v1/stream")
    return None if snapshot is None else snapshot["board"]["history"]["paused"]


def sampled_at(port: int) -> float:
    """How new the live view is."""
    snapshot = get(port, "api/v1/stream")
    return 0.0 if snapshot is None else max(filter(None, snapshot["nodes"]["sampled_at"]), default=0.0)


def batches(port: int) -> float:
    """How many batches were written."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        lines = answer.read().decode().splitlines()
    return float(next(line for line in lines if line.startswith("gpuboard_history_batches_total")).split()[1])


def main() -> None:
    """Fill the disk under a board, and make room again."""
    folder, port = Path(sys.argv[1]), free_port()
    settings, others = folder / "gpuboard.toml", folder / "others"
    settings.write_text(SETTINGS.format(port=port, state=folder / "state"))
    command = [sys.executable, "-m", "gpuboard", "serve", "--config", str(settings)]
    board = subprocess.Popen(command)
    try:
        until(lambda: paused(port) is False and batches(port) >= 2, "it wrote nothing")
        fill(others)
        until(lambda: trouble(port) == "history-paused", "a full disk is not said at /readyz")
        until(lambda: paused(port) is True, "a full disk is not said to the page")
        before = sampled_at(port)
        until(lambda: sampled_at(port) > before + 1, "the live view stands still")
        others.unlink()
        until(lambda: trouble(port) is None, "it did not go on")
        written = batches(port)
        until(lambda: batches(port) > written, "it writes nothing any more")
    finally:
        board.terminate()
        board.wait(20)


if __name__ == "__main__":
    main()
