"""The processes on a device, as NVML lists them."""

from collections.abc import Iterable
from typing import Final, Protocol

from gpuboard.model.report import GpuProcess, ProcessKind
from gpuboard.probes.nvml_values import memory_within

# When a device's own size is unknown, only what no device has is garbage.
_ANY_SIZE: Final = 1 << 50


class Entry(Protocol):
    """One line of NVML's lists."""

    pid: int
    # None where the driver cannot tell, as on Windows' subsystem for Linux.
    usedGpuMemory: int | None  # noqa: N815 - the driver's name


def merge_processes(
    compute: Iterable[Entry], graphics: Iterable[Entry], *, total: int | None
) -> tuple[GpuProcess, ...]:
    """One entry per process, though the driver lists one that both computes and draws twice."""
    computing = _sizes(compute, total)
    drawing = _sizes(graphics, total)
    return tuple(
        GpuProcess(
            pid=pid,
            kind=_kind(computes=pid in computing, draws=pid in drawing),
            memory_used_bytes=_larger(computing.get(pid), drawing.get(pid)),
        )
        for pid in sorted(computing.keys() | drawing.keys())
    )


def _sizes(entries: Iterable[Entry], total: int | None) -> dict[int, int | None]:
    sizes: dict[int, int | None] = {}
    for entry in entries:
        used, _ = memory_within(entry.usedGpuMemory, total or _ANY_SIZE)
        sizes[entry.pid] = _larger(sizes.get(entry.pid), used)
    return sizes


def _kind(*, computes: bool, draws: bool) -> ProcessKind:
    if computes and draws:
        return "both"
    return "compute" if computes else "graphics"


def _larger(one: int | None, other: int | None) -> int | None:
    known = [size for size in (one, other) if size is not None]
    return max(known, default=None)
