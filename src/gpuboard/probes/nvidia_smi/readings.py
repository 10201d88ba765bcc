"""One GPU's texts, by whichever names its driver uses, turned into one reading and its problems."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from gpuboard.model.chips import shares_host_memory
from gpuboard.model.problems import ProblemKind, problem
from gpuboard.model.report import GpuProcess, GpuReading, Problem
from gpuboard.probes.inventory import name_of
from gpuboard.probes.nvidia_smi.messages import unopened_gpus
from gpuboard.probes.nvidia_smi.values import DeviceTexts, Silence, count, number, silence, size, switch, word
from gpuboard.probes.throttling import reasons_by_name

# Each line: what we call it, then all its names, newest first: paths of the XML, columns of the CSV.
# The power of a whole module (Grace Hopper) is no GPU's power, so it is not here.
NAMES: Final[dict[str, tuple[str, ...]]] = {
    "uuid": ("uuid", "gpu_uuid"),
    "model": ("product_name", "name", "gpu_name"),
    "bus_id": ("pci/pci_bus_id", "pci.bus_id", "gpu_bus_id"),
    "memory_used": ("fb_memory_usage/used", "memory.used"),
    "memory_total": ("fb_memory_usage/total", "memory.total"),
    "utilization": ("utilization/gpu_util", "utilization.gpu"),
    "memory_utilization": ("utilization/memory_util", "utilization.memory"),
    "temperature": ("temperature/gpu_temp", "temperature.gpu"),
    "fan": ("fan_speed", "fan.speed"),
    "power": (
        "gpu_power_readings/power_draw",
        "gpu_power_readings/average_power_draw",
        "gpu_power_readings/instant_power_draw",
        "power_readings/power_draw",
        "power.draw",
        "power.draw.average",
        "power.draw.instant",
    ),
    "power_limit": (
        "gpu_power_readings/current_power_limit",
        "power_readings/enforced_power_limit",
        "power_readings/power_limit",
        "enforced.power.limit",
        "power.limit",
    ),
    "graphics_clock": ("clocks/graphics_clock", "clocks.current.graphics", "clocks.gr"),
    "memory_clock": ("clocks/mem_clock", "clocks.current.memory", "clocks.mem"),
    "performance_state": ("performance_state", "pstate"),
    "ecc_mode": ("ecc_mode/current_ecc", "ecc.mode.current"),
    "pcie_generation": (
        "pci/pci_gpu_link_info/pcie_gen/current_link_gen",
        "pcie.link.gen.current",
        "pcie.link.gen.gpucurrent",
    ),
    "pcie_width": ("pci/pci_gpu_link_info/link_widths/current_link_width", "pcie.link.width.current"),
    "persistence_mode": ("persistence_mode",),
    "mig_mode": ("mig_mode/current_mig", "mig.mode.current"),
    "reset_required": ("gpu_reset_status/reset_required", "reset_status.reset_required"),
    "recovery": ("gpu_recovery_action",),
}
_CORRECTED: Final = ("ecc_errors/volatile/single_bit/total", "ecc.errors.corrected.volatile.total")
_CORRECTED_PARTS: Final = ("ecc_errors/volatile/sram_correctable", "ecc_errors/volatile/dram_correctable")
_UNCORRECTED: Final = (
    "ecc_errors/volatile/double_bit/total",
    "ecc_error_count/volatile_count/sram_uncorrectable",
    "ecc.errors.uncorrected.volatile.total",
)
_UNCORRECTED_PARTS: Final = (
    "ecc_errors/volatile/sram_uncorrectable",
    "ecc_errors/volatile/sram_uncorrectable_parity",
    "ecc_errors/volatile/sram_uncorrectable_secded",
    "ecc_errors/volatile/dram_uncorrectable",
)
ECC: Final = (*_CORRECTED, *_CORRECTED_PARTS, *_UNCORRECTED, *_UNCORRECTED_PARTS)
THROTTLE: Final = (
    "clocks_event_reasons/clocks_event_reason_",
    "clocks_throttle_reasons/clocks_throttle_reason_",
    "clocks_event_reasons.",
    "clocks_throttle_reasons.",
)
_TROUBLES: Final[tuple[tuple[Silence, ProblemKind], ...]] = (
    ("refused", "no-permission"),
    ("error", "sensor-error"),
)
_percent: Final = partial(number, high=1000)
_watts: Final = partial(number, high=100_000)
_clock: Final = partial(count, high=100_000)
_lanes: Final = partial(count, high=100)
# Those that stand for themselves: the field that each fills, and how its text is read.
FIGURES: Final[dict[str, tuple[str, Callable[[str | None], Any]]]] = {
    "memory_used": ("memory_used_bytes", size),
    "utilization": ("utilization_percent", _percent),
    "memory_utilization": ("memory_utilization_percent", _percent),
    "temperature": ("temperature_celsius", partial(number, low=-273, high=1000)),
    "fan": ("fan_percent", _percent),
    "power": ("power_watts", _watts),
    "power_limit": ("power_limit_watts", _watts),
    "graphics_clock": ("graphics_clock_mhz", _clock),
    "memory_clock": ("memory_clock_mhz", _clock),
    "performance_state": ("performance_state", word),
    "pcie_generation": ("pcie_generation", _lanes),
    "pcie_width": ("pcie_width", _lanes),
}


class Device(NamedTuple):
    """One GPU's reading with its problems."""

    reading: GpuReading
    problems: tuple[Problem, ...]


def read_device(
    texts: Mapping[str, str], *, index: int, node: str, processes: tuple[GpuProcess, ...] | None
) -> Device:
    """Turn one GPU's texts into a reading; a GPU that hides its UUID is called by node and index."""
    found = DeviceTexts(texts)
    given = {key: found.first(names) for key, names in NAMES.items()}
    uuid = word(given["uuid"])
    total = size(given["memory_total"]) or None
    model = word(given["model"])
    reading = GpuReading(
        uuid=uuid or f"{node}:{index}",
        uuid_is_synthetic=uuid is None,
        index=index,
        model=model,
        memory_total_bytes=total,
        memory_unified=total is None and shares_host_memory(model),
        throttle_reasons=_throttle_reasons(found),
        ecc_enabled=switch(given["ecc_mode"]),
        ecc_corrected_errors=_errors(found, _CORRECTED, _CORRECTED_PARTS),
        ecc_uncorrected_errors=_errors(found, _UNCORRECTED, _UNCORRECTED_PARTS),
        pcie_bus_id=word(given["bus_id"]),
        persistence_mode=switch(given["persistence_mode"]),
        mig_enabled=switch(given["mig_mode"]) or False,
        processes=processes,
        **{field: read(given[key]) for key, (field, read) in FIGURES.items()},
    )
    return Device(reading, tuple(_problems(reading, found, given)))


def unopened_devices(text: str, *, taken: Iterable[int], node: str) -> Iterator[Device]:
    """Make readings without figures for the GPUs that the driver names but cannot open."""
    used = {*taken}
    for gpu in unopened_gpus(text):
        free = next(number for number in range(len(used) + 1) if number not in used)
        index = free if gpu.number is None else gpu.number
        used.add(index)
        uuid = f"{node}:{gpu.bus_id or index}"
        reading = GpuReading(uuid=uuid, uuid_is_synthetic=True, index=index, pcie_bus_id=gpu.bus_id)
        yield Device(reading, (problem(gpu.kind, gpu.reason, gpu_uuid=uuid, place=name_of(reading)),))


def _errors(found: DeviceTexts, names: tuple[str, ...], parts: tuple[str, ...]) -> int | None:
    known = count(found.first(names))
    return found.total(parts) if known is None else known


def _throttle_reasons(found: DeviceTexts) -> tuple[str, ...] | None:
    states = found.starting(*THROTTLE)
    known = {name: text.strip().lower() for name, text in states.items() if silence(text) is None}
    return reasons_by_name(name for name, text in known.items() if text == "active") if known else None


def _problems(reading: GpuReading, found: DeviceTexts, given: Mapping[str, str | None]) -> list[Problem]:
    told = partial(problem, gpu_uuid=reading.uuid, place=name_of(reading))
    problems = []
    if "lost" in found.silent:
        problems.append(told("gpu-lost"))
    recovery = word(given["recovery"])
    if "reset" in found.silent or switch(given["reset_required"]) or _wants_reset(recovery):
        problems.append(told("gpu-needs-reset"))
    if reading.ecc_uncorrected_errors:
        detail = f"{reading.ecc_uncorrected_errors} since the driver was loaded"
        problems.append(told("ecc-uncorrected", detail))
    for reason, kind in _TROUBLES:
        fields = found.silent.get(reason)
        if fields:
            problems.append(told(kind, ", ".join(fields)))
    return problems


def _wants_reset(recovery: str | None) -> bool:
    return recovery is not None and any(word in recovery.lower() for word in ("reset", "reboot"))
