"""Weeks that a demo has behind it: invented, from the same jobs that its nodes show live."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from gpuboard.assembly.demo_samples import STEP_SECONDS, gpu_samples, host_samples
from gpuboard.fleet.activity import NodeMemory, Remembered
from gpuboard.history.base import Keep
from gpuboard.history.cells import Cells, Values
from gpuboard.history.downsample import fold
from gpuboard.history.embedded import EmbeddedHistory
from gpuboard.history.embedded.inventing import Invented
from gpuboard.history.figures import (
    FIGURES,
    GPU_FIGURES,
    HOST_FIGURES,
    NOTHING,
    VERDICT_CODES,
    Figure,
    Kind,
    place_of,
)
from gpuboard.history.records import Batch, Episode, Event, GpuSamples, HostSample, Place, Tier
from gpuboard.history.usage import Usage
from gpuboard.model.errors import StorageError
from gpuboard.model.names import short_model
from gpuboard.model.units import GIB, MIB
from gpuboard.model.verdict import VerdictWord
from gpuboard.probes.simulated import (
    LOST_DETAIL,
    LOST_KIND,
    Hardware,
    Job,
    hardware_of,
    lost_gpu,
    lost_since,
    node_names,
    past_jobs,
)

HOUR: Final = 3600
DAY: Final = 24 * HOUR
HOUR_MS: Final = HOUR * 1000
# The nodes tell the last hour themselves.
TOLD_SECONDS: Final = HOUR
# How far back each tier goes, for a demo of a dozen nodes; of more nodes less is invented, so that nobody
# waits, and of many a week, after the board has begun.
FULL_SECONDS: Final = 4 * HOUR
MINUTES_SECONDS: Final = 8 * DAY
HOURS_SECONDS: Final = 35 * DAY
MANY_HOURS_SECONDS: Final = 7 * DAY
USUAL_NODES: Final = 12
MANY_NODES: Final = 30
MOST_NODES: Final = 250
# The steps by which the weeks before are looked at.
COARSE_SECONDS: Final = 600
IDLE_AFTER_SECONDS: Final = 1800

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


class Outage(NamedTuple):
    """That a node was away."""

    start: float
    end: float


class DemoHistory(EmbeddedHistory):
    """A history in a folder that is gone with the board, with weeks in it from the start."""

    def __init__(self, keep: Keep, nodes: int, *, now: float, ahead: float) -> None:
        # Not the state directory: a demo leaves nothing behind.
        self._folder = tempfile.TemporaryDirectory(prefix="gpuboard-demo-", ignore_cleanup_errors=True)
        super().__init__(Path(self._folder.name) / "history.sqlite", keep)
        self.name = "demo"
        self._past = DemoPast(node_names(nodes), now, ahead, grid_seconds=keep.grid_seconds)
        self._uninvented: Iterator[Invented] = iter(())
        self._is_being_made = False

    def open(self) -> None:
        """Make the file, and invent what is in it."""
        super().open()
        past = self._past
        if not past.nodes:
            return
        self.write(past.batch(), now=past.now)
        if len(past.nodes) <= MANY_NODES:
            self.invent(past.figures(), now=past.now)
            # As it would have been written then: what comes later is too late.
            self.write(past.begun_hour(), now=past.now - TOLD_SECONDS)
        else:
            self._uninvented = past.figures()
            self._is_being_made = True

    def tidy(self, *, now: float) -> bool:
        """Invent what was left for later, step by step, before anything else."""
        left = next(self._uninvented, None)
        if left is None:
            self._is_being_made = False
            return super().tidy(now=now)
        self.invent([left], now=self._past.now)
        return True

    def usage(self, start: float, end: float, *, with_memory: bool = True) -> Usage:
        """How GPUs were used, as soon as all of it is invented: a part of it would be a wrong sum.

        Raises:
            StorageError: it is not yet, or cannot be read.
        """
        self._check_made()
        return super().usage(start, end, with_memory=with_memory)

    def usage_of_programs(self, start: float, end: float) -> Usage:
        """The same by program.

        Raises:
            StorageError: as above.
        """
        self._check_made()
        return super().usage_of_programs(start, end)

    def _check_made(self) -> None:
        if self._is_being_made:
            raise StorageError("the past of this demo is still being made: ask again in a few seconds")

    def close(self) -> None:
        """Let go of the file, and of the folder."""
        super().close()
        self._folder.cleanup()


class DemoPast:
    """What the nodes of a demo did in the weeks before it began."""

    def __init__(self, nodes: tuple[str, ...], now: float, ahead: float, *, grid_seconds: int) -> None:
        # More would take longer than anybody waits for a demo.
        self.nodes = nodes if len(nodes) <= MOST_NODES else ()
        self.now = now
        self._ahead = ahead
        self._grid = grid_seconds
        self._end = int((now - TOLD_SECONDS) // 60 * 60)
        # Only whole hours are written as if sealed; the one under way then is told by samples, as others are.
        self._sealed = self._end if len(nodes) > MANY_NODES else self._end // HOUR * HOUR
        hours = HOURS_SECONDS if len(nodes) <= MANY_NODES else MANY_HOURS_SECONDS
        self._begin = self._end // HOUR * HOUR - hours
        self._share = min(1.0, USUAL_NODES / max(1, len(nodes)))
        self._jobs: dict[str, list[Job]] = {}
        self._node_of: dict[str, tuple[str, int]] = {}
        self._lost_at = lost_since(now + ahead) - ahead
        self._lost = {gpu for node in self.nodes if (gpu := lost_gpu(node)) is not None}
        for node in self.nodes:
            for index, (gpu, jobs) in enumerate(
                past_jobs(node, self._begin + ahead, self._end + ahead).items()
            ):
                self._jobs[gpu] = [self._told(job, gpu) for job in jobs if self._is_before_loss(job, gpu)]
                self._node_of[gpu] = (node, index)
        self._outages = {node: list(self._outages_of(node)) for node in self.nodes}
        people = sorted({job.user for jobs in self._jobs.values() for job in jobs})
        self._crowds: tuple[tuple[str, ...], ...] = ((), *((person,) for person in people))

    def batch(self) -> Batch:
        """Where GPUs were, who ran what, and what went wrong."""
        return Batch(
            places=[self._place(gpu) for gpu in self._jobs],
            episodes=list(self._episodes()),
            events=list(self._events()),
            memories=self._memories(),
        )

    def begun_hour(self) -> Batch:
        """The samples of the hour that was under way when the nodes themselves begin to tell."""
        times = np.arange(self._sealed, self._end, STEP_SECONDS, dtype=np.float64)
        dice = np.random.default_rng(self._sealed)
        of_gpus: list[GpuSamples] = []
        of_hosts: list[HostSample] = []
        for node in self.nodes:
            seen = times[self._observed(node, times, STEP_SECONDS) > 0]
            gpus = [gpu for gpu, (its, _) in self._node_of.items() if its == node]
            columns = [self._gpu(gpu, seen, dice) for gpu in gpus]
            of_gpus += gpu_samples(gpus, columns, seen, self._crowds)
            of_hosts += host_samples(node, _host(seen, dice), seen)
        return Batch(gpu_samples=of_gpus, host_samples=of_hosts)

    def figures(self) -> Iterator[Invented]:
        """The figures of all tiers."""
        minutes = int(MINUTES_SECONDS * self._share) // HOUR * HOUR
        full = int(FULL_SECONDS * self._share) // 60 * 60
        yield from self._tier("full", self._sealed - full, self._grid)
        fine = list(self._tier("minutes", self._end // HOUR * HOUR - minutes, 60))
        yield from fine
        step = COARSE_SECONDS if len(self.nodes) <= USUAL_NODES else HOUR
        coarse = self._tier("minutes", self._begin, step, end=self._end // HOUR * HOUR - minutes)
        for old, new in zip(coarse, fine, strict=True):
            if old.kind == "gpu":
                # GPU-hours are counted as finely as it is known.
                yield old._replace(tier=None)
            yield _in_hours(old)
            yield _in_hours(new)

    def _tier(self, tier: Tier, start: int, step: int, end: int | None = None) -> Iterator[Invented]:
        """One tier from a moment on, GPUs and hosts."""
        end = self._sealed if end is None else end
        times = np.arange(start, end, step, dtype=np.float64) + step / 2
        dice = np.random.default_rng(start)
        gpus = list(self._jobs)
        columns = [self._gpu(gpu, times, dice) for gpu in gpus]
        by_node = {node: self._observed(node, times, step) for node in self.nodes}
        observed = np.stack([by_node[self._node_of[gpu][0]] for gpu in gpus])
        cells = _cells(columns, observed, GPU_FIGURES, (start, step))
        yield Invented("gpu", tier, gpus, cells, self._crowds)
        hosts = [_host(times, dice) for _ in self.nodes]
        seen = np.stack(list(by_node.values()))
        yield Invented("host", tier, list(self.nodes), _cells(hosts, seen, HOST_FIGURES, (start, step)))

    def _gpu(self, gpu: str, times: Floats, dice: np.random.Generator) -> dict[str, Floats]:
        """The figures of one GPU at these moments; what cannot be told is no number."""
        jobs, (node, _) = self._jobs[gpu], self._node_of[gpu]
        use, share = np.zeros(len(times)), np.zeros(len(times))
        holder = np.zeros(len(times))
        verdict = np.full(len(times), float(VERDICT_CODES["free"]))
        for job in jobs:
            began, ended = job.started_at, job.ends_at
            span = slice(*np.searchsorted(times, (began, ended)).tolist())
            use[span] = _work(job, len(times[span]), dice)
            share[span] = job.memory_share
            holder[span] = self._crowds.index((job.user,))
            is_idle = (job.style == "idle") & (times[span] - began >= IDLE_AFTER_SECONDS)
            verdict[span] = np.where(is_idle, VERDICT_CODES["idle"], VERDICT_CODES["busy"])
        told = {**_figures(hardware_of(node), use, share), "verdict": verdict, "holders": holder}
        if gpu in self._lost:
            since = int(np.searchsorted(times, self._lost_at))
            for figure in told.values():
                figure[since:] = np.nan
            verdict[since:] = VERDICT_CODES["broken"]
        return told

    def _observed(self, node: str, times: Floats, step: int) -> Ints:
        seen = np.full(len(times), step * 1000, np.int32)
        for outage in self._outages[node]:
            seen[slice(*np.searchsorted(times, (outage.start, outage.end)).tolist())] = 0
        return seen

    def _outages_of(self, node: str) -> Iterator[Outage]:
        """A few hours, once in a while, when a node was away."""
        dice = Random(f"{node}/outages")  # noqa: S311 - invented
        for _ in range(dice.choice((0, 1, 1, 2))):
            start = self._end // HOUR * HOUR - dice.uniform(0.2, 30) * DAY
            yield Outage(start, start + dice.uniform(0.3, 4) * HOUR)

    def _place(self, gpu: str) -> Place:
        node, index = self._node_of[gpu]
        hardware = hardware_of(node)
        return Place(
            gpu=gpu,
            node=node,
            index=index,
            label=str(index),
            model=short_model(hardware.model),
            memory_total_bytes=hardware.memory_bytes,
            start=float(self._begin),
        )

    def _is_before_loss(self, job: Job, gpu: str) -> bool:
        return gpu not in self._lost or job.started_at - self._ahead < self._lost_at

    def _told(self, job: Job, gpu: str) -> Job:
        """A job by the board's clock; the loss of its GPU ends it."""
        end = job.ends_at - self._ahead
        if gpu in self._lost:
            end = min(end, self._lost_at)
        return replace(job, started_at=job.started_at - self._ahead, ends_at=end)

    def _episodes(self) -> Iterator[Episode]:
        for gpu, jobs in self._jobs.items():
            node, index = self._node_of[gpu]
            for job in jobs:
                yield Episode(
                    gpu=gpu,
                    node=node,
                    label=str(index),
                    person=job.user,
                    program=job.program,
                    start=job.started_at,
                    # What goes on has begun here all the same; how it ends the nodes themselves tell.
                    end=job.ends_at if job.ends_at <= self._end else None,
                    memory_peak_bytes=int(hardware_of(node).memory_bytes * job.memory_share),
                    utilization_mean_percent={"train": 92.0, "infer": 35.0}.get(job.style, 0.0),
                )

    def _events(self) -> Iterator[Event]:
        for node, outages in self._outages.items():
            for one in outages:
                yield Event(node=node, kind="lost", start=one.start, end=one.end)
        for gpu in self._lost:
            node, _ = self._node_of[gpu]
            yield Event(node=node, gpu=gpu, kind=LOST_KIND, start=self._lost_at, detail=LOST_DETAIL)

    def _memories(self) -> dict[str, bytes]:
        """What a board that had run all the while would know of its nodes."""
        found: dict[str, dict[str, Remembered]] = {node: {} for node in self.nodes}
        for gpu, (node, _) in self._node_of.items():
            found[node][gpu] = self._remembered(gpu)
        return {
            node: msgspec.msgpack.encode(NodeMemory(at=float(self._end), gpus=gpus))
            for node, gpus in found.items()
        }

    def _remembered(self, gpu: str) -> Remembered:
        if gpu in self._lost:
            return Remembered(word="broken", word_since=self._lost_at)
        jobs, end = self._jobs[gpu], self._end
        last = jobs[-1] if jobs else None
        if last is None:
            return Remembered(seen_empty_since=float(self._begin), is_taken=False, word="free")
        if last.ends_at <= end:
            left = last.ends_at
            return Remembered(
                quiet_since=left, empty_since=left, is_taken=False, word="free", word_since=left
            )
        began = last.started_at
        if last.style != "idle":
            return Remembered(is_taken=True, word="busy", word_since=began)
        word: VerdictWord = "idle" if end - began >= IDLE_AFTER_SECONDS else "busy"
        return Remembered(quiet_since=began, is_taken=True, word=word, word_since=began)


def _work(job: Job, count: int, dice: np.random.Generator) -> Floats:
    """How busy a job keeps its GPU, as `percent` of the simulated nodes does."""
    if job.style == "idle":
        return np.zeros(count)
    mean, spread, least = (35, 12, 0) if job.style == "infer" else (93, 4, 60)
    return np.clip(np.rint(dice.normal(mean, spread, count)), least, 100)


def _figures(hardware: Hardware, use: Floats, share: Floats) -> dict[str, Floats]:
    """What follows from how busy a GPU is, as the simulated nodes say it."""
    is_held = share > 0
    limit, memory = hardware.power_limit_watts, hardware.memory_bytes
    return {
        "utilization_percent": use,
        "memory_used_bytes": share * memory + 4 * MIB,
        "memory_utilization_percent": np.rint(use * 0.6),
        "power_watts": limit * (0.08 + 0.0088 * use),
        "power_limit_watts": np.full(len(use), limit),
        "temperature_celsius": 34 + use * 0.38,
        **({"fan_percent": np.minimum(100, 20 + use * 0.6)} if hardware.has_fan else {}),
        "graphics_clock_mhz": np.where(is_held, 1755.0, 210.0),
        "memory_clock_mhz": np.where(is_held, 9501.0, 405.0),
        "throttled": np.zeros(len(use)),
    }


def _host(times: Floats, dice: np.random.Generator) -> dict[str, Floats]:
    return {
        "load_percent": dice.uniform(10, 78, len(times)),
        "memory_used_bytes": dice.uniform(0.2, 0.6, len(times)) * 512 * GIB,
        "memory_total_bytes": np.full(len(times), 512.0 * GIB),
        "disk_used_percent": np.full(len(times), dice.uniform(40, 95)),
    }


def _cells(
    columns: list[dict[str, Floats]], observed: Ints, figures: tuple[Figure, ...], grid: tuple[int, int]
) -> Cells:
    start, step = grid
    values = {}
    for place, figure in enumerate(figures):
        table = np.full(observed.shape, NOTHING, np.int32)
        for row, told in enumerate(columns):
            if figure.name in told:
                numbers = np.rint(told[figure.name] / figure.step)
                table[row] = np.where(np.isnan(numbers), NOTHING, numbers)
        table[observed == 0] = NOTHING
        values[place] = Values(table, table, table)
    return Cells(start * 1000, step * 1000, observed, values)


def _in_hours(past: Invented) -> Invented:
    """The same by whole hours."""
    kind: Kind = past.kind
    states = frozenset(place_of(kind, figure.name) for figure in FIGURES[kind] if figure.is_state)
    cells = past.cells.part(past.cells.start_ms, past.cells.end_ms // HOUR_MS * HOUR_MS)
    hours = fold(cells, HOUR_MS // cells.cell_ms, states)
    return past._replace(tier="hours", cells=hours)
