"""GPUs' names as nodes give them: one that is no plain word is replaced, since people hand it to shells.

And whose instances they are: a card has instances, an instance has none.
"""

import re
from operator import attrgetter
from typing import Final

from msgspec.structs import replace

from gpuboard.model.report import GpuReading, NodeReport, Problem

_PLAIN: Final = r"[A-Za-z0-9][A-Za-z0-9._:/-]*+"
_is_plain: Final = re.compile(_PLAIN).fullmatch
# The same of many names, one a line, in a fraction of the time.
_are_plain_lines: Final = re.compile(rf"(?:{_PLAIN}\n)*+").fullmatch

_uuid_of: Final = attrgetter("uuid")
_parent_of: Final = attrgetter("mig_parent_uuid")
_NO_PARENT: Final = {None}

# What each GPU is called from now on; None: it is not in the report, and its name is no plain word.
_Names = dict[str, str | None]


def with_plain_names(report: NodeReport) -> NodeReport:
    """The report with every GPU under a plain name, and with instances of cards alone."""
    parents = set(map(_parent_of, report.gpus or ())) - _NO_PARENT
    names = [*map(_uuid_of, report.gpus or ()), *parents]
    if report.problems:
        names += [problem.gpu_uuid for problem in report.problems if problem.gpu_uuid is not None]
    # All at once: most reports are well, and there are many.
    if not _are_plain(names):
        report = _with_plain_uuids(report, names)
    return _with_plain_parents(report) if parents else report


def _with_plain_uuids(report: NodeReport, names: list[str]) -> NodeReport:
    """The report with every GPU under a plain name; one that has none is called `node:index`."""
    gpus = report.gpus or ()
    plain: _Names = {name: name if _is_plain(name) else None for name in names}
    indexes = {gpu.uuid: gpu.index for gpu in gpus}
    for gpu in gpus:
        plain[gpu.uuid] = plain[gpu.uuid] or f"{report.node}:{_place(gpu, indexes)}"
    return replace(
        report,
        gpus=report.gpus and tuple([_renamed(gpu, plain) for gpu in gpus]),
        problems=tuple([_about(problem, plain) for problem in report.problems]),
    )


def _with_plain_parents(report: NodeReport) -> NodeReport:
    """The report with instances of cards alone: what is an instance itself, or of itself, has none."""
    parents = {gpu.uuid: gpu.mig_parent_uuid for gpu in report.gpus or () if gpu.mig_parent_uuid is not None}
    odd = {uuid for uuid, parent in parents.items() if parent in parents}
    if not odd:
        return report
    gpus = [replace(gpu, mig_parent_uuid=None) if gpu.uuid in odd else gpu for gpu in report.gpus or ()]
    return replace(report, gpus=tuple(gpus))


def _are_plain(names: list[str]) -> bool:
    lines = "\n".join([*names, ""])
    return _are_plain_lines(lines) is not None and lines.count("\n") == len(names)


def _place(gpu: GpuReading, indexes: dict[str, int]) -> str:
    # Instances are counted from nought on each card.
    card = None if gpu.mig_parent_uuid is None else indexes.get(gpu.mig_parent_uuid)
    return f"{gpu.index}" if card is None else f"{card}/{gpu.index}"


def _renamed(gpu: GpuReading, plain: _Names) -> GpuReading:
    uuid = plain[gpu.uuid]
    parent = None if gpu.mig_parent_uuid is None else plain[gpu.mig_parent_uuid]
    is_synthetic = gpu.uuid_is_synthetic or uuid != gpu.uuid
    return replace(gpu, uuid=uuid, uuid_is_synthetic=is_synthetic, mig_parent_uuid=parent)


def _about(problem: Problem, plain: _Names) -> Problem:
    return problem if problem.gpu_uuid is None else replace(problem, gpu_uuid=plain[problem.gpu_uuid])
