"""A history that remembers what it was told to write, and may be slow, full or broken."""

import threading
from collections.abc import Iterator
from math import isnan
from typing import NamedTuple

import numpy as np

from gpuboard.history.base import History
from gpuboard.history.figures import GPU_MEASURED
from gpuboard.history.records import (
    Batch,
    Curves,
    CurvesQuery,
    Episode,
    Event,
    GpuSamples,
    Moment,
    Place,
    StateSpan,
    Taken,
    Track,
    Written,
)
from gpuboard.history.usage import HourUse, Usage
from gpuboard.model.errors import HistoryPausedError, StorageError
from gpuboard.model.verdict import Reason


class GpuSample(NamedTuple):
    """One GPU at one moment, as a test looks at it."""

    gpu: str
    at_ms: int
    holds_ms: int
    # By name of the figure.
    numbers: dict[str, float | None]
    holders: tuple[str, ...] | None


class WrittenDown(History):
    """Keeps batches as they came; of the past it can only say what was taken."""

    name = "written down"

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[Batch] = []
        self.full = False
        self.broken = False
        self.tidied = 0
        # Cleared, every write waits.
        self.may_write = threading.Event()
        self.may_write.set()
        self.is_writing = threading.Event()

    @property
    def samples(self) -> list[GpuSample]:
        """All samples of GPUs, in the order in which they were written."""
        return [one for batch in self.batches for samples in batch.gpu_samples for one in _each(samples)]

    def open(self) -> None:
        """Nothing is opened."""

    def close(self) -> None:
        """Nothing was opened."""

    def write(self, batch: Batch, *, now: float) -> Written:
        """Keep a batch, if it may."""
        del now
        self.is_writing.set()
        self.may_write.wait()
        if self.full:
            raise HistoryPausedError("the disk is nearly full", code="history-paused")
        if self.broken:
            raise StorageError("the history cannot be written")
        self.batches.append(batch)
        return Written()

    def tidy(self, *, now: float) -> bool:
        """Count it."""
        del now
        self.tidied += 1
        return False

    @property
    def trouble(self) -> Reason | None:
        """None but being full."""
        return Reason(code="history-paused", text="the disk is nearly full") if self.full else None

    @property
    def is_paused(self) -> bool:
        """As long as it is full."""
        return self.full

    def since(self) -> float | None:
        """The first sample."""
        return min((sample.at_ms / 1000 for sample in self.samples), default=None)

    def size_bytes(self) -> int:
        """Nothing."""
        return 0

    def positions(self) -> dict[str, Taken]:
        """What came last of each."""
        found: dict[str, Taken] = {}
        for batch in self.batches:
            found.update(batch.positions)
            for gone in batch.positions_gone:
                found.pop(gone, None)
        return found

    def memories(self) -> dict[str, bytes]:
        """What came last of each."""
        return {node: memory for batch in self.batches for node, memory in batch.memories.items()}

    def places(
        self, start: float, end: float, *, node: str | None = None, gpu: str | None = None
    ) -> list[Place]:
        """Those that were written last and have not ended."""
        del start, end, node, gpu
        found = {place.gpu: place for batch in self.batches for place in batch.places}
        return [place for place in found.values() if place.end is None]

    def open_episodes(self) -> list[Episode]:
        """Those whose last word has no end."""
        found = {
            (one.gpu, one.person, one.program, one.start): one
            for batch in self.batches
            for one in batch.episodes
        }
        return [one for one in found.values() if one.end is None]

    def open_events(self) -> list[Event]:
        """The same."""
        found = {
            (one.node, one.gpu, one.kind, one.start): one for batch in self.batches for one in batch.events
        }
        return [one for one in found.values() if one.end is None]

    def curves(self, query: CurvesQuery) -> Curves:
        """Not kept."""
        raise NotImplementedError

    def states(
        self, gpu: str, start: float, end: float, *, quiet_percent: float | None = None
    ) -> list[StateSpan]:
        """Not kept."""
        raise NotImplementedError

    def moment(self, at: float) -> Moment:
        """Not kept."""
        raise NotImplementedError

    def track(self, start: float, end: float, points: int) -> Track:
        """Not kept."""
        raise NotImplementedError

    def usage(self, start: float, end: float, *, with_memory: bool = True) -> Usage:
        """Not kept."""
        raise NotImplementedError

    def usage_of_programs(self, start: float, end: float) -> Usage:
        """Not kept."""
        raise NotImplementedError

    def usage_by_hour(self, start: float, end: float) -> list[HourUse]:
        """Not kept."""
        raise NotImplementedError

    def episodes(
        self,
        start: float,
        end: float,
        *,
        gpu: str | None = None,
        node: str | None = None,
        person: str | None = None,
        around: float | None = None,
        limit: int = 1000,
    ) -> list[Episode]:
        """Not kept."""
        raise NotImplementedError

    def events(
        self,
        start: float,
        end: float,
        *,
        node: str | None = None,
        kind: str | None = None,
        around: float | None = None,
        limit: int = 1000,
    ) -> list[Event]:
        """Not kept."""
        raise NotImplementedError


def _each(samples: GpuSamples) -> Iterator[GpuSample]:
    told = np.frombuffer(samples.figures).reshape(-1, len(GPU_MEASURED)).tolist()
    for place, (gpu, figures) in enumerate(zip(samples.gpus, told, strict=True)):
        numbers = {
            name: None if isnan(figure) else figure
            for name, figure in zip(GPU_MEASURED, figures, strict=True)
        }
        states = {"throttled": samples.throttled[place], "verdict": samples.verdicts[place]}
        yield GpuSample(gpu, samples.at_ms, samples.holds_ms, {**numbers, **states}, samples.holders[place])
