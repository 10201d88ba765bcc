"""A real board in a process of its own, for tests that use it from outside."""

import contextlib
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from tests.forked import ForkedProcess, can_be_forked, fork

ROOT = Path(__file__).parents[1]
# Not how long a start takes: when to give up, also where others write their disks full.
START_SECONDS = 60
Process = ForkedProcess | subprocess.Popen[bytes]
# Who computes what in a demo depends on the hour; a test must not. For an hour from here on nobody
# comes or goes.
DEMO_TIME = "2026-11-16T11:40:00Z"


class RunningBoard:
    """A board that answers at `url`."""

    def __init__(self, url: str, process: Process, state: Path) -> None:
        self.url = url
        self.process = process
        self.state = state


def computing(board: RunningBoard, word: str = "busy") -> tuple[str, dict[str, Any]]:
    """A GPU on which somebody computes now, whoever and wherever it is, with the name of its node.

    With another word, one of which that is said.
    """
    with urllib.request.urlopen(f"{board.url}api/v1/fleet", timeout=60) as answer:
        nodes = json.load(answer)["nodes"]
    return next(
        (node["name"], gpu) for node in nodes for gpu in node["gpus"] if gpu["verdict"]["word"] == word
    )


def free_port() -> int:
    """A port that nobody uses just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextlib.contextmanager
def running_board(
    *arguments: str,
    log: Path,
    port: int | None = None,
    env: Mapping[str, str] | None = None,
    ca_file: Path | None = None,
    until: str = "readyz",
    limits: Mapping[str, float] | None = None,
) -> Iterator[RunningBoard]:
    """Run `gpuboard serve` with these arguments until the block ends; its state lies beside the log.

    It is waited for until a node is live, or `until="healthz"` just until it answers. `limits` are others
    than people have, by module and name.
    """
    address = f"127.0.0.1:{port or free_port()}"
    url = f"{'https' if ca_file else 'http'}://{address}/"
    state = log.parent / "state"
    words = ["serve", "--listen", address, "--state-dir", str(state), *arguments]
    with log.open("ab") as out:
        process = _start(words, env or {}, limits, out)
    try:
        wait_for(f"{url}{until}", process, log, ca_file)
        yield RunningBoard(url, process, state)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _start(
    words: list[str], env: Mapping[str, str], limits: Mapping[str, float] | None, out: IO[bytes]
) -> Process:
    surroundings = {"GPUBOARD_DEMO_TIME": DEMO_TIME, **os.environ, **env}
    if limits:
        # Set before anything is imported.
        surroundings["GPUBOARD_TEST_LIMITS"] = json.dumps(limits)
        command = [sys.executable, "-m", "tests.impatient", *words]
        return subprocess.Popen(command, stdout=out, stderr=out, env=surroundings, cwd=ROOT)
    if can_be_forked(env):
        return fork(words, surroundings, out)
    return subprocess.Popen(
        [sys.executable, "-m", "gpuboard", *words], stdout=out, stderr=out, env=surroundings
    )


def wait_for(url: str, process: Process, log: Path, ca_file: Path | None = None) -> None:
    """Wait until a server answers; say what it printed if it does not."""
    context = ssl.create_default_context(cafile=ca_file) if ca_file else None
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(urllib.error.URLError, ConnectionError, TimeoutError):
            urllib.request.urlopen(url, timeout=5, context=context).close()
            return
        time.sleep(0.05)
    raise AssertionError(f"{url} did not answer: {log.read_text(errors='replace')}")
