"""Which GPUs are counted, and what each is called. Pure; the rows say it, and nobody decides it again."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from gpuboard.model.report import MAX_GPUS, GpuReading


class Place(NamedTuple):
    """What people call a GPU of a node, and whether it is one of those that are counted."""

    label: str
    counted: bool


_WHOLE: Final = tuple(Place(str(index), counted=True) for index in range(MAX_GPUS))


def places(gpus: Sequence[GpuReading]) -> list[Place]:
    """The places of one node's GPUs, in their order.

    A card that is cut into instances is not counted, its instances are; with none it counts once.
    """
    cut = {gpu.mig_parent_uuid for gpu in gpus}
    numbers = {gpu.uuid: gpu.index for gpu in gpus} if len(cut) > 1 else {}
    return [_place(gpu, cut, numbers) for gpu in gpus]


def _place(gpu: GpuReading, cut: set[str | None], numbers: dict[str, int]) -> Place:
    if gpu.mig_parent_uuid is not None:
        # Its card may be missing; then nobody knows the number of that.
        return Place(f"{numbers.get(gpu.mig_parent_uuid, '?')}:{gpu.index}", counted=True)
    if gpu.uuid in cut:
        return Place(str(gpu.index), counted=False)
    return _WHOLE[gpu.index] if gpu.index < MAX_GPUS else Place(str(gpu.index), counted=True)
