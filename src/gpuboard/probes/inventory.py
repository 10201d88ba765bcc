"""Remembers every GPU that was seen here, so that one that goes missing is missed."""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from gpuboard.model.names import in_order, slot_of
from gpuboard.model.problems import place_name, problem
from gpuboard.model.report import GpuReading, Problem

_NOTHING: Final = frozenset[str]()


def blank(gpu: GpuReading) -> GpuReading:
    """The same GPU without anything that it said: only what it is."""
    return GpuReading(
        uuid=gpu.uuid,
        index=gpu.index,
        uuid_is_synthetic=gpu.uuid_is_synthetic,
        vendor=gpu.vendor,
        model=gpu.model,
        memory_total_bytes=gpu.memory_total_bytes,
        memory_unified=gpu.memory_unified,
        pcie_bus_id=gpu.pcie_bus_id,
        mig_parent_uuid=gpu.mig_parent_uuid,
        mig_profile=gpu.mig_profile,
        mig_enabled=gpu.mig_enabled,
    )


class Inventory:
    """What GPUs there are, as far as was ever seen."""

    def __init__(self) -> None:
        self._known: dict[str, GpuReading] = {}

    def remember(self, gpus: Iterable[GpuReading], *, left_out: Collection[str] = _NOTHING) -> None:
        """Note which GPUs answered; an instance of a GPU that answers without it was dissolved, not lost."""
        answered = {gpu.uuid: gpu for gpu in gpus if not gpu.uuid_is_synthetic}
        silent = [gpu for uuid, gpu in self._known.items() if uuid in left_out]
        gone = replaced(self._known.values(), [*answered.values(), *silent])
        self._known = {
            uuid: gpu
            for uuid, gpu in self._known.items()
            if uuid in left_out or not (gpu.mig_parent_uuid in answered or {uuid, gpu.mig_parent_uuid} & gone)
        }
        for uuid, gpu in answered.items():
            self._known[uuid] = blank(gpu)

    def missing(
        self, gpus: Iterable[GpuReading], *, left_out: Collection[str] = _NOTHING
    ) -> tuple[GpuReading, ...]:
        """Those seen before, but neither among these GPUs nor left out on purpose."""
        here = {gpu.uuid for gpu in gpus}.union(left_out)
        return tuple(
            gpu
            for uuid, gpu in self._known.items()
            if uuid not in here and gpu.mig_parent_uuid not in left_out
        )

    def family(self, uuid: str) -> tuple[GpuReading, ...]:
        """One GPU and its instances, as far as known."""
        return tuple(gpu for gpu in self._known.values() if uuid in (gpu.uuid, gpu.mig_parent_uuid))

    def at(self, index: int) -> GpuReading | None:
        """The GPU that was last seen at this index."""
        found = (gpu for gpu in self._known.values() if gpu.index == index and gpu.mig_parent_uuid is None)
        return next(found, None)

    def all(self) -> tuple[GpuReading, ...]:
        """Every GPU that was ever seen and not dissolved."""
        return in_order(self._known.values())


def replaced(known: Iterable[GpuReading], gpus: Iterable[GpuReading]) -> frozenset[str]:
    """The cards known before that are gone, because another has their place.

    That is their slot, or, while there are as many as before, their number.
    """
    before = {gpu.uuid: gpu for gpu in known if gpu.mig_parent_uuid is None}
    here = {gpu.uuid: gpu for gpu in gpus if gpu.mig_parent_uuid is None and not gpu.uuid_is_synthetic}
    new = [gpu for uuid, gpu in here.items() if uuid not in before]
    if not new:
        return _NOTHING
    gone = [gpu for uuid, gpu in before.items() if uuid not in here]
    slots = {slot_of(gpu.pcie_bus_id) for gpu in new} - {""}
    numbers = {gpu.index for gpu in new} if len(here) == len(before) else set[int]()
    return frozenset(gpu.uuid for gpu in gone if slot_of(gpu.pcie_bus_id) in slots or gpu.index in numbers)


def name_of(gpu: GpuReading) -> str:
    """A GPU as a sentence names it: `GPU 3 (NVIDIA A100, GPU-…)`."""
    what = "MIG instance" if gpu.mig_parent_uuid else "GPU"
    return place_name(gpu.index, gpu.uuid, gpu.model, what=what)


def roll_call(gpus: Sequence[GpuReading], absent: Collection[str]) -> Problem | None:
    """Say how many of the node's GPUs answer and which do not; None when all do."""
    whole = [gpu for gpu in gpus if gpu.mig_parent_uuid is None]
    lost = [gpu.uuid for gpu in whole if gpu.uuid in absent]
    if not lost:
        return None
    there = len(whole) - len(lost)
    return problem("gpus-missing", f"{there} of {len(whole)}, missing {', '.join(lost)}")
