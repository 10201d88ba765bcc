"""Running nvidia-smi so that a hung driver cannot hang us."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from typing import Final, Protocol

from gpuboard.model.errors import ProbeFailed, ProbeUnavailable
from gpuboard.model.problems import problem
from gpuboard.probes.process_table import ProcessTable

_GRACE_SECONDS: Final = 1.0


class RunCommand(Protocol):
    """Runs one command to its end."""

    def __call__(self, command: Sequence[str], /) -> bytes:
        """Return what the command printed, also when it failed: it says why.

        Raises:
            ProbeUnavailable: there is no such command here.
            ProbeFailed: it did not end in time (kind `driver-hung`).
        """


class CommandRunner:
    """Runs commands with a deadline; beside one that cannot even be killed, none is started."""

    def __init__(self, *, timeout: float = 15.0) -> None:
        # Without persistence mode, an honest nvidia-smi takes seconds.
        self._timeout = timeout
        self._stuck: subprocess.Popen[bytes] | None = None
        self._stuck_since = 0.0

    def __call__(self, command: Sequence[str], /) -> bytes:
        """Return what the command printed."""
        if self._stuck is not None and _is_there(self._stuck):
            raise _hung(command, since=self._stuck_since)
        self._stuck = None
        started = time.time()
        process = _start(command)
        try:
            output, errors = process.communicate(timeout=self._timeout)
        except subprocess.TimeoutExpired:
            if not _end(process):
                self._stuck, self._stuck_since = process, started
            raise _hung(command, since=started) from None
        except BaseException:
            _end(process)
            raise
        # What is wrong with one GPU may stand on either stream, beside the data about the others.
        return b"\n".join((errors.rstrip(), output)) if errors.strip() else output


def _hung(command: Sequence[str], *, since: float) -> ProbeFailed:
    return ProbeFailed(problem("driver-hung", f"{command[0]} did not end", since=since))


def _start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "LC_ALL": "C"},
            # A group of its own, so that a wrapper script dies together with what it started.
            start_new_session=True,
        )
    except FileNotFoundError:
        raise ProbeUnavailable(problem("no-driver", f"{command[0]} is not installed")) from None
    except OSError as error:
        raise ProbeUnavailable(
            problem("no-permission", f"{command[0]} cannot be run: {error.strerror}")
        ) from None


def _is_there(process: subprocess.Popen[bytes]) -> bool:
    """Whether anything of a command is left: a wrapper may have ended, and what it started may not."""
    is_there = ProcessTable.scan().has_group(process.pid)
    # What has ended since is buried here.
    process.poll()
    return is_there


def _end(process: subprocess.Popen[bytes]) -> bool:
    """End a command and say whether it is gone; politely first, as killing outright has frozen GPUs."""
    for blow in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(OSError):
            os.killpg(process.pid, blow)
        try:
            process.communicate(timeout=_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            continue
        return True
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    return False
