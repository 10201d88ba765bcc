"""The probe that asks NVIDIA's driver through its own library, NVML."""

import platform
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

import pynvml
from msgspec import Struct
from msgspec.structs import replace

from gpuboard.model.names import in_order
from gpuboard.model.problems import problem
from gpuboard.model.report import GpuReading, Problem
from gpuboard.probes.base import Devices, Touch, place, touch_all
from gpuboard.probes.inventory import Inventory, name_of, roll_call
from gpuboard.probes.nvml_device import DeviceReader, Handle, LeftOut, Links, text
from gpuboard.probes.nvml_errors import SESSION_OVER, device_kind, explain
from gpuboard.probes.nvml_values import cuda_version

Told = TypeVar("Told")

# NVML looks for devices only when it is opened; one that came back is found by opening it anew.
REOPEN_SECONDS: Final = 60.0
# Links seldom change, and each of them is a question of its own.
LINKS_SECONDS: Final = 60.0


class _Round:
    """What one round has gathered so far."""

    def __init__(self) -> None:
        self.gpus: list[GpuReading] = []
        self.problems: list[Problem] = []
        self.left_out: set[str] = set()
        # Places that exist but do not answer, with the reason.
        self.silent: dict[int, pynvml.NVMLError] = {}


class _Found(Struct, frozen=True):
    handle: Handle
    uuid: str
    index: int


class NvmlProbe:
    """Reads NVIDIA devices; holds one session open, and opens it again when the driver comes back."""

    name = "nvml"

    def __init__(
        self, *, root: Path = Path("/"), clock: Callable[[], float] = time.monotonic, host: str | None = None
    ) -> None:
        self._root = root
        self._clock = clock
        self._host = host or platform.node() or "localhost"
        self._opened_at: float | None = None
        self._is_whole = True
        self._inventory = Inventory()
        # Within one session a device keeps its index, so that a hang can be named before it is asked.
        self._uuids: dict[int, str] = {}
        self._links: dict[str, tuple[float, Links]] = {}

    def read(self, touch: Touch = touch_all) -> Devices:
        """Return one reading per device; see the contract."""
        touch(None)
        try:
            self._open()
            driver = text(pynvml.nvmlSystemGetDriverVersion)
            gathered = self._gather(touch)
            touch(None)
            cuda = cuda_version(_unless_it_fails(pynvml.nvmlSystemGetCudaDriverVersion_v2, None))
        except pynvml.NVMLError as error:
            self.close()
            raise explain(error, root=self._root) from None
        return self._whole(gathered, driver, cuda)

    def close(self) -> None:
        """Give the driver back; a later read opens it again."""
        if self._opened_at is not None:
            self._opened_at = None
            self._uuids.clear()
            self._links.clear()
            with suppress(pynvml.NVMLError):
                pynvml.nvmlShutdown()

    def _open(self) -> None:
        now = self._clock()
        if self._opened_at is not None and not self._is_whole and now - self._opened_at >= REOPEN_SECONDS:
            self.close()
        if self._opened_at is None:
            pynvml.nvmlInit()
            self._opened_at = now

    def _gather(self, touch: Touch) -> _Round:
        gathered = _Round()
        for index in range(pynvml.nvmlDeviceGetCount()):
            found = self._find(index, touch, gathered)
            if found is not None:
                self._read_device(found, touch, gathered)
        return gathered

    def _find(self, index: int, touch: Touch, gathered: _Round) -> _Found | None:
        """Look up the device at this index; None when it does not answer or is to be left out."""
        name = self._uuids.get(index) or place(index)
        if not touch(name):
            gathered.left_out.add(self._known_as(name, index))
            return None
        try:
            handle = pynvml.nvmlDeviceGetHandleByIndex(index)
            uuid = text(lambda: pynvml.nvmlDeviceGetUUID(handle))
        except pynvml.NVMLError as error:
            if error.value in SESSION_OVER:
                raise
            gathered.silent[index] = error
            return None
        self._uuids[index] = uuid
        if uuid != name and not touch(uuid):
            gathered.left_out.add(uuid)
            return None
        return _Found(handle, uuid, index)

    def _known_as(self, name: str, index: int) -> str:
        before = self._inventory.at(index)
        return before.uuid if before is not None and name == place(index) else name

    def _read_device(self, found: _Found, touch: Touch, gathered: _Round) -> None:
        reader = DeviceReader(found.handle, uuid=found.uuid, index=found.index, touch=touch)
        try:
            gpu = reader.read(self._known_links(found.uuid))
            self._remember_links(gpu)
            troubles = reader.problems(gpu)
            gpu = replace(gpu, mig_enabled=_is_divided(found.handle))
        except LeftOut:
            gathered.left_out.add(found.uuid)
            return
        except pynvml.NVMLError as error:
            if error.value in SESSION_OVER:
                raise
            gathered.silent[found.index] = error
            return
        gathered.gpus.append(gpu)
        gathered.problems.extend(troubles)
        if gpu.mig_enabled:
            instances = list(self._instances(found.handle, gpu, touch, gathered))
            theirs = {process.pid for instance in instances for process in instance.processes or ()}
            # The whole GPU lists its instances' processes too; they belong to one place only.
            own = gpu.processes and tuple(process for process in gpu.processes if process.pid not in theirs)
            gathered.gpus[-1:] = [replace(gpu, processes=own), *instances]

    def _known_links(self, uuid: str) -> Links | None:
        asked_at, links = self._links.get(uuid, (-LINKS_SECONDS, None))
        return links if self._clock() - asked_at < LINKS_SECONDS else None

    def _remember_links(self, gpu: GpuReading) -> None:
        if gpu.nvlink_total is not None and self._known_links(gpu.uuid) is None:
            self._links[gpu.uuid] = (self._clock(), (gpu.nvlink_active, gpu.nvlink_total))

    def _instances(
        self, handle: Handle, gpu: GpuReading, touch: Touch, gathered: _Round
    ) -> Iterator[GpuReading]:
        for index in range(_unless_it_fails(lambda: pynvml.nvmlDeviceGetMaxMigDeviceCount(handle), 0)):
            # Until the instance is known, a hang is its GPU's.
            touch(gpu.uuid)
            uuid = None
            try:
                instance = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, index)
                uuid = text(lambda instance=instance: pynvml.nvmlDeviceGetUUID(instance))  # type: ignore[misc]
                reader = DeviceReader(instance, uuid=uuid, index=index, touch=touch)
                reading = reader.read_instance(gpu)
                gathered.problems.extend(reader.problems(reading))
                yield reading
            except LeftOut:
                gathered.left_out.add(uuid or gpu.uuid)
            except pynvml.NVMLError as error:
                if error.value in SESSION_OVER:
                    raise
                if error.value != pynvml.NVML_ERROR_NOT_FOUND:
                    detail, place = f"MIG instance {index}: {error}", name_of(gpu)
                    gathered.problems.append(problem("sensor-error", detail, gpu_uuid=gpu.uuid, place=place))

    def _whole(self, gathered: _Round, driver: str, cuda: str | None) -> Devices:
        """Add the devices that were there before, or should be, and did not answer."""
        self._inventory.remember(gathered.gpus, left_out=gathered.left_out)
        missing = {
            gpu.uuid: gpu for gpu in self._inventory.missing(gathered.gpus, left_out=gathered.left_out)
        }
        problems = gathered.problems
        for index, error in gathered.silent.items():
            gpu = next(
                (gpu for gpu in missing.values() if gpu.index == index and not gpu.mig_parent_uuid), None
            )
            if gpu is None:
                gpu = GpuReading(uuid=f"{self._host}:{index}", uuid_is_synthetic=True, index=index)
                missing[gpu.uuid] = gpu
            kind = device_kind(error.value)
            # That it is lost, its kind says already.
            detail = None if kind == "gpu-lost" else str(error)
            problems.append(problem(kind, detail, gpu_uuid=gpu.uuid, place=name_of(gpu)))
        explained = {trouble.gpu_uuid for trouble in problems}
        for gpu in missing.values():
            if gpu.uuid not in explained and gpu.mig_parent_uuid not in explained:
                problems.append(problem("gpu-lost", gpu_uuid=gpu.uuid, place=name_of(gpu)))
        gpus = in_order([*gathered.gpus, *missing.values()])
        roll = roll_call(gpus, missing.keys())
        if roll is not None:
            problems.append(roll)
        if not gpus and not gathered.left_out:
            problems.append(problem("no-devices"))
        self._is_whole = not missing
        return Devices(gpus=gpus, problems=tuple(problems), driver_version=driver, cuda_version=cuda)


def _is_divided(handle: Handle) -> bool:
    mode = _unless_it_fails(lambda: pynvml.nvmlDeviceGetMigMode(handle)[0], None)
    return bool(mode == pynvml.NVML_DEVICE_MIG_ENABLE)


def _unless_it_fails(question: Callable[[], Told], otherwise: Told) -> Told:
    try:
        return question()
    except pynvml.NVMLError as error:
        if error.value in SESSION_OVER:
            raise
        return otherwise
