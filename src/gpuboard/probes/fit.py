"""Reports kept within what a board accepts: one that is too large would be refused whole."""

from typing import Final

from msgspec.structs import replace

from gpuboard.model.report import GpuProcess, GpuReading, NodeReport
from gpuboard.probes.problems import problem
from gpuboard.wire.clean import clean_facts
from gpuboard.wire.report import MAX_PROCESSES, MAX_REPORT_BYTES

MAX_GPUS: Final = 64
MAX_PROBLEMS: Final = 128
# Roughly what the words of processes may take; the rest of a report is small.
TEXT_BUDGET: Final = MAX_REPORT_BYTES // 2


def fit(report: NodeReport) -> NodeReport:
    """Return the report, cleaned, and without what would make the board refuse it."""
    report = fit_processes(clean_facts(report))
    gpus = report.gpus
    problems = report.problems
    if gpus is not None:
        gpus = gpus[:MAX_GPUS]
        if sum(_words(process) for gpu in gpus for process in gpu.processes or ()) > TEXT_BUDGET:
            gpus = tuple(_without_extras(gpu) for gpu in gpus)
    if gpus is report.gpus and problems is report.problems and len(problems) <= MAX_PROBLEMS:
        return report
    return replace(report, gpus=gpus, problems=problems[:MAX_PROBLEMS])


def fit_processes(report: NodeReport) -> NodeReport:
    """Return the report with as many processes as a board accepts, and a problem if some are left out."""
    gpus = report.gpus or ()
    found = sum(len(gpu.processes or ()) for gpu in gpus)
    if found <= MAX_PROCESSES:
        return report
    left_out = problem("too-many-processes", f"{MAX_PROCESSES} of {found}")
    return replace(report, gpus=_largest_only(gpus), problems=(left_out, *report.problems))


def _largest_only(gpus: tuple[GpuReading, ...]) -> tuple[GpuReading, ...]:
    ranked: list[tuple[bool, int, int, int]] = []
    for place, gpu in enumerate(gpus):
        sizes = [process.memory_used_bytes or 0 for process in gpu.processes or ()]
        by_size = sorted(range(len(sizes)), key=lambda at: -sizes[at])
        # The largest of each GPU stays in any case: a GPU without processes would look free.
        ranked += [(rank > 0, -sizes[at], place, at) for rank, at in enumerate(by_size)]
    kept = {(place, at) for _, _, place, at in sorted(ranked)[:MAX_PROCESSES]}
    return tuple(
        gpu
        if gpu.processes is None
        else replace(gpu, processes=tuple(p for at, p in enumerate(gpu.processes) if (place, at) in kept))
        for place, gpu in enumerate(gpus)
    )


def _words(process: GpuProcess) -> int:
    numbers = 8 * len(process.children)
    return len((process.program or "").encode()) + len((process.arguments or "").encode()) + numbers


def _without_extras(gpu: GpuReading) -> GpuReading:
    if not gpu.processes:
        return gpu
    bare = tuple(replace(process, arguments=None, children=()) for process in gpu.processes)
    return replace(gpu, processes=bare)
