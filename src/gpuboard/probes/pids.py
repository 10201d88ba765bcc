"""Lists of processes that cannot be true: unreadable, not believed."""

from typing import Final

from msgspec.structs import replace

from gpuboard.model.problems import problem
from gpuboard.model.report import GpuReading, NodeReport
from gpuboard.probes.inventory import name_of

# No kernel gives out others. Drivers 535.43 to 535.86 lay the list out in another way than the rest: read as
# usual, most processes have the pid 0 or 4294967295, and the sizes are not theirs.
_FIRST_PID: Final = 1
_LAST_PID: Final = 2**31 - 1


def with_believable_processes(report: NodeReport) -> NodeReport:
    """Return the report; a GPU whose list names a process that cannot be has an unknown list instead."""
    doubtful = [gpu for gpu in report.gpus or () if not _is_believable(gpu)]
    if not doubtful:
        return report
    uuids = {gpu.uuid for gpu in doubtful}
    gpus = tuple(replace(gpu, processes=None) if gpu.uuid in uuids else gpu for gpu in report.gpus or ())
    problems = (
        problem(
            "sensor-error",
            "its processes: the driver names some that cannot be, as versions 535.43 to 535.86 do; update it",
            gpu_uuid=gpu.uuid,
            place=name_of(gpu),
        )
        for gpu in doubtful
    )
    return replace(report, gpus=gpus, problems=(*report.problems, *problems))


def _is_believable(gpu: GpuReading) -> bool:
    return all(_FIRST_PID <= process.pid <= _LAST_PID for process in gpu.processes or ())
