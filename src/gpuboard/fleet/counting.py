"""Which GPUs are counted. Pure; the rows say it, and nobody decides it again."""

from collections.abc import Collection, Sequence
from operator import attrgetter
from typing import Final, NamedTuple

from gpuboard.model.names import gpu_labels, is_part_of_model, short_model
from gpuboard.model.report import MAX_GPUS, GpuReading


class GpuTag(NamedTuple):
    """What people call a GPU of a node, and whether it is one of those that are counted."""

    label: str
    counted: bool


def _whole(index: int) -> GpuTag:
    return GpuTag(str(index), counted=True)


_parent_of: Final = attrgetter("mig_parent_uuid")
# Most nodes have whole GPUs only: theirs are made once.
_NONE_CUT: Final = {None}
_WHOLE: Final = tuple(map(_whole, range(MAX_GPUS)))


def gpu_tags(gpus: Sequence[GpuReading], ignore: Collection[str] = ()) -> list[GpuTag]:
    """The tags of one node's GPUs, in their order; `ignore` are parts of names of models."""
    cut = set(map(_parent_of, gpus))
    if cut == _NONE_CUT and not ignore:
        return [_WHOLE[gpu.index] if gpu.index < MAX_GPUS else _whole(gpu.index) for gpu in gpus]
    counted = [gpu.uuid not in cut and not (ignore and _is_ignored(gpu, ignore)) for gpu in gpus]
    return list(map(GpuTag, gpu_labels(gpus), counted))


def _is_ignored(gpu: GpuReading, ignore: Collection[str]) -> bool:
    """Whether the model is one of those that nobody computes on; as the driver or as people call it."""
    if gpu.model is None:
        return False
    names = (gpu.model, short_model(gpu.model))
    return any(is_part_of_model(part, *names) for part in ignore)
