"""One device, asked through NVML one value after the other; a value that fails is None and stops no other."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

import pynvml

from gpuboard.model.chips import shares_host_memory
from gpuboard.model.problems import problem
from gpuboard.model.report import GpuProcess, GpuReading, Problem
from gpuboard.probes.base import Touch
from gpuboard.probes.host import memory_figures
from gpuboard.probes.nvml_errors import FATAL, QUIET, SESSION_OVER, device_kind
from gpuboard.probes.nvml_processes import merge_processes
from gpuboard.probes.nvml_values import (
    memory_within,
    mig_profile,
    performance_state,
    whole_within,
    within,
)
from gpuboard.probes.throttling import reasons_in_mask
from gpuboard.wire.clean import clean_text

# The binding publishes no types.
Handle = Any
# NVLinks that are active, and all of them.
Links = tuple[int | None, int | None]

# The values without which nobody can say whether a device is in use.
_VITAL: Final = frozenset({"memory", "processes"})
_OUTDATED: Final = (
    pynvml.NVMLError_FunctionNotFound,
    pynvml.NVMLError_ArgumentVersionMismatch,
)


def text(question: Callable[[], str]) -> str:
    """A text from NVML; its binding refuses bytes that are not UTF-8, which some drivers give."""
    try:
        answer = question()
    except UnicodeDecodeError as error:
        answer = error.object.decode(errors="replace")
    return clean_text(answer)[:256]


class LeftOut(Exception):  # noqa: N818 - a wish of the caller's, not a mistake
    """The caller no longer wants this device to be asked."""


class DeviceReader:
    """Asks one device and keeps what went wrong."""

    def __init__(self, handle: Handle, *, uuid: str, index: int, touch: Touch) -> None:
        self._handle = handle
        self._uuid = uuid
        self._index = index
        self._touch = touch
        self._failures: dict[str, pynvml.NVMLError] = {}
        self._needs_reset = False

    def read(self, links: Links | None = None) -> GpuReading:
        """Read all that a whole GPU can tell, except for its NVLinks where they are known already.

        Raises:
            LeftOut: the caller gave this device up meanwhile.
            NVMLError: the device is lost, or the driver is gone.
        """
        model = self._model()
        used, total = self._memory()
        unified = total is None and "memory" not in self._failures and shares_host_memory(model)
        if unified:
            used, total = memory_figures() or (None, None)
        rates = self._ask("utilization", pynvml.nvmlDeviceGetUtilizationRates)
        ecc = self._ask("ecc mode", pynvml.nvmlDeviceGetEccMode)
        throttling = self._ask(
            "throttle reasons",
            pynvml.nvmlDeviceGetCurrentClocksEventReasons,
            pynvml.nvmlDeviceGetCurrentClocksThrottleReasons,
        )
        persistence = self._ask("persistence mode", pynvml.nvmlDeviceGetPersistenceMode)
        active, links_in_all = links or self._links()
        return GpuReading(
            uuid=self._uuid,
            index=self._index,
            model=model,
            memory_used_bytes=used,
            memory_total_bytes=total,
            memory_unified=unified,
            utilization_percent=within(rates and float(rates.gpu), 0, 100),
            memory_utilization_percent=within(rates and float(rates.memory), 0, 100),
            temperature_celsius=within(self._temperature(), -50, 200),
            # A fan may be driven beyond what its maker calls full.
            fan_percent=within(self._number("fan", pynvml.nvmlDeviceGetFanSpeed), 0, 200),
            power_watts=self._watts("power", pynvml.nvmlDeviceGetPowerUsage),
            power_limit_watts=self._watts("power limit", pynvml.nvmlDeviceGetEnforcedPowerLimit),
            graphics_clock_mhz=self._clock("graphics clock", pynvml.NVML_CLOCK_GRAPHICS),
            memory_clock_mhz=self._clock("memory clock", pynvml.NVML_CLOCK_MEM),
            performance_state=performance_state(
                self._ask("performance state", pynvml.nvmlDeviceGetPerformanceState)
            ),
            throttle_reasons=None if throttling is None else reasons_in_mask(throttling),
            ecc_enabled=None if ecc is None else bool(ecc[0]),
            ecc_corrected_errors=self._ecc(ecc, pynvml.NVML_MEMORY_ERROR_TYPE_CORRECTED),
            ecc_uncorrected_errors=self._ecc(ecc, pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED),
            pcie_bus_id=self._ask("bus id", _bus_id),
            pcie_generation=self._pcie("pcie generation", pynvml.nvmlDeviceGetCurrPcieLinkGeneration),
            pcie_width=self._pcie("pcie width", pynvml.nvmlDeviceGetCurrPcieLinkWidth),
            nvlink_active=active,
            nvlink_total=links_in_all,
            persistence_mode=None if persistence is None else bool(persistence),
            processes=self._processes(total),
        )

    def read_instance(self, parent: GpuReading) -> GpuReading:
        """Read what a MIG instance can tell of itself; the rest belongs to the whole GPU."""
        used, total = self._memory()
        name = self._model()
        attributes = (
            None if name and "MIG" in name else self._ask("profile", pynvml.nvmlDeviceGetAttributes_v2)
        )
        rates = self._ask("utilization", pynvml.nvmlDeviceGetUtilizationRates)
        return GpuReading(
            uuid=self._uuid,
            index=self._index,
            model=parent.model,
            memory_used_bytes=used,
            memory_total_bytes=total,
            utilization_percent=within(rates and float(rates.gpu), 0, 100),
            pcie_bus_id=parent.pcie_bus_id,
            mig_parent_uuid=parent.uuid,
            mig_profile=mig_profile(
                name,
                slices=attributes and attributes.gpuInstanceSliceCount,
                megabytes=attributes and attributes.memorySizeMB,
            ),
            processes=self._processes(total),
        )

    def problems(self, reading: GpuReading) -> list[Problem]:
        """What was wrong with the device while it was read."""
        found = []
        if self._needs_reset or self._recovery_is_due():
            found.append(problem("gpu-needs-reset", gpu_uuid=self._uuid))
        if reading.ecc_uncorrected_errors:
            detail = f"{reading.ecc_uncorrected_errors} since the driver was loaded"
            found.append(problem("ecc-uncorrected", detail, gpu_uuid=self._uuid))
        if self._failures:
            # No answer to any vital question is about the device, not about the values.
            dead = self._failures.keys() >= _VITAL
            kind = device_kind(self._failures["memory"].value) if dead else "sensor-error"
            found.append(problem(kind, _list(self._failures), gpu_uuid=self._uuid))
        return found

    def _ask(self, what: str, *questions: Callable[[Any], Any]) -> Handle:
        """Ask for one value, in the newest way that the driver knows; None when it cannot tell."""
        # Before each question, so that a driver that is merely slow can be told from one that hangs.
        if not self._touch(self._uuid):
            raise LeftOut
        try:
            return _first_known(questions, self._handle)
        except pynvml.NVMLError as error:
            if error.value in FATAL or error.value in SESSION_OVER:
                raise
            if error.value == pynvml.NVML_ERROR_RESET_REQUIRED:
                self._needs_reset = True
            elif error.value not in QUIET:
                self._failures[what] = error
            return None

    def _number(self, what: str, *questions: Callable[[Any], Any]) -> float | None:
        answer = self._ask(what, *questions)
        return None if answer is None else float(answer)

    def _model(self) -> str | None:
        name: str | None = self._ask("name", lambda handle: text(lambda: pynvml.nvmlDeviceGetName(handle)))
        return name or None

    def _memory(self) -> tuple[int | None, int | None]:
        # The second version leaves out what the driver itself reserves, as nvidia-smi does.
        info = self._ask(
            "memory",
            lambda handle: pynvml.nvmlDeviceGetMemoryInfo(handle, version=pynvml.nvmlMemory_v2),
            pynvml.nvmlDeviceGetMemoryInfo,
        )
        return (None, None) if info is None else memory_within(int(info.used), int(info.total))

    def _temperature(self) -> float | None:
        sensor = pynvml.NVML_TEMPERATURE_GPU
        return self._number(
            "temperature",
            lambda handle: pynvml.nvmlDeviceGetTemperature(handle, sensor),
            lambda handle: pynvml.nvmlDeviceGetTemperatureV(handle, sensor),
        )

    def _watts(self, what: str, question: Callable[[Any], Any]) -> float | None:
        milliwatts = self._number(what, question)
        return None if milliwatts is None else within(milliwatts / 1000, 0, 10_000)

    def _clock(self, what: str, kind: int) -> int | None:
        return whole_within(
            self._ask(what, lambda handle: pynvml.nvmlDeviceGetClockInfo(handle, kind)), 0, 20_000
        )

    def _pcie(self, what: str, question: Callable[[Any], Any]) -> int | None:
        return whole_within(self._ask(what, question), 1, 64)

    def _links(self) -> Links:
        """How many NVLinks are active, and how many there are; nothing where they cannot all be told."""
        states: list[bool] = []
        for link in range(pynvml.NVML_NVLINK_MAX_LINKS):
            state = self._ask("nvlink", partial(_link_state, link=link))
            if state is None:
                break
            states.append(bool(state))
        # A part of the links would look like a machine with fewer.
        return (None, None) if not states or "nvlink" in self._failures else (sum(states), len(states))

    def _ecc(self, mode: list[int] | None, kind: int) -> int | None:
        if not mode or not mode[0]:
            return None
        count = self._ask(
            "ecc errors",
            lambda handle: pynvml.nvmlDeviceGetTotalEccErrors(handle, kind, pynvml.NVML_VOLATILE_ECC),
        )
        return whole_within(count, 0, 2**53)

    def _recovery_is_due(self) -> bool:
        field = pynvml.NVML_FI_DEV_GET_GPU_RECOVERY_ACTION
        values = self._ask("recovery", lambda handle: pynvml.nvmlDeviceGetFieldValues(handle, [field]))
        if not values or values[0].nvmlReturn != pynvml.NVML_SUCCESS:
            return False
        return bool(values[0].value.uiVal != pynvml.NVML_GPU_RECOVERY_ACTION_NONE)

    def _processes(self, total: int | None) -> tuple[GpuProcess, ...] | None:
        compute = self._ask(
            "processes",
            pynvml.nvmlDeviceGetComputeRunningProcesses_v3,
            pynvml.nvmlDeviceGetComputeRunningProcesses_v2,
        )
        graphics = self._ask(
            "processes",
            pynvml.nvmlDeviceGetGraphicsRunningProcesses_v3,
            pynvml.nvmlDeviceGetGraphicsRunningProcesses_v2,
        )
        # A list of which a part failed could hide the very process that matters.
        if compute is None or "processes" in self._failures:
            return None
        shared = self._ask("mps processes", pynvml.nvmlDeviceGetMPSComputeRunningProcesses_v3)
        return merge_processes([*compute, *(shared or ())], graphics or (), total=total)


def _first_known(questions: Iterable[Callable[[Any], Any]], handle: Handle) -> Handle:
    *newer, oldest = questions
    for question in newer:
        try:
            return question(handle)
        except _OUTDATED:
            continue
    return oldest(handle)


def _link_state(handle: Handle, link: int) -> int | None:
    try:
        return int(pynvml.nvmlDeviceGetNvLinkState(handle, link))
    except pynvml.NVMLError_InvalidArgument:
        # One beyond the last.
        return None


def _bus_id(handle: Handle) -> str | None:
    return text(lambda: pynvml.nvmlDeviceGetPciInfo(handle).busId) or None


def _list(failures: dict[str, pynvml.NVMLError]) -> str:
    by_reason: dict[str, list[str]] = {}
    for what, error in failures.items():
        by_reason.setdefault(str(error), []).append(what)
    return "; ".join(f"{', '.join(what)} ({reason})" for reason, what in by_reason.items())
