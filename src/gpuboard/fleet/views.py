"""The fleet as people and programs see it: views and rows. Pure reading of the state."""

from gpuboard.fleet.activity import GpuMemory
from gpuboard.fleet.counting import Place, places
from gpuboard.fleet.node import Node
from gpuboard.fleet.state import Fleet
from gpuboard.model.names import holder_name
from gpuboard.model.report import GpuReading, HostFacts
from gpuboard.model.verdict import Reason, Verdict
from gpuboard.verdict import Holder
from gpuboard.wire.views import FleetView, GpuRow, GpuView, HolderView, NodeRow, NodeView, claim_view

_UNJUDGED = Verdict(word="unknown", reason=Reason(code="new", text="just arrived"))


def fleet_view(fleet: Fleet) -> FleetView:
    """All nodes, in the order of their names."""
    nodes = tuple(node_view(fleet, node) for node in sorted(fleet, key=lambda node: node.name))
    return FleetView(at=fleet.clock.now(), tier="names", nodes=nodes)


def node_view(fleet: Fleet, node: Node) -> NodeView:
    """Everything about one node."""
    return NodeView(
        name=node.name,
        display_name=fleet.names.nodes.get(node.name),
        state=node.freshness.state,
        reason=node.freshness.reason,
        source=node.source,
        sampled_at=node.sampled_at,
        received_at=node.received_at,
        interval_seconds=node.interval,
        clock_offset_seconds=node.clock_offset,
        problems=node.problems(),
        host=node.report.host if node.report is not None else None,
        gpus_known=_knows_gpus(node),
        gpus=tuple(gpu_view(fleet, node, reading, place) for reading, place in placed(fleet, node)),
    )


def placed(fleet: Fleet, node: Node) -> list[tuple[GpuReading, Place]]:
    """The GPUs of a node, each with its label and whether it is counted."""
    readings = node.readings()
    return list(zip(readings, places(readings, fleet.thresholds.ignore), strict=True))


def gpu_view(fleet: Fleet, node: Node, reading: GpuReading, place: Place) -> GpuView:
    """Everything about one GPU."""
    memory = node.gpus[reading.uuid]
    return GpuView(
        uuid=reading.uuid,
        node=node.name,
        label=place.label,
        counted=place.counted,
        model=fleet.names.model(reading),
        verdict=memory.verdict or _UNJUDGED,
        users=_people(memory),
        claim=claim_view(memory.claim),
        reading=reading,
    )


def find_gpu(fleet: Fleet, uuid: str) -> GpuView | None:
    """The GPU of this UUID, wherever it is."""
    for node in fleet:
        if uuid in node.gpus:
            for reading, place in placed(fleet, node):
                if reading.uuid == uuid:
                    return gpu_view(fleet, node, reading, place)
    return None


def node_row(fleet: Fleet, node: Node) -> NodeRow:
    """One node on the live stream."""
    host = (node.report.host if node.report is not None else None) or HostFacts()
    problems = node.problems()
    return NodeRow(
        name=node.name,
        display_name=fleet.names.nodes.get(node.name),
        address=node.address,
        state=node.freshness.state,
        reason=node.freshness.reason,
        source=node.source,
        sampled_at=None if node.sampled_at is None else round(node.sampled_at, 2),
        interval_seconds=node.interval,
        clock_offset_seconds=_whole(node.clock_offset),
        problems=problems,
        cpu_count=host.cpu_count,
        load_percent=_load_percent(host),
        memory_used_bytes=host.memory_used_bytes,
        memory_total_bytes=host.memory_total_bytes,
        disk_used_percent=_fullest(host),
        gpus_known=_knows_gpus(node),
        gpus_missing=len([problem for problem in problems if problem.kind in ("gpu-lost", "gpu-missing")]),
    )


def gpu_row(fleet: Fleet, node: Node, reading: GpuReading, place: Place) -> GpuRow:
    """One GPU on the live stream."""
    memory = node.gpus[reading.uuid]
    verdict = memory.verdict or _UNJUDGED
    return GpuRow(
        uuid=reading.uuid,
        node=node.name,
        index=reading.index,
        label=place.label,
        counted=place.counted,
        model=fleet.names.model(reading),
        memory_unified=reading.memory_unified,
        mig_parent_uuid=reading.mig_parent_uuid,
        mig_profile=reading.mig_profile,
        verdict=verdict.word,
        since=_whole(verdict.since),
        reason=verdict.reason,
        flags=verdict.flags,
        utilization_percent=reading.utilization_percent,
        memory_used_bytes=reading.memory_used_bytes,
        memory_total_bytes=reading.memory_total_bytes,
        temperature_celsius=reading.temperature_celsius,
        power_watts=_whole(reading.power_watts),
        power_limit_watts=reading.power_limit_watts,
        users=_people(memory),
        claim=claim_view(memory.claim),
    )


def _people(memory: GpuMemory) -> tuple[HolderView, ...] | None:
    """Those on a GPU as viewers see them; written once, as most stay for hours."""
    if not memory.people:
        return None if memory.people is None else ()
    if memory.shown is None:
        memory.shown = tuple([_person(holder) for holder in memory.people])
    return memory.shown


def _person(holder: Holder) -> HolderView:
    return HolderView(
        name=holder_name(holder.user, holder.uid),
        user=holder.user,
        uid=holder.uid,
        memory_used_bytes=holder.memory_used_bytes,
        since=_whole(holder.since),
        processes=holder.processes,
        measured=holder.measured,
    )


def _knows_gpus(node: Node) -> bool:
    """Whether the board knows which GPUs the node has, be it none."""
    return node.report is not None and (node.report.gpus is not None or bool(node.shown))


def _whole(value: float | None) -> float | None:
    # To a whole number, not to a float without fraction: several times faster, and shorter on the wire.
    return None if value is None else round(value)


def _load_percent(host: HostFacts) -> float | None:
    if host.load_1 is None or not host.cpu_count:
        return None
    return round(100 * host.load_1 / host.cpu_count)


def _fullest(host: HostFacts) -> float | None:
    shares = [
        100 * d.used_bytes / d.total_bytes for d in host.disks if d.used_bytes is not None and d.total_bytes
    ]
    return round(max(shares)) if shares else None
