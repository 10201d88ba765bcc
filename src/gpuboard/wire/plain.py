"""A quick look at all texts of a report: whether any can need cleaning. Most reports are well, and many come.

To write the report as JSON and look at that says the same, and takes twice as long: most of a report is
figures.
"""

from collections.abc import Sequence
from itertools import chain
from operator import attrgetter
from typing import Final

from gpuboard.model.report import GpuProcess, NodeReport

# The texts of each kind of facts. What GPUs are called is left out: their names are plain by now.
_of_gpu: Final = attrgetter("vendor", "model", "performance_state", "pcie_bus_id", "mig_profile")
_of_process: Final = attrgetter("user", "program", "arguments")
_of_host: Final = attrgetter(
    "hostname", "operating_system", "kernel", "driver_version", "cuda_version", "agent_version"
)
_of_disk: Final = attrgetter("mount")
_of_address: Final = attrgetter("interface", "address")
_of_problem: Final = attrgetter("kind", "text", "remedy", "detail", "place")
_user_of: Final = attrgetter("user")
_model_of: Final = attrgetter("model")
_throttling_of: Final = attrgetter("throttle_reasons")


def is_plain_report(report: NodeReport, processes: Sequence[GpuProcess]) -> bool:
    """Whether no text of a report can need cleaning; False whenever in doubt.

    `processes` are those of all its GPUs, which have plain names. Of texts of blanks alone it sees those that
    people are called by, and models.
    """
    gpus = report.gpus or ()
    texts = [report.node, report.boot_id, report.probe]
    texts += chain.from_iterable(map(_of_gpu, gpus))
    texts += chain.from_iterable(map(_of_process, processes))
    texts += chain.from_iterable(filter(None, map(_throttling_of, gpus)))
    if report.host is not None:
        texts += _of_host(report.host)
        texts += map(_of_disk, report.host.disks)
        texts += chain.from_iterable(map(_of_address, report.host.addresses))
    if report.problems:
        texts += chain.from_iterable(map(_of_problem, report.problems))
    text = "".join(filter(None, texts))
    names = {*map(_user_of, processes), *map(_model_of, gpus)} - {None}
    # Others than ASCII's blanks are not plain either.
    return text.isascii() and text.isprintable() and all(map(str.strip, names))
