"""The probe that reads NVIDIA devices through the nvidia-smi command."""

from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec

from gpuboard.model.errors import ProbeFailed
from gpuboard.model.names import in_order, slot_of
from gpuboard.model.problems import problem
from gpuboard.model.report import MAX_GPUS, GpuReading, Problem
from gpuboard.probes.base import Devices, Touch, touch_all
from gpuboard.probes.inventory import blank, name_of, replaced
from gpuboard.probes.nvidia_smi.listing import lacks_mig_names, name_instances, parse_list
from gpuboard.probes.nvidia_smi.messages import unopened_gpus
from gpuboard.probes.nvidia_smi.run import CommandRunner, RunCommand
from gpuboard.probes.nvidia_smi.tables import attach_apps, parse_apps_csv, parse_gpu_csv
from gpuboard.probes.nvidia_smi.xml import parse_xml
from gpuboard.wire.text import decode_text

# Columns that every driver since 2016 knows: one unknown column makes nvidia-smi refuse them all.
GPU_FIELDS: Final = (
    *("index", "uuid", "name", "pci.bus_id", "driver_version", "persistence_mode", "pstate"),
    *("memory.used", "memory.total", "utilization.gpu", "utilization.memory"),
    *("temperature.gpu", "fan.speed", "power.draw", "power.limit", "clocks.gr", "clocks.mem"),
)
_DOCUMENT: Final = ("-q", "-x")
APP_FIELDS: Final = ("gpu_uuid", "pid", "process_name", "used_memory")


class NvidiaSmiProbe:
    """Reads NVIDIA devices through the nvidia-smi command; remembers which there were."""

    name = "nvidia-smi"

    def __init__(
        self,
        *,
        run: RunCommand | None = None,
        node: str = "local",
        command: str = "nvidia-smi",
        parse: Callable[[bytes], Devices] | None = None,
    ) -> None:
        """Prepare to read; `parse` may turn the driver's document into devices as `parse_xml` does."""
        self._run = run or CommandRunner()
        self._node = node
        self._command = command
        self._parse = parse or partial(parse_xml, node=node)
        self._seen: dict[str, GpuReading] = {}

    def read(self, touch: Touch = touch_all) -> Devices:
        """Return one reading per device, in the driver's order; see the probe contract."""
        # One command reads all devices, so none can be left out alone.
        if not touch(None):
            raise ProbeFailed(problem("driver-hung"))
        return self._completed(self._read())

    def _completed(self, devices: Devices) -> Devices:
        if lacks_mig_names(devices):
            devices = name_instances(devices, parse_list(self._run((self._command, "-L"))))
        return self._with_missing(devices)

    def close(self) -> None:
        """Give the driver back: nothing is held between reads."""

    def _read(self) -> Devices:
        output = self._run((self._command, *_DOCUMENT))
        try:
            return self._parse(output)
        except ProbeFailed as error:
            others = self._others(output) if error.problem.kind == "gpu-lost" else []
            if others:
                # To older drivers one lost GPU is reason enough to say nothing about the rest.
                return parse_xml(
                    self._run((self._command, *_DOCUMENT, "-i", ",".join(others))), node=self._node
                )
            if error.problem.kind not in {"unreadable-output", "truncated-output"}:
                raise
        return self._read_tables()

    def _others(self, output: bytes) -> list[str]:
        """Name the GPUs of before, without those that the driver complains about."""
        lost = {gpu.bus_id[-12:] for gpu in unopened_gpus(decode_text(output)) if gpu.bus_id}
        return [uuid for uuid, gpu in self._seen.items() if lost and slot_of(gpu.pcie_bus_id) not in lost]

    def _read_tables(self) -> Devices:
        form = "--format=csv,noheader,nounits"
        gpus = self._run((self._command, f"--query-gpu={','.join(GPU_FIELDS)}", form))
        devices = parse_gpu_csv(gpus, GPU_FIELDS, node=self._node)
        try:
            apps = parse_apps_csv(
                self._run((self._command, f"--query-compute-apps={','.join(APP_FIELDS)}", form)), APP_FIELDS
            )
        except ProbeFailed as error:
            if error.problem.kind != "unreadable-output":
                raise
            # The GPUs are known, who is on them is not.
            return msgspec.structs.replace(devices, problems=(*devices.problems, error.problem))
        return attach_apps(devices, apps)

    def _with_missing(self, devices: Devices) -> Devices:
        """Add the GPUs that were there before: one that fell off the bus is broken, not gone."""
        devices = self._recognised(devices)
        for uuid in replaced(self._seen.values(), devices.gpus):
            del self._seen[uuid]
        here = {gpu.uuid for gpu in devices.gpus}
        missing = [gpu for uuid, gpu in self._seen.items() if uuid not in here]
        for gpu in devices.gpus:
            # MIG instances come and go by their owner's will; a GPU without a UUID cannot be recognised.
            if not gpu.mig_parent_uuid and not gpu.uuid_is_synthetic:
                self._seen[gpu.uuid] = gpu
        if not missing:
            return devices
        # A node may name other GPUs each time: of more than a report holds, the first to go are forgotten.
        forgotten = [gpu.uuid for gpu in missing[: max(0, len(self._seen) - MAX_GPUS)]]
        for uuid in forgotten:
            del self._seen[uuid]
        missing = missing[len(forgotten) :]
        problems = devices.problems
        if not any(found.kind == "truncated-output" for found in problems):
            problems = (*problems, *(_lost(gpu, total=len(self._seen)) for gpu in missing))
        # The others have moved up in the document; the board keeps their numbers, or takes the new ones.
        gpus = [*devices.gpus, *map(blank, missing)]
        return msgspec.structs.replace(devices, gpus=in_order(gpus), problems=problems)

    def _recognised(self, devices: Devices) -> Devices:
        """Give GPUs that the driver could not open the names that they had before."""
        by_bus = {slot_of(gpu.pcie_bus_id): gpu for gpu in self._seen.values()}
        names: dict[str | None, GpuReading] = {
            gpu.uuid: _named(gpu, by_bus[slot_of(gpu.pcie_bus_id)])
            for gpu in devices.gpus
            if gpu.uuid_is_synthetic
            and not gpu.mig_parent_uuid
            and gpu.pcie_bus_id
            and slot_of(gpu.pcie_bus_id) in by_bus
        }
        if not names:
            return devices
        gpus = tuple(names.get(gpu.uuid, gpu) for gpu in devices.gpus)
        problems = tuple(
            found if gpu is None else msgspec.structs.replace(found, gpu_uuid=gpu.uuid, place=name_of(gpu))
            for found in devices.problems
            for gpu in (names.get(found.gpu_uuid),)
        )
        return msgspec.structs.replace(devices, gpus=in_order(gpus), problems=problems)


def _named(gpu: GpuReading, seen: GpuReading) -> GpuReading:
    return msgspec.structs.replace(
        gpu,
        uuid=seen.uuid,
        uuid_is_synthetic=False,
        index=seen.index,
        model=gpu.model or seen.model,
        memory_total_bytes=gpu.memory_total_bytes or seen.memory_total_bytes,
    )


def _lost(gpu: GpuReading, *, total: int) -> Problem:
    return problem("gpu-lost", f"one of {total}", gpu_uuid=gpu.uuid, place=name_of(gpu))
