"""What the soak measures: how long honest nodes waited, what the board held, what its log said."""

import re
import statistics
import threading
from pathlib import Path
from typing import Final

import psutil
from msgspec import Struct

# The first second of an attack may show.
FIRST_SECONDS: Final = 1.0
SAMPLE_SECONDS: Final = 0.25
MIB: Final = 1024**2
_COUNTED: Final = re.compile(r"\((?:and )?(\d+) more like it")


class Figures(Struct, kw_only=True):
    """One attack, in numbers."""

    attack: str
    round: int
    reports: int
    p50_ms: float
    p95_ms: float
    worst_ms: float
    worst_of_first_second_ms: float
    memory_before_mib: float
    memory_most_mib: float
    memory_after_mib: float
    settled_seconds: float
    processor_percent: float
    connections: int
    cuts_named: int


class Memory:
    """Looks at the board's memory all the time."""

    def __init__(self, pid: int) -> None:
        self._process = psutil.Process(pid)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self.most = 0.0
        self._thread.start()

    def now(self) -> float:
        """MiB that the board holds."""
        return float(self._process.memory_info().rss) / MIB

    def processor_seconds(self) -> float:
        """What it has used of the processor."""
        times = self._process.cpu_times()
        return float(times.user + times.system)

    def restart(self) -> None:
        """Forget what was most."""
        self.most = 0.0

    def stop(self) -> None:
        """Look no more."""
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._stop.wait(SAMPLE_SECONDS):
            self.most = max(self.most, self.now())


def waits_between(measured: Path, start: float, end: float) -> list[float]:
    """How long the reports of that time waited, in milliseconds."""
    lines = (line.split() for line in measured.read_text().splitlines() if line[:1].isdigit())
    return [float(took) * 1000 for sent, took in lines if start <= float(sent) < end]


def disturbances(measured: Path) -> list[str]:
    """What happened to honest nodes and viewers that should not have."""
    return [line for line in measured.read_text().splitlines() if line and not line[0].isdigit()]


def percentile(waits: list[float], percent: int) -> float:
    """So many of a hundred are at most this."""
    if len(waits) < 2:
        return max(waits, default=0.0)
    return statistics.quantiles(waits, n=100, method="inclusive")[percent - 1]


def cuts_named(log: str) -> int:
    """How many cut connections the log tells of: those with a line, and those counted in one."""
    lines = [line for line in log.splitlines() if "connection cut:" in line]
    return len(lines) + sum(int(count) for line in lines for count in _COUNTED.findall(line))


def as_table(rows: list[Figures]) -> str:
    """The figures for people."""
    head = f"{'attack':24}{'reports':>8}{'p50 ms':>8}{'p95 ms':>8}{'worst':>8}{'1st s':>8}"
    head += f"{'before':>8}{'most':>7}{'after':>7}{'settled':>9}{'cpu %':>7}{'conns':>8}{'named':>7}"
    lines = [head]
    lines += [
        f"{row.round}. {row.attack:21}{row.reports:8}{row.p50_ms:8.1f}{row.p95_ms:8.1f}{row.worst_ms:8.1f}"
        f"{row.worst_of_first_second_ms:8.1f}{row.memory_before_mib:8.0f}{row.memory_most_mib:7.0f}"
        f"{row.memory_after_mib:7.0f}{row.settled_seconds:9.1f}{row.processor_percent:7.0f}"
        f"{row.connections:8}{row.cuts_named:7}"
        for row in rows
    ]
    return "\n".join(lines)
