"""The GPUs of several vendors in one report: each under a number and a name of its own. Pure."""

from collections.abc import Iterable, Iterator
from typing import cast

from msgspec.structs import replace

from gpuboard.agent.driver import VendorReading
from gpuboard.model.names import NUMBERS_PER_VENDOR
from gpuboard.model.problems import BREAKING, ProblemKind, problem
from gpuboard.model.report import GpuReading, Problem


def beside_others(look: VendorReading, *, vendor: str, rank: int, node: str) -> VendorReading:
    """The same GPUs as they are told on a node that has those of other vendors too.

    Drivers number their own GPUs only, so the second vendor's begin at 1000. Nor may one vendor's trouble
    break the GPUs of another: what breaks a driver is said of each of its GPUs, and of the node in words
    that break nothing.
    """
    names = {
        gpu.uuid: f"{node}:{gpu.index + rank * NUMBERS_PER_VENDOR}"
        for gpu in look.gpus or ()
        if gpu.uuid_is_synthetic and gpu.mig_parent_uuid is None
    }
    gpus = None if look.gpus is None else tuple(_renumbered(gpu, rank, names) for gpu in look.gpus)
    problems = _named(_spread(look), vendor, names)
    return replace(look, gpus=gpus, problems=tuple(problems))


def _renumbered(gpu: GpuReading, rank: int, names: dict[str, str]) -> GpuReading:
    parent = gpu.mig_parent_uuid
    if parent is not None:
        # Instances are counted from nought on each card.
        return replace(gpu, mig_parent_uuid=names.get(parent, parent))
    return replace(gpu, uuid=names.get(gpu.uuid, gpu.uuid), index=gpu.index + rank * NUMBERS_PER_VENDOR)


def _spread(look: VendorReading) -> Iterator[Problem]:
    cards = [gpu for gpu in look.gpus or () if gpu.mig_parent_uuid is None]
    for trouble in look.problems:
        if trouble.gpu_uuid is not None or trouble.kind not in BREAKING:
            yield trouble
            continue
        yield problem("vendor-unreadable", trouble.text, since=trouble.since)
        yield from (replace(trouble, gpu_uuid=gpu.uuid) for gpu in cards)


def _named(problems: Iterable[Problem], vendor: str, names: dict[str, str]) -> Iterator[Problem]:
    """Each problem with whose GPUs it is about."""
    for trouble in problems:
        detail, place = trouble.detail, trouble.place
        if place is not None:
            place = f"{vendor} {place}"
        else:
            detail = f"{vendor}: {detail}" if detail else vendor
        uuid = trouble.gpu_uuid and names.get(trouble.gpu_uuid, trouble.gpu_uuid)
        kind = cast("ProblemKind", trouble.kind)
        yield problem(kind, detail, gpu_uuid=uuid, place=place, since=trouble.since)
