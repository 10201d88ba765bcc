"""A node's clock that is wrong: its times by ours, and a word about it. Pure."""

from typing import Final

from msgspec.structs import replace

from gpuboard.model.problems import problem
from gpuboard.model.report import GpuProcess, GpuReading, NodeReport, Problem, possible_time
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
    gpus = None if report.gpus is None else tuple([_gpu(gpu, ahead) for gpu in report.gpus])
    problems = tuple(
        [replace(each, since=_moment(each.since, ahead)) if each.since else each for each in report.problems]
    )
    return replace(report, gpus=gpus, problems=problems)


def clock_problem(ahead: float) -> Problem:
    """Say by how much a node's clock is wrong."""
    way = "ahead of" if ahead > 0 else "behind"
    return problem("clock-off", f"{format_duration(abs(ahead))} {way} the board's")


def _gpu(gpu: GpuReading, ahead: float) -> GpuReading:
    if not gpu.processes:
        return gpu
    return replace(gpu, processes=tuple([_process(process, ahead) for process in gpu.processes]))


def _process(process: GpuProcess, ahead: float) -> GpuProcess:
    return replace(process, started_at=_moment(process.started_at, ahead))


def _moment(at: float | None, ahead: float) -> float | None:
    return None if at is None else possible_time(at - ahead)
