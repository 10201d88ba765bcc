"""A node's clock that is wrong: its times by ours, and a word about it. Pure."""

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from gpuboard.model.problems import problem
from gpuboard.model.report import GpuProcess, GpuReading, NodeReport, Problem, moved
from gpuboard.model.units import format_duration

# Less than this is a slow network or a clock that drifts as all do; nobody sees it in "since".
WRONG_FROM_SECONDS: Final = 30.0
# How far the offset may wander before times are shifted by another: it is never measured twice alike.
STEADY_SECONDS: Final = 2.0


def correction(offset: float | None, before: float) -> float:
    """By how much a node's times are shifted: its clock's offset, 0 while that is small or unknown."""
    if offset is None or abs(offset) < WRONG_FROM_SECONDS:
        return 0.0
    return before if before and abs(offset - before) <= STEADY_SECONDS else round(offset)


def by_our_clock(report: NodeReport, ahead: float) -> NodeReport:
    """The same report with the times that the node's clock gave as the board's clock would have."""
    gpus = None if report.gpus is None else gpus_moved(report.gpus, -ahead)
    return replace(report, gpus=gpus, problems=problems_moved(report.problems, -ahead))


def gpus_moved(gpus: Iterable[GpuReading], seconds: float) -> tuple[GpuReading, ...]:
    """The same GPUs with all times so much later."""
    return tuple([_gpu(gpu, seconds) for gpu in gpus])


def problems_moved(problems: Iterable[Problem], seconds: float) -> tuple[Problem, ...]:
    """The same problems, each since so much later."""
    return tuple([replace(one, since=moved(one.since, seconds)) if one.since else one for one in problems])


def clock_problem(ahead: float) -> Problem:
    """Say by how much a node's clock is wrong."""
    way = "ahead of" if ahead > 0 else "behind"
    return problem("clock-off", f"{format_duration(abs(ahead))} {way} the board's")


def _gpu(gpu: GpuReading, seconds: float) -> GpuReading:
    if not gpu.processes:
        return gpu
    return replace(gpu, processes=tuple([_process(process, seconds) for process in gpu.processes]))


def _process(process: GpuProcess, seconds: float) -> GpuProcess:
    return replace(process, started_at=moved(process.started_at, seconds))
