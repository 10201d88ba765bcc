"""`nvidia-smi -L`: the only place where most drivers tell the UUIDs and profiles of MIG instances."""

import re
from typing import Final, NamedTuple

import msgspec

from gpuboard.model.report import GpuReading, Problem
from gpuboard.probes.base import Devices
from gpuboard.wire.text import decode_text

_GPU: Final = re.compile(r"GPU (\d{1,4}): .*\(UUID: ([\w-]{1,200})\)\s*")
_MIG: Final = re.compile(r"\s+MIG (\S{1,60})\s+Device\s+(\d{1,4}): \(UUID: ([\w/-]{1,200})\)\s*")


class MigName(NamedTuple):
    """One MIG instance as the list names it."""

    parent_uuid: str
    number: int
    uuid: str
    profile: str


def parse_list(data: bytes) -> tuple[MigName, ...]:
    """Find the MIG instances in the list of devices; lines of other kinds are passed over."""
    found = []
    parent = None
    for line in decode_text(data).splitlines():
        if gpu := _GPU.fullmatch(line):
            parent = gpu[2]
        elif parent is not None and (mig := _MIG.fullmatch(line)):
            found.append(MigName(parent, int(mig[2]), mig[3], mig[1]))
    return tuple(found)


def lacks_mig_names(devices: Devices) -> bool:
    """Whether the list of devices would tell more: instances without UUID, or none where MIG is on."""
    parents = {gpu.mig_parent_uuid for gpu in devices.gpus}
    return any(
        (gpu.mig_parent_uuid and gpu.uuid_is_synthetic) or (gpu.mig_enabled and gpu.uuid not in parents)
        for gpu in devices.gpus
    )


def name_instances(devices: Devices, names: tuple[MigName, ...]) -> Devices:
    """Give the MIG instances their real UUIDs and profiles, and add those that only the list knows."""
    left = {(name.parent_uuid, name.number): name for name in names}
    renamed: dict[str, str] = {}
    gpus = []
    for gpu in devices.gpus:
        name = left.pop((gpu.mig_parent_uuid, gpu.index), None) if gpu.mig_parent_uuid else None
        if name is None:
            gpus.append(gpu)
            continue
        renamed[gpu.uuid] = name.uuid
        gpus.append(
            msgspec.structs.replace(gpu, uuid=name.uuid, uuid_is_synthetic=False, mig_profile=name.profile)
        )
    known = {gpu.uuid: gpu for gpu in gpus}
    for name in left.values():
        parent = known.get(name.parent_uuid)
        if parent is not None and name.uuid not in known:
            gpus.append(_bare_instance(name, parent))
    problems = tuple(_moved(problem, renamed) for problem in devices.problems)
    return msgspec.structs.replace(devices, gpus=tuple(gpus), problems=problems)


def _bare_instance(name: MigName, parent: GpuReading) -> GpuReading:
    return GpuReading(
        uuid=name.uuid,
        index=name.number,
        model=parent.model,
        pcie_bus_id=parent.pcie_bus_id,
        mig_parent_uuid=parent.uuid,
        mig_profile=name.profile,
    )


def _moved(problem: Problem, renamed: dict[str, str]) -> Problem:
    if problem.gpu_uuid not in renamed:
        return problem
    return msgspec.structs.replace(problem, gpu_uuid=renamed[problem.gpu_uuid])
