"""Simulated nodes: for `--demo`, for tests, and for benches."""

import asyncio
from collections.abc import Callable
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from gpuboard.model.report import NodeReport
from gpuboard.probes.simulated import lost_since, moved, node_names, simulate
from gpuboard.settings.base import Duration, between
from gpuboard.sources.base import Sink

PAST_SECONDS: Final = 3600
PAST_STEP_SECONDS: Final = 60
# One node of the demo fell silent a while ago, so that people see how that looks.
SILENT_NODE: Final = "vision-02"
SILENT_SECONDS: Final = 240


class SimulatedOptions(Struct, frozen=True, kw_only=True):
    """How many nodes to simulate, and how."""

    kind: Literal["simulated"] = "simulated"
    nodes: Annotated[int, Meta(ge=1, le=10_000)] = 12
    seed: int = 1
    interval: Annotated[Duration, between("100ms", "1h")] = Duration(5)
    # How far their day is ahead of the clock: who computes what depends on it, and tests choose it.
    ahead_seconds: float = 0.0


class SimulatedSource:
    """Invents the reports of many nodes; with a past hour, so that idle GPUs show at once."""

    kind = "simulated"

    def __init__(self, options: SimulatedOptions, *, now: Callable[[], float]) -> None:
        self._options = options
        self._now = now
        self._nodes = node_names(options.nodes)
        self._has_told_past = False
        # What is broken stays so since then, however long this runs.
        self._lost_at = lost_since(now() + options.ahead_seconds)

    async def run(self, sink: Sink) -> None:
        """Hand over reports until cancelled; each node has its own moment within the interval."""
        if not self._has_told_past:
            await self._tell_the_past(sink)
            # Started again, it goes on: what was told is not told twice.
            self._has_told_past = True
        # Named only now: a demo is ready when all of its nodes are there.
        sink.expect(self._nodes)
        interval = self._options.interval
        step = interval / max(1, len(self._nodes))
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            for node in self._nodes:
                if node != SILENT_NODE:
                    sink.report(node, self._simulate(node, self._now()))
                due += step
                delay = due - loop.time()
                # Behind schedule: give the others a turn all the same.
                await asyncio.sleep(max(0.0, delay))

    async def _tell_the_past(self, sink: Sink) -> None:
        now = self._now()
        for node in self._nodes:
            newest = SILENT_SECONDS if node == SILENT_NODE else 0
            for age in range(PAST_SECONDS, newest - 1, -PAST_STEP_SECONDS):
                report = replace(self._simulate(node, now - age), age_seconds=float(age))
                # But for the last of them, the next follows so long after.
                if age > newest:
                    report = replace(report, interval_seconds=float(PAST_STEP_SECONDS))
                sink.report(node, report)
            await asyncio.sleep(0)

    def _simulate(self, node: str, at: float) -> NodeReport:
        options = self._options
        ahead = options.ahead_seconds
        report = simulate(
            node, at + ahead, seed=options.seed, interval=float(options.interval), lost_at=self._lost_at
        )
        return moved(report, -ahead) if ahead else report
