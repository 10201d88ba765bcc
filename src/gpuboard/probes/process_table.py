"""Who is whose child: the few facts of every process that the kernel keeps in /proc/PID/stat."""

import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple, Self

from gpuboard.model.report import ProcessState

_PROC: Final = Path("/proc")
_TICKS_PER_SECOND: Final = os.sysconf("SC_CLK_TCK")

# The kernel's letter for what a process does, in words.
STATES: Final[dict[str, ProcessState]] = {
    "R": "running",
    "S": "sleeping",
    "I": "sleeping",
    "D": "disk-wait",
    "T": "stopped",
    "t": "stopped",
    "Z": "zombie",
    "X": "gone",
    "x": "gone",
}


class Stat(NamedTuple):
    """One process as the kernel sees it."""

    name: str
    # One letter: R, S, D, Z, T …
    state: str
    parent: int
    group: int
    session: int
    # Since the start of the machine; with the pid, this is what makes a process that one and no other.
    start_ticks: int

    @property
    def start_seconds(self) -> float:
        """When it was started, in seconds since the start of the machine."""
        return self.start_ticks / _TICKS_PER_SECOND


def read_stat(pid: int) -> Stat | None:
    """Read one process; None when it is not there or not ours to see."""
    try:
        content = (_PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    return parse_stat(content)


def parse_stat(content: bytes) -> Stat | None:
    """Turn the kernel's line into facts; None when it is no such line.

    A name may hold anything, blanks and brackets too, so the last bracket ends it.
    """
    head, bracket, tail = content.rpartition(b")")
    fields = tail.split()
    try:
        parent, group, session, start = (int(fields[place]) for place in (1, 2, 3, 19))
    except (IndexError, ValueError):
        return None
    name = head.partition(b"(")[2].decode(errors="replace") if bracket else ""
    return Stat(name, fields[0].decode(errors="replace"), parent, group, session, start)


class ProcessTable:
    """All processes at one moment."""

    def __init__(self, stats: Mapping[int, Stat]) -> None:
        self._stats = stats

    @classmethod
    def scan(cls) -> Self:
        """Read all processes that can be seen."""
        return cls({pid: stat for pid in _pids() if (stat := read_stat(pid)) is not None})

    def descendants(self, pid: int) -> tuple[int, ...]:
        """The children of a process, and theirs, in order of their pids."""
        found: set[int] = set()
        waiting = [pid]
        while waiting:
            new = [child for child in self._children.get(waiting.pop(), ()) if child not in found]
            found.update(new)
            waiting.extend(new)
        return tuple(sorted(found - {pid}))

    def has_group(self, group: int) -> bool:
        """Whether any process of a group lives; those that only wait to be buried do not."""
        return any(stat.group == group and stat.state not in ("Z", "X") for stat in self._stats.values())

    def left_behind(self, pid: int) -> tuple[int, ...]:
        """What still runs of a dead process: its children, and all of its process group and session.

        The kernel gives no pid away as long as a group or a session carries it, so these are no strangers.
        """
        orphans = {other for other, stat in self._stats.items() if pid in (stat.group, stat.session)}
        found = orphans.union(self.descendants(pid)) - {pid}
        return tuple(sorted(other for other in found if self._stats[other].state != "Z"))

    @cached_property
    def _children(self) -> dict[int, list[int]]:
        children: dict[int, list[int]] = {}
        for pid, stat in self._stats.items():
            children.setdefault(stat.parent, []).append(pid)
        return children


def _pids() -> Iterator[int]:
    try:
        names = os.listdir(_PROC)  # noqa: PTH208 - a Path for each of thousands of processes costs too much
    except OSError:
        return
    for name in names:
        if name.isdecimal():
            yield int(name)
