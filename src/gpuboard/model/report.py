"""The report: everything one node says about itself at one moment.

`None` means "cannot tell" wherever it stands. It never becomes zero and never counts as free.
Times are Unix seconds (UTC); sizes are bytes; the rest carries its unit in its name.
"""

from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from gpuboard.model.node import NodeName

REPORT_VERSION: Final = 1
# Sixteen GPUs with seven instances each are 128.
MAX_GPUS: Final = 256
MAX_PROBLEMS: Final = 256
# Three of these make a node late: no node may say of itself that it is fresh for days.
LONGEST_INTERVAL_SECONDS: Final = 15 * 60.0

# Limits travel with the types, so that the decoder refuses what no honest node sends.
ShortText = Annotated[str, Meta(max_length=256)]
Text = Annotated[str, Meta(max_length=4096)]
Count = Annotated[int, Meta(ge=0, le=2**53)]
Bytes = Annotated[int, Meta(ge=0, le=2**53)]
Percent = Annotated[float, Meta(ge=0, le=1000)]
Celsius = Annotated[float, Meta(ge=-273, le=1000)]
Watts = Annotated[float, Meta(ge=0, le=100_000)]
Load = Annotated[float, Meta(ge=0, le=1e6)]
Seconds = Annotated[float, Meta(ge=0, le=1e12)]
LATEST_TIME: Final = 1e11
UnixTime = Annotated[float, Meta(ge=0, le=LATEST_TIME)]


def possible_time(at: float) -> float:
    """The nearest moment that can be told: what is reckoned from two times may be none."""
    return at if 0.0 <= at <= LATEST_TIME else min(max(0.0, at), LATEST_TIME)


def moved(at: float | None, seconds: float) -> float | None:
    """A moment so many seconds later, or earlier; None: nobody knows it."""
    return None if at is None else possible_time(at + seconds)


ProcessKind = Literal["compute", "graphics", "both"]
ProcessState = Literal["running", "sleeping", "disk-wait", "stopped", "zombie", "gone"]


class GpuProcess(Struct, frozen=True, kw_only=True, gc=False):
    """One process on a GPU; boot id, pid and start together are its identity."""

    pid: Count
    started_at: UnixTime | None = None
    user: ShortText | None = None
    uid: Count | None = None
    memory_used_bytes: Bytes | None = None
    kind: ProcessKind | None = None
    # The program and its script, never its arguments.
    program: Text | None = None
    # Present only where the node's owner opted in, and scrubbed there.
    arguments: Text | None = None
    state: ProcessState | None = None
    children: Annotated[tuple[Count, ...], Meta(max_length=512)] = ()


class GpuReading(Struct, frozen=True, kw_only=True, gc=False):
    """What one GPU said at one moment; a MIG instance is a GPU with a parent."""

    uuid: ShortText
    index: Count
    # The format had no UUID, so this one is made of node and index.
    uuid_is_synthetic: bool = False
    vendor: ShortText = "nvidia"
    model: ShortText | None = None
    memory_used_bytes: Bytes | None = None
    memory_total_bytes: Bytes | None = None
    # Memory shared with the host (Grace, Jetson): the figures are the host's.
    memory_unified: bool = False
    utilization_percent: Percent | None = None
    memory_utilization_percent: Percent | None = None
    temperature_celsius: Celsius | None = None
    fan_percent: Percent | None = None
    power_watts: Watts | None = None
    power_limit_watts: Watts | None = None
    graphics_clock_mhz: Count | None = None
    memory_clock_mhz: Count | None = None
    performance_state: ShortText | None = None
    throttle_reasons: Annotated[tuple[ShortText, ...], Meta(max_length=64)] | None = None
    ecc_enabled: bool | None = None
    ecc_corrected_errors: Count | None = None
    ecc_uncorrected_errors: Count | None = None
    pcie_bus_id: ShortText | None = None
    pcie_generation: Count | None = None
    pcie_width: Count | None = None
    # Links to other GPUs: how many carry data now, of how many there are.
    nvlink_active: Count | None = None
    nvlink_total: Count | None = None
    persistence_mode: bool | None = None
    mig_parent_uuid: ShortText | None = None
    mig_profile: ShortText | None = None
    # A parent whose memory is divided into instances: only the instances can be taken.
    mig_enabled: bool = False
    # None: the list of processes could not be read.
    processes: Annotated[tuple[GpuProcess, ...], Meta(max_length=512)] | None = None


class Disk(Struct, frozen=True, kw_only=True, gc=False):
    """One mounted file system."""

    mount: Text
    used_bytes: Bytes | None = None
    total_bytes: Bytes | None = None


class Address(Struct, frozen=True, kw_only=True, gc=False):
    """One address of the node, with the interface that has it."""

    interface: ShortText
    address: ShortText


class HostFacts(Struct, frozen=True, kw_only=True, gc=False):
    """What the machine around the GPUs said."""

    hostname: ShortText | None = None
    operating_system: ShortText | None = None
    kernel: ShortText | None = None
    uptime_seconds: Seconds | None = None
    cpu_count: Count | None = None
    load_1: Load | None = None
    load_5: Load | None = None
    load_15: Load | None = None
    memory_used_bytes: Bytes | None = None
    memory_total_bytes: Bytes | None = None
    disks: Annotated[tuple[Disk, ...], Meta(max_length=64)] = ()
    addresses: Annotated[tuple[Address, ...], Meta(max_length=64)] = ()
    driver_version: ShortText | None = None
    cuda_version: ShortText | None = None
    agent_version: ShortText | None = None


class Problem(Struct, frozen=True, kw_only=True, gc=False):
    """Something wrong on a node or one of its GPUs, with what to do about it."""

    kind: ShortText
    # What is wrong, in English; its kind and its detail are what other languages need.
    text: Text
    remedy: Text
    # Which versions, how many: the same in every language.
    detail: Text | None = None
    gpu_uuid: ShortText | None = None
    # Which GPU, for whoever does not see it beside its GPU: "GPU 3 (NVIDIA A100, GPU-…)".
    place: Text | None = None
    since: UnixTime | None = None


class NodeReport(Struct, frozen=True, kw_only=True, gc=False):
    """Everything one node says about itself at one moment; the unit that travels."""

    node: NodeName
    version: int = REPORT_VERSION
    boot_id: ShortText | None = None
    # Rises within a boot, also over a restart of the agent.
    sequence: Count | None = None
    # The node's own clock: shown as an offset, never trusted.
    taken_at: UnixTime | None = None
    # How old the sample was when it was sent, by the node's monotonic clock.
    age_seconds: Seconds = 0.0
    interval_seconds: Annotated[float, Meta(gt=0, le=86_400)] | None = None
    probe: ShortText | None = None
    host: HostFacts | None = None
    # None: the list of GPUs itself could not be read; () means that there are none.
    gpus: Annotated[tuple[GpuReading, ...], Meta(max_length=MAX_GPUS)] | None = ()
    problems: Annotated[tuple[Problem, ...], Meta(max_length=MAX_PROBLEMS)] = ()
