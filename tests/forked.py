"""Processes of `gpuboard` that the fork server starts, in a fraction of the time of a real start."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any

from tests.fork_server import MOST_BYTES

ROOT = Path(__file__).parents[1]
# What only the start of a process reads: the loader, the interpreter, the C library.
EARLY = ("LD_", "PYTHON", "LANG", "LC_", "TZ", "GLIBC")


class ForkedProcess:
    """Like `subprocess.Popen`, of a process that is not our child."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.ended = threading.Event()

    def poll(self) -> int | None:
        """How it ended; None: it runs."""
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it has ended."""
        if not self.ended.wait(timeout):
            raise subprocess.TimeoutExpired("gpuboard", timeout or 0)
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.returncode is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)


class _ForkServer:
    def __init__(self) -> None:
        self._orders, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command = [sys.executable, "-m", "tests.fork_server"]
            # It ends with us: nobody else has our end of the socket.
            self._process = subprocess.Popen(command, stdin=theirs.fileno(), cwd=ROOT)
        self._ordering = threading.Lock()
        self._running: dict[int, ForkedProcess] = {}
        self._started: ForkedProcess | None = None
        self._has_started = threading.Event()
        threading.Thread(target=self._listen, daemon=True).start()

    def start(self, arguments: Sequence[str], env: Mapping[str, str], out: IO[bytes]) -> ForkedProcess:
        order = json.dumps({"arguments": arguments, "env": env, "cwd": str(Path.cwd())}).encode()
        with self._ordering, Path(os.devnull).open("rb") as nothing:
            self._has_started.clear()
            socket.send_fds(self._orders, [order], [nothing.fileno(), out.fileno(), out.fileno()])
            assert self._has_started.wait(60), "the fork server does not answer"
            assert self._started is not None
            return self._started

    def _listen(self) -> None:
        while data := self._orders.recv(MOST_BYTES):
            told: dict[str, Any] = json.loads(data)
            if "started" in told:
                self._started = self._running[told["started"]] = ForkedProcess(told["started"])
                self._has_started.set()
            else:
                process = self._running.pop(told["ended"])
                process.returncode = told["code"]
                process.ended.set()


_fork_server = cache(_ForkServer)


def can_be_forked(env: Mapping[str, str]) -> bool:
    """Whether a process with these variables, beside our own, can be forked."""
    return not any(name.startswith(EARLY) for name in env)


def fork(arguments: Sequence[str], env: Mapping[str, str], out: IO[bytes]) -> ForkedProcess:
    """Start `gpuboard` with these arguments."""
    return _fork_server().start(arguments, env, out)
