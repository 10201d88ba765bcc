"""What a history costs the board that keeps it: live reports, judged, gathered, written, tidied and sealed.

A process of its own, since its memory is measured; figures on stdout. Only what the board would not do
without a history is counted: taking a report, following a tick, writing and tidying.
"""

import asyncio
import gc
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from msgspec import Struct

from bench._past import CROWDS, PER_HOUR, PER_NODE, START, STEP_SECONDS, Fleet, Round
from bench._rollover import resident
from gpuboard.assembly.memory import GARBAGE_AFTER
from gpuboard.fleet.changes import ChangeTracker
from gpuboard.fleet.sink import Taker
from gpuboard.fleet.state import Fleet as LiveFleet
from gpuboard.history.base import Keep
from gpuboard.history.embedded import EmbeddedHistory
from gpuboard.history.figures import GPU_MEASURED, GPU_NUMBERS
from gpuboard.history.gathering import News
from gpuboard.history.recorder import Recorder
from gpuboard.history.records import CurvesQuery, Member
from gpuboard.model.report import Disk, GpuProcess, GpuReading, HostFacts, NodeReport
from gpuboard.model.source import SourceIdentity
from tests.clock import HandClock

# The last of these hours is measured: an hour is sealed in each from the fourth on.
HOURS: Final = 4
GIB: Final = 1024**3
_MEASURED: Final = [GPU_NUMBERS.index(name) for name in GPU_MEASURED]
_THROTTLED: Final = GPU_NUMBERS.index("throttled")
_INTEGERS: Final = frozenset(
    GPU_MEASURED.index(name) for name in ("memory_used_bytes", "graphics_clock_mhz", "memory_clock_mhz")
)
_MEMORY: Final = GPU_MEASURED.index("memory_used_bytes")


class Live(Struct, frozen=True, kw_only=True):
    """What a batch cost in CPU seconds, by what was done; and the most memory."""

    costs: dict[str, float]
    peak_bytes: int


class Watch:
    """CPU seconds by what was done, without what looking at the clock takes."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        begun = time.process_time()
        for _ in range(1000):
            time.process_time()
        self._look = (time.process_time() - begun) / 1000

    @contextmanager
    def on(self, what: str) -> Iterator[None]:
        """Count what is done inside."""
        begun = time.process_time()
        yield
        self.add(what, begun)

    def add(self, what: str, begun: float) -> None:
        """Count what was done since."""
        took = time.process_time() - begun - self._look
        self.seconds[what] = self.seconds.get(what, 0.0) + took


class Watched:
    """A taker whose work is counted."""

    def __init__(self, taker: Taker, watch: Watch) -> None:
        self._taker = taker
        self._watch = watch

    def take(self, node: str, report: NodeReport, *, source: SourceIdentity, is_backfill: bool) -> bool:
        """Take one sample."""
        begun = time.process_time()
        taken = self._taker.take(node, report, source=source, is_backfill=is_backfill)
        self._watch.add("taking", begun)
        return taken

    def pass_over(self, node: str, report: NodeReport, *, source: SourceIdentity) -> None:
        """Nobody does here."""


class Nodes:
    """The nodes of an invented fleet, as they report."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._who = np.full(fleet.gpus, -1)
        self._began = np.zeros(fleet.gpus)

    def reports(self, one: Round) -> list[tuple[float, NodeReport]]:
        """What all of them say in a round, each with its moment."""
        changed = self._who != one.people
        self._began[changed] = one.now
        self._who = one.people
        told = one.numbers.astype(object)
        told[np.isnan(one.numbers)] = None
        rows, began = told.tolist(), self._began.tolist()
        return [self._report(first, one, rows, began) for first in range(0, self._fleet.gpus, PER_NODE)]

    def _report(
        self, first: int, one: Round, rows: list[list[float | None]], began: list[float]
    ) -> tuple[float, NodeReport]:
        at, node = int(one.at_ms[first]) / 1000, self._fleet.nodes[first]
        gpus = range(first, min(first + PER_NODE, self._fleet.gpus))
        disk = Disk(mount="/", used_bytes=400 * GIB, total_bytes=1000 * GIB)
        host = HostFacts(
            cpu_count=64,
            load_1=round(one.numbers[first, 0] / 2),
            memory_used_bytes=64 * GIB + first * 1024**2,
            memory_total_bytes=512 * GIB,
            disks=(disk,),
        )
        return at, NodeReport(
            node=node,
            boot_id="boot",
            sequence=int(one.now - START) // STEP_SECONDS,
            taken_at=at,
            age_seconds=0.0,
            interval_seconds=float(STEP_SECONDS),
            host=host,
            gpus=tuple(self._gpu(gpu, one, rows[gpu], began[gpu]) for gpu in gpus),
        )

    def _gpu(self, gpu: int, one: Round, row: list[float | None], began: float) -> GpuReading:
        told = [row[place] for place in _MEASURED]
        numbers = {
            name: int(value) if value is not None and place in _INTEGERS else value
            for place, (name, value) in enumerate(zip(GPU_MEASURED, told, strict=True))
        }
        processes = tuple(
            GpuProcess(
                pid=1000 + gpu,
                started_at=began,
                user=user,
                uid=1000,
                kind="compute",
                program="python train.py",
                memory_used_bytes=int(told[_MEMORY] or 0),
            )
            for user in CROWDS[one.people[gpu]]
        )
        return GpuReading(
            uuid=self._fleet.uuids[gpu],
            index=gpu % PER_NODE,
            model="NVIDIA A100-SXM4-80GB",
            memory_total_bytes=80 * GIB,
            throttle_reasons=("thermal",) if row[_THROTTLED] else (),
            processes=processes,
            **numbers,  # type: ignore[arg-type] # by name
        )


class Board:
    """A fleet with a recorder, or without."""

    def __init__(self, history: EmbeddedHistory | None) -> None:
        self.clock = HandClock(START)
        self._fleet = LiveFleet(self.clock)
        self._tracker = ChangeTracker(self._fleet)
        self._history = history
        self._recorder: Recorder | None = None
        self.watch = Watch()
        if history is not None:
            self._recorder = Recorder(history, self._fleet)
            self._recorder.start({}, News([], [], []))
            self._fleet.taker = Watched(self._recorder, self.watch)

    async def round(self, one: Round, reports: list[tuple[float, NodeReport]]) -> None:
        """Ten ticks, each with the reports that came since the last one; then what is written and tidied."""
        waiting = sorted(reports, key=lambda pair: pair[0], reverse=True)
        sink = self._fleet.sink("push")
        for second in range(STEP_SECONDS):
            self.clock.time = one.now - STEP_SECONDS + second + 1
            while waiting and waiting[-1][0] <= self.clock.time:
                at, report = waiting.pop()
                sink.report(report.node, msgspec.structs.replace(report, age_seconds=self.clock.time - at))
            change = self._tracker.tick()
            if self._recorder is not None:
                with self.watch.on("following"):
                    self._recorder.follow(change)
        if self._history is None or self._recorder is None:
            return
        history, now = self._history, one.now
        with self.watch.on("writing"):
            await self._recorder.write()
        with self.watch.on("tidying"):
            while await history.run(lambda: history.tidy(now=now), is_write=True):
                pass


async def measure(gpus: int, hours: int, folder: Path | None) -> Live:
    """Let a fleet live for some hours; the last one counts."""
    fleet, history = Fleet(gpus), None
    if folder is not None:
        history = EmbeddedHistory(folder / "history.sqlite", Keep())
        history.open()
    nodes, board, before = Nodes(fleet), Board(history), {}
    for number, one in enumerate(fleet.rounds(hours)):
        if number == (hours - 1) * PER_HOUR:
            before = dict(board.watch.seconds)
        await board.round(one, nodes.reports(one))
    if history is not None:
        await _ask(history, fleet, START + hours * 3600.0)
        history.close()
    costs = {
        what: (seconds - before.get(what, 0.0)) / PER_HOUR for what, seconds in board.watch.seconds.items()
    }
    return Live(costs=costs, peak_bytes=resident("VmHWM"))


async def _ask(history: EmbeddedHistory, fleet: Fleet, end: float) -> None:
    """What people ask takes memory, too."""
    query = CurvesQuery(
        kind="gpu",
        groups=(tuple(map(Member, fleet.uuids)),),
        figures=("utilization_percent",),
        start=float(START),
        end=end,
    )
    questions: tuple[Callable[[], object], ...] = (
        lambda: history.curves(query),
        lambda: history.moment(end - 7200),
    )
    for question in questions:
        await history.run(question)


def main() -> None:
    """Measure one with a history, or one without."""
    gpus, hours, has_history = map(int, sys.argv[1:])
    # As the board does.
    gc.freeze()
    gc.set_threshold(*GARBAGE_AFTER)
    with tempfile.TemporaryDirectory() as name:
        found = asyncio.run(measure(gpus, hours, Path(name) if has_history else None))
    print(msgspec.json.encode(found).decode())


if __name__ == "__main__":
    main()
