"""Real processes for tests to look at: started here, ended with the test."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

SLEEP = ("sleep", "300")


@contextmanager
def started(*argv: str, uid: int | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program, as another user if given, until the block ends."""
    process = subprocess.Popen(
        argv or SLEEP,
        user=uid,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    with ExitStack() as stack:
        stack.enter_context(process)
        stack.callback(process.kill)
        yield process


@contextmanager
def zombie() -> Iterator[int]:
    """A process that has ended and that nobody has waited for."""
    process = subprocess.Popen(("true",))
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    try:
        yield process.pid
    finally:
        process.wait()


@contextmanager
def orphans() -> Iterator[tuple[int, int]]:
    """The pid of a dead leader of a session, and that of the child it left behind."""
    program = "import subprocess; print(subprocess.Popen(('sleep', '300')).pid, flush=True)"
    leader = subprocess.Popen(
        (sys.executable, "-c", program), stdout=subprocess.PIPE, start_new_session=True, text=True
    )
    assert leader.stdout is not None
    child = int(leader.stdout.readline())
    leader.wait()
    leader.stdout.close()
    try:
        yield leader.pid, child
    finally:
        with suppress(ProcessLookupError):
            os.kill(child, 9)


def is_running(pid: int) -> bool:
    """Whether a process is there, and not only waiting to be buried."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except OSError:
        return False


def eventually(is_so: Callable[[], bool], *, seconds: float = 60.0) -> None:
    """Wait until something is so, and fail when it never is."""
    ends = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < ends, "it did not come to be in time"
        time.sleep(0.01)
