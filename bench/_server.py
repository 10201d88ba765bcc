"""A server under load: what it costs while it is measured."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from bench._load import Figures, Order
from gpuboard.probes.simulated import node_names
from tests.board import free_port, wait_for
from tests.pushing import enrol

_CONFIG: Final = '[[source]]\nkind = "push"\n'
_NO_HISTORY: Final = '[history]\nkind = "none"\n'


class Cost(Struct, frozen=True, kw_only=True):
    """What a server used while it was measured."""

    cpu_seconds: float
    peak_bytes: int


class Meter:
    """Reads the CPU time of one process, between two moments."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._before = self._cpu()

    def _cpu(self) -> float:
        # What clock_getcpuclockid(3) makes of a process: to the nanosecond, where /proc tells hundredths.
        return time.clock_gettime(~self._pid << 3 | 2)

    def read(self) -> Cost:
        """What was used since the meter was made."""
        status = Path(f"/proc/{self._pid}/status").read_text()
        peak = next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
        return Cost(cpu_seconds=self._cpu() - self._before, peak_bytes=int(peak) * 1024)


def load_board(
    *,
    nodes: int,
    viewers: int,
    interval: float,
    warm_up: float,
    seconds: float,
    has_history: bool = True,
) -> tuple[Figures, Cost]:
    """Run a board of its own under this load."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tokens = enrol(folder / "state", *node_names(nodes))
        port = free_port()
        with push_board(folder, port, _CONFIG if has_history else _CONFIG + _NO_HISTORY) as board:
            order = Order(
                port=port,
                tokens=tokens,
                viewers=viewers,
                interval_seconds=interval,
                warm_up_seconds=warm_up,
                seconds=seconds,
            )
            answer, cost = watch(
                [sys.executable, "-m", "bench._load"],
                msgspec.json.encode(order),
                lambda _: Meter(board.pid),
            )
    figures = msgspec.json.decode(answer, type=Figures)
    if not figures.measured:
        raise RuntimeError("the board took nothing of what the agents sent")
    return figures, cost


@contextmanager
def push_board(folder: Path, port: int, config: str = _CONFIG) -> Iterator[subprocess.Popen[bytes]]:
    """A board that agents may push to; none of them is there yet, so it is alive but not ready."""
    (folder / "gpuboard.toml").write_text(config)
    address, log = f"127.0.0.1:{port}", folder / "log"
    command = [
        sys.executable, "-m", "gpuboard", "serve", "--listen", address,
        "--config", str(folder / "gpuboard.toml"), "--state-dir", str(folder / "state"),
    ]  # fmt: skip
    with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out) as board:
        try:
            wait_for(f"http://{address}/healthz", board, log)
            yield board
        finally:
            board.kill()


def watch(command: list[str], order: bytes, meter: Callable[[int], Meter]) -> tuple[bytes, Cost]:
    """Run a load; read the meter, which may be about its pid, while it says that it measures."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as load:
        assert load.stdin is not None
        assert load.stdout is not None
        try:
            load.stdin.write(order)
            load.stdin.close()
            _expect(load.stdout.readline(), b"measuring")
            running = meter(load.pid)
            _expect(load.stdout.readline(), b"measured")
            return load.stdout.readline(), running.read()
        finally:
            load.kill()


def _expect(line: bytes, word: bytes) -> None:
    if line.strip() != word:
        raise RuntimeError("the load generator failed; what it said is above")
