"""Reports kept within what a board accepts: one that is too large would be refused whole."""

from collections.abc import Callable, Sequence
from typing import Final

from msgspec.structs import replace

from gpuboard.model.problems import problem
from gpuboard.model.report import MAX_GPUS, MAX_PROBLEMS, GpuProcess, GpuReading, NodeReport, Problem
from gpuboard.probes.pids import with_believable_processes
from gpuboard.wire.clean import clean_facts, is_plain
from gpuboard.wire.report import MAX_PROCESSES, MAX_REPORT_BYTES, encode_report

# Room for what comes on top: the words about what is left out, a slow driver, the agent's own numbers.
_SPARE_BYTES: Final = 4096
_SPARE_PROBLEMS: Final = 4
# What is left of programs and of problems where all of them would be too long.
_SHORT: Final = 120


def fit(report: NodeReport) -> NodeReport:
    """Return the report, cleaned, and without what would make a board refuse it; a problem says what."""
    whole = with_believable_processes(report if is_plain(report) else clean_facts(report))
    fitted = _with_processes(_with_gpus(whole, MAX_GPUS), MAX_PROCESSES)
    fitted = _with_problems(fitted, MAX_PROBLEMS - _SPARE_PROBLEMS)
    left_out = []
    for what, without in _WITHOUT:
        if _is_small(fitted):
            break
        fitted = without(fitted)
        left_out.append(what)
    if not _is_small(fitted):
        fitted = _with_processes(fitted, sum(bool(gpu.processes) for gpu in fitted.gpus or ()))
    while not _is_small(fitted) and fitted.gpus:
        fitted = _with_gpus(fitted, len(fitted.gpus) * 7 // 8)
    return _told(fitted, whole, left_out)


def _told(fitted: NodeReport, whole: NodeReport, left_out: Sequence[str]) -> NodeReport:
    """Say what a report has lost, in front of its other problems."""
    if fitted is whole:
        return whole
    gpus, processes, problems = ((_counts(fitted)[at], _counts(whole)[at]) for at in range(3))
    if problems[0] < problems[1]:
        left_out = (*left_out, f"{problems[1] - problems[0]} of {problems[1]} problems")
    told: list[Problem] = []
    if gpus[0] < gpus[1]:
        told.append(problem("too-many-gpus", f"{gpus[0]} of {gpus[1]}"))
    if processes[0] < processes[1]:
        told.append(problem("too-many-processes", f"{processes[0]} of {processes[1]}"))
    if left_out:
        told.append(problem("report-too-large", ", ".join(left_out)))
    return replace(fitted, problems=(*told, *fitted.problems))


def _counts(report: NodeReport) -> tuple[int, int, int]:
    gpus = report.gpus or ()
    return len(gpus), sum(len(gpu.processes or ()) for gpu in gpus), len(report.problems)


def _is_small(report: NodeReport) -> bool:
    # As JSON, in which a report is longest.
    return len(encode_report(report)) <= MAX_REPORT_BYTES - _SPARE_BYTES


def _with_gpus(report: NodeReport, limit: int) -> NodeReport:
    return report if len(report.gpus or ()) <= limit else replace(report, gpus=(report.gpus or ())[:limit])


def _with_problems(report: NodeReport, limit: int) -> NodeReport:
    return report if len(report.problems) <= limit else replace(report, problems=report.problems[:limit])


def _with_processes(report: NodeReport, limit: int) -> NodeReport:
    """Keep the largest; the largest of each GPU in any case, as one without processes would look free."""
    if _counts(report)[1] <= limit:
        return report
    gpus = report.gpus or ()
    ranked: list[tuple[bool, int, int, int]] = []
    for place, gpu in enumerate(gpus):
        sizes = [process.memory_used_bytes or 0 for process in gpu.processes or ()]
        by_size = sorted(range(len(sizes)), key=lambda at: -sizes[at])
        ranked += [(rank > 0, -sizes[at], place, at) for rank, at in enumerate(by_size)]
    kept = {(place, at) for _, _, place, at in sorted(ranked)[:limit]}
    return _each_gpu(
        report,
        lambda place, gpu: tuple(p for at, p in enumerate(gpu.processes or ()) if (place, at) in kept),
    )


def _without_extras(report: NodeReport) -> NodeReport:
    return _each_process(report, lambda process: replace(process, arguments=None, children=()))


def _without_places(report: NodeReport) -> NodeReport:
    return (
        report if report.host is None else replace(report, host=replace(report.host, disks=(), addresses=()))
    )


def _with_short_texts(report: NodeReport) -> NodeReport:
    problems = tuple(replace(trouble, text=trouble.text[:_SHORT]) for trouble in report.problems)
    return _each_process(
        replace(report, problems=problems),
        lambda process: replace(process, program=process.program and process.program[:_SHORT]),
    )


# Given up one after the other, until a report is small enough; then processes, and in the end GPUs.
_WITHOUT: Final[Sequence[tuple[str, Callable[[NodeReport], NodeReport]]]] = (
    ("arguments and children of processes", _without_extras),
    ("disks and addresses", _without_places),
    ("the ends of long texts", _with_short_texts),
)


def _each_process(report: NodeReport, change: Callable[[GpuProcess], GpuProcess]) -> NodeReport:
    return _each_gpu(report, lambda _, gpu: tuple(change(process) for process in gpu.processes or ()))


def _each_gpu(
    report: NodeReport, processes: Callable[[int, GpuReading], tuple[GpuProcess, ...]]
) -> NodeReport:
    """Give the GPUs that have processes others; a list that could not be read stays unknown."""
    gpus = tuple(
        replace(gpu, processes=processes(place, gpu)) if gpu.processes else gpu
        for place, gpu in enumerate(report.gpus or ())
    )
    return report if report.gpus is None else replace(report, gpus=gpus)
