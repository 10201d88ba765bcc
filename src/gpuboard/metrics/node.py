"""What one node says, as metrics; under our own names or under those of dcgm-exporter."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from gpuboard.metrics.text import Family
from gpuboard.model.names import driver_index, gpu_labels, holder_name
from gpuboard.model.report import GpuReading, HostFacts, NodeReport
from gpuboard.model.units import MIB

ReadFigure = Callable[[GpuReading], float | None]


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


# name → (help, reading); every name ends in its unit.
GPU_METRICS: Final[Mapping[str, tuple[str, ReadFigure]]] = {
    "gpuboard_gpu_utilization_ratio": (
        "Share of time in which a kernel ran, 0 to 1.",
        lambda gpu: _scaled(gpu.utilization_percent, 0.01),
    ),
    "gpuboard_gpu_memory_utilization_ratio": (
        "Share of time in which memory was read or written, 0 to 1.",
        lambda gpu: _scaled(gpu.memory_utilization_percent, 0.01),
    ),
    "gpuboard_gpu_memory_used_bytes": ("Memory in use.", lambda gpu: gpu.memory_used_bytes),
    "gpuboard_gpu_memory_total_bytes": ("Memory in all.", lambda gpu: gpu.memory_total_bytes),
    "gpuboard_gpu_temperature_celsius": ("Temperature of the core.", lambda gpu: gpu.temperature_celsius),
    "gpuboard_gpu_fan_ratio": ("Fan speed, 0 to 1.", lambda gpu: _scaled(gpu.fan_percent, 0.01)),
    "gpuboard_gpu_power_watts": ("Power drawn.", lambda gpu: gpu.power_watts),
    "gpuboard_gpu_power_limit_watts": ("Power limit.", lambda gpu: gpu.power_limit_watts),
    "gpuboard_gpu_graphics_clock_hertz": ("Core clock.", lambda gpu: _scaled(gpu.graphics_clock_mhz, 1e6)),
    "gpuboard_gpu_memory_clock_hertz": ("Memory clock.", lambda gpu: _scaled(gpu.memory_clock_mhz, 1e6)),
    "gpuboard_gpu_ecc_corrected_errors": ("Corrected memory errors.", lambda gpu: gpu.ecc_corrected_errors),
    "gpuboard_gpu_ecc_uncorrected_errors": (
        "Memory errors that could not be corrected.",
        lambda gpu: gpu.ecc_uncorrected_errors,
    ),
    "gpuboard_gpu_throttled": (
        "Whether anything slows the GPU down.",
        lambda gpu: None if gpu.throttle_reasons is None else float(bool(gpu.throttle_reasons)),
    ),
    "gpuboard_gpu_processes": (
        "Processes on the GPU.",
        lambda gpu: None if gpu.processes is None else len(gpu.processes),
    ),
}

# The names, units and labels of dcgm-exporter, so that existing dashboards work unchanged.
DCGM_METRICS: Final[Mapping[str, tuple[str, ReadFigure]]] = {
    "DCGM_FI_DEV_SM_CLOCK": ("SM clock frequency (in MHz).", lambda gpu: gpu.graphics_clock_mhz),
    "DCGM_FI_DEV_MEM_CLOCK": ("Memory clock frequency (in MHz).", lambda gpu: gpu.memory_clock_mhz),
    "DCGM_FI_DEV_GPU_TEMP": ("GPU temperature (in C).", lambda gpu: gpu.temperature_celsius),
    "DCGM_FI_DEV_POWER_USAGE": ("Power draw (in W).", lambda gpu: gpu.power_watts),
    "DCGM_FI_DEV_GPU_UTIL": ("GPU utilization (in %).", lambda gpu: gpu.utilization_percent),
    "DCGM_FI_DEV_MEM_COPY_UTIL": ("Memory utilization (in %).", lambda gpu: gpu.memory_utilization_percent),
    "DCGM_FI_DEV_FB_USED": (
        "Framebuffer used (in MiB).",
        lambda gpu: _scaled(gpu.memory_used_bytes, 1 / MIB),
    ),
    "DCGM_FI_DEV_FB_FREE": ("Framebuffer free (in MiB).", lambda gpu: _scaled(_free(gpu), 1 / MIB)),
    "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL": (
        "Double-bit volatile ECC errors.",
        lambda gpu: gpu.ecc_uncorrected_errors,
    ),
}


def node_families(report: NodeReport, *, age_seconds: float) -> Iterator[Family]:
    """Everything about one node under our own names."""
    node = {"node": report.node}
    gpus = _labelled(report)
    for name, (text, read) in GPU_METRICS.items():
        samples = [({**node, **labels}, read(gpu)) for gpu, labels in gpus]
        yield Family(name=name, help=text, samples=samples)
    yield Family(
        name="gpuboard_gpu_info",
        help="What a GPU is; the value is always 1.",
        samples=[({**node, **labels, **_info(gpu)}, 1.0) for gpu, labels in gpus],
    )
    yield Family(
        name="gpuboard_gpu_user_memory_bytes",
        help="Memory that a user's processes hold.",
        samples=[
            ({**node, **labels, "user": user}, held)
            for gpu, labels in gpus
            for user, held in _held_by_user(gpu)
        ],
    )
    yield Family(
        name="gpuboard_node_problem",
        help="Something wrong on the node or one of its GPUs; 1 while it lasts.",
        samples=[({**node, "kind": p.kind, "uuid": p.gpu_uuid or ""}, 1.0) for p in report.problems],
    )
    yield from _host(report.host or HostFacts(), node)
    yield Family(
        name="gpuboard_node_sample_age_seconds",
        help="How old the newest sample is.",
        samples=[(node, round(age_seconds, 3))],
    )


def dcgm_families(report: NodeReport) -> Iterator[Family]:
    """The GPUs of one node under the names of dcgm-exporter."""
    for name, (text, read) in DCGM_METRICS.items():
        samples = [(_dcgm_labels(gpu, report), read(gpu)) for gpu in report.gpus or ()]
        yield Family(name=name, help=text, samples=samples)


def _host(host: HostFacts, node: dict[str, str]) -> Iterator[Family]:
    figures = {
        "gpuboard_node_load1": ("Load average of one minute.", host.load_1),
        "gpuboard_node_cpus": ("Number of CPUs.", host.cpu_count),
        "gpuboard_node_memory_used_bytes": ("Main memory in use.", host.memory_used_bytes),
        "gpuboard_node_memory_total_bytes": ("Main memory in all.", host.memory_total_bytes),
        "gpuboard_node_uptime_seconds": ("Time since boot.", host.uptime_seconds),
    }
    for name, (text, value) in figures.items():
        yield Family(name=name, help=text, samples=[(node, value)])


def _labelled(report: NodeReport) -> list[tuple[GpuReading, dict[str, str]]]:
    gpus = report.gpus or ()
    return [
        (gpu, {"gpu": label, "uuid": gpu.uuid}) for gpu, label in zip(gpus, gpu_labels(gpus), strict=True)
    ]


def _info(gpu: GpuReading) -> dict[str, str]:
    return {
        "model": gpu.model or "",
        "mig_profile": gpu.mig_profile or "",
        "pcie_bus_id": gpu.pcie_bus_id or "",
    }


def _dcgm_labels(gpu: GpuReading, report: NodeReport) -> dict[str, str]:
    host = report.host.hostname if report.host is not None else None
    return {
        "gpu": str(gpu.index),
        "UUID": gpu.uuid,
        "pci_bus_id": gpu.pcie_bus_id or "",
        "device": f"{gpu.vendor}{driver_index(gpu.index)}",
        "modelName": gpu.model or "",
        "Hostname": host or report.node,
    }


def _held_by_user(gpu: GpuReading) -> list[tuple[str, float]]:
    held: dict[str, float] = {}
    for process in gpu.processes or ():
        if process.memory_used_bytes is not None:
            owner = holder_name(process.user, process.uid)
            held[owner] = held.get(owner, 0.0) + process.memory_used_bytes
    return sorted(held.items())


def _free(gpu: GpuReading) -> int | None:
    if gpu.memory_total_bytes is None or gpu.memory_used_bytes is None:
        return None
    return gpu.memory_total_bytes - gpu.memory_used_bytes
