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
    report = clean_facts(report)
    gpus = report.gpus
    problems = report.problems
    if gpus is not None:
        gpus = gpus[:MAX_GPUS]
        if sum(len(gpu.processes or ()) for gpu in gpus) > MAX_PROCESSES:
            gpus = _largest_only(gpus)
            problems = (problem("too-many-processes", f"more than {MAX_PROCESSES}"), *problems)
        if sum(_words(process) for gpu in gpus for process in gpu.processes or ()) > TEXT_BUDGET:
            gpus = tuple(_without_extras(gpu) for gpu in gpus)
    if gpus is report.gpus and problems is report.problems and len(problems) <= MAX_PROBLEMS:
        return report
    return replace(report, gpus=gpus, problems=problems[:MAX_PROBLEMS])


def _largest_only(gpus: tuple[GpuReading, ...]) -> tuple[GpuReading, ...]:
    sizes = [process.memory_used_bytes or 0 for gpu in gpus for process in gpu.processes or ()]
    threshold = sorted(sizes, reverse=True)[MAX_PROCESSES - 1]
    # Of those just as large as the last that fits, only as many as there is room for.
    room = MAX_PROCESSES - sum(size > threshold for size in sizes)
    kept = []
    for gpu in gpus:
        processes = []
        for process in gpu.processes or ():
            size = process.memory_used_bytes or 0
            if size > threshold or (size == threshold and room > 0):
                room -= size == threshold
                processes.append(process)
        kept.append(gpu if gpu.processes is None else replace(gpu, processes=tuple(processes)))
    return tuple(kept)


def _words(process: GpuProcess) -> int:
    numbers = 8 * len(process.children)
    return len((process.program or "").encode()) + len((process.arguments or "").encode()) + numbers


def _without_extras(gpu: GpuReading) -> GpuReading:
    if not gpu.processes:
        return gpu
    bare = tuple(replace(process, arguments=None, children=()) for process in gpu.processes)
    return replace(gpu, processes=bare)
