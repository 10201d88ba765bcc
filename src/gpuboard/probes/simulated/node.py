"""What a simulated node says at a moment."""

from functools import lru_cache
from random import Random
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gpuboard.model.problems import problem
from gpuboard.model.report import Address, Disk, GpuProcess, GpuReading, HostFacts, NodeReport, Problem
from gpuboard.model.units import GIB, MIB
from gpuboard.probes.simulated.jobs import HOUR, Job, current_job, jobs_between, percent

TEAMS: Final = ("vision", "nlp", "a100", "dgx")
LOST_KIND: Final = "gpu-lost"
LOST_DETAIL: Final = "Xid 79"


class Hardware(Struct, frozen=True):
    """What a kind of node is built of."""

    model: str
    memory_bytes: int
    power_limit_watts: float
    gpus: int
    has_fan: bool
    links: int | None = None


HARDWARE: Final = {
    "vision": Hardware("NVIDIA GeForce RTX 4090", 24_564 * MIB, 450.0, 8, has_fan=True),
    "nlp": Hardware("NVIDIA RTX A6000", 49_140 * MIB, 300.0, 8, has_fan=True),
    "a100": Hardware("NVIDIA A100-SXM4-80GB", 81_920 * MIB, 400.0, 8, has_fan=False, links=12),
    "dgx": Hardware("NVIDIA H100 80GB HBM3", 81_559 * MIB, 700.0, 8, has_fan=False, links=18),
}


def node_names(count: int) -> tuple[str, ...]:
    """Names for so many simulated nodes: vision-01, nlp-01, a100-01, dgx-01, and so on."""
    return tuple(f"{TEAMS[i % len(TEAMS)]}-{i // len(TEAMS) + 1:02d}" for i in range(count))


def simulate(
    node: str, now: float, *, seed: int = 1, interval: float = 5.0, lost_at: float | None = None
) -> NodeReport:
    """What a simulated node says at a moment; `lost_at` is when a GPU was lost that is."""
    hardware = hardware_of(node)
    traits = _traits(seed, node)
    readings = tuple(_gpu(seed, node, index, hardware, now) for index in range(hardware.gpus))
    since = lost_since(now) if lost_at is None else lost_at
    problems = tuple(_lost(gpu, since) for gpu in readings if gpu.index == traits.lost)
    return NodeReport(
        node=node,
        boot_id=f"{Random(f'{seed}/{node}/boot').getrandbits(64):016x}",
        sequence=int(now * 1000),
        taken_at=now,
        interval_seconds=interval,
        probe="simulated",
        host=_host(seed, node, hardware, now),
        gpus=readings,
        problems=problems,
    )


def moved(report: NodeReport, seconds: float) -> NodeReport:
    """The same report at another time: what began an hour before it still did."""

    def later(moment: float | None) -> float | None:
        return None if moment is None else moment + seconds

    def moved_gpu(gpu: GpuReading) -> GpuReading:
        if gpu.processes is None:
            return gpu
        processes = (replace(process, started_at=later(process.started_at)) for process in gpu.processes)
        return replace(gpu, processes=tuple(processes))

    return replace(
        report,
        taken_at=later(report.taken_at),
        gpus=tuple(moved_gpu(gpu) for gpu in report.gpus or ()),
        problems=tuple(replace(problem, since=later(problem.since)) for problem in report.problems),
    )


class Traits(Struct, frozen=True):
    """What stays the same about one node."""

    lost: int | None
    hot: int | None
    load: float


def past_jobs(node: str, start: float, end: float, *, seed: int = 1) -> dict[str, list[Job]]:
    """Who had which GPU of a simulated node in a span, by UUID."""
    load = _traits(seed, node).load
    return {
        _uuid(seed, node, index): jobs_between(seed, node, index, load, (start, end))
        for index in range(hardware_of(node).gpus)
    }


def lost_gpu(node: str, *, seed: int = 1) -> str | None:
    """The GPU of a simulated node that is lost, if one is."""
    lost = _traits(seed, node).lost
    return None if lost is None else _uuid(seed, node, lost)


def lost_since(now: float) -> float:
    """When GPUs were lost that a demo shows as lost from its start on: some hours before."""
    return now - now % (6 * HOUR) - 2 * HOUR


def hardware_of(node: str) -> Hardware:
    """What a simulated node is built of."""
    return HARDWARE.get(node.rsplit("-", 1)[0], HARDWARE["a100"])


@lru_cache(maxsize=8192)
def _traits(seed: int, node: str) -> Traits:
    random = Random(f"{seed}/{node}/traits")
    # The third node of a small demo has a lost GPU, the second a hot one: both must be seen at once.
    lost = 6 if node == "a100-01" or random.random() < 0.02 else None
    hot = 3 if node == "nlp-01" or random.random() < 0.04 else None
    return Traits(lost=lost, hot=hot, load=random.uniform(0.75, 1.0))


@lru_cache(maxsize=65536)
def _uuid(seed: int, node: str, index: int) -> str:
    digits = f"{Random(f'{seed}/{node}/{index}/uuid').getrandbits(128):032x}"
    return f"GPU-{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def _gpu(seed: int, node: str, index: int, hardware: Hardware, now: float) -> GpuReading:
    traits = _traits(seed, node)
    uuid = _uuid(seed, node, index)
    if index == traits.lost:
        return GpuReading(
            uuid=uuid, index=index, model=hardware.model, memory_total_bytes=hardware.memory_bytes
        )
    job = current_job(seed, node, index, traits.load, now)
    jitter = Random(f"{seed}/{node}/{index}/{int(now // 5)}")
    use = percent(job, now, jitter)
    heat = 34 + use * 0.38 + (14 if index == traits.hot and job is not None else 0)
    held = int(hardware.memory_bytes * job.memory_share) if job is not None else 0
    return GpuReading(
        uuid=uuid,
        index=index,
        model=hardware.model,
        memory_used_bytes=held + 4 * MIB,
        memory_total_bytes=hardware.memory_bytes,
        utilization_percent=use,
        memory_utilization_percent=round(use * 0.6),
        temperature_celsius=round(heat + jitter.uniform(-1, 1)),
        fan_percent=round(min(100, 20 + use * 0.6)) if hardware.has_fan else None,
        power_watts=round(hardware.power_limit_watts * (0.08 + 0.0088 * use), 1),
        power_limit_watts=hardware.power_limit_watts,
        graphics_clock_mhz=210 if job is None else 1755,
        memory_clock_mhz=405 if job is None else 9501,
        performance_state="P8" if job is None else "P2",
        throttle_reasons=("thermal",) if index == traits.hot and use > 80 else (),
        ecc_enabled=None if hardware.has_fan else True,
        ecc_corrected_errors=None if hardware.has_fan else 0,
        ecc_uncorrected_errors=None if hardware.has_fan else 0,
        pcie_bus_id=f"0000:{0x1B + index * 8:02x}:00.0",
        pcie_generation=4,
        pcie_width=16,
        nvlink_active=hardware.links,
        nvlink_total=hardware.links,
        persistence_mode=True,
        processes=() if job is None else (_process(job, held),),
    )


def _process(job: Job, held: int) -> GpuProcess:
    return GpuProcess(
        pid=job.pid,
        started_at=job.started_at,
        user=job.user,
        uid=job.uid,
        memory_used_bytes=held,
        kind="compute",
        program=job.program,
        state="sleeping" if job.style == "idle" else "running",
    )


def _lost(gpu: GpuReading, since: float) -> Problem:
    return problem(LOST_KIND, LOST_DETAIL, gpu_uuid=gpu.uuid, since=since)


def _host(seed: int, node: str, hardware: Hardware, now: float) -> HostFacts:
    random = Random(f"{seed}/{node}/host")
    jitter = Random(f"{seed}/{node}/host/{int(now // 5)}")
    number = random.randrange(10, 250)
    # A day before it begins anew: no job is older than its machine.
    booted = now - now % (40 * 24 * HOUR) - 24 * HOUR + number * 60
    return HostFacts(
        hostname=f"{node}.demo.example",
        operating_system="Debian GNU/Linux 12 (bookworm)",
        kernel="6.1.0-28-amd64",
        uptime_seconds=now - booted,
        cpu_count=64,
        load_1=round(jitter.uniform(6, 50), 2),
        load_5=round(random.uniform(8, 45), 2),
        load_15=round(random.uniform(8, 45), 2),
        memory_used_bytes=int(jitter.uniform(0.2, 0.6) * 512 * GIB),
        memory_total_bytes=512 * GIB,
        disks=(
            Disk(mount="/", used_bytes=int(random.uniform(0.2, 0.9) * 900 * GIB), total_bytes=900 * GIB),
            Disk(
                mount="/data",
                used_bytes=int(random.uniform(0.3, 0.99) * 14000 * GIB),
                total_bytes=14000 * GIB,
            ),
        ),
        addresses=(Address(interface="eno1", address=f"192.0.2.{number}"),),
        driver_version="570.124.06",
        cuda_version="12.8",
        agent_version=None if hardware.gpus == 0 else "0.1.0",
    )
