"""The fleet as people and programs see it: views and rows. Pure reading of the state."""

from collections.abc import Iterator
from sys import intern
from typing import Protocol

from gpuboard.fleet.activity import GpuMemory
from gpuboard.fleet.clock import Clock
from gpuboard.fleet.counting import GpuTag, gpu_tags
from gpuboard.fleet.names import Names
from gpuboard.fleet.node import Node, Seen
from gpuboard.model.codes import plain_reason
from gpuboard.model.names import holder_name
from gpuboard.model.problems import MOVES_NUMBERS, missing_gpus, rules_out_gpus
from gpuboard.model.report import GpuReading, HostFacts
from gpuboard.model.verdict import Verdict
from gpuboard.verdict import Holder, Thresholds
from gpuboard.wire.views import (
    FleetView,
    GpuRow,
    GpuView,
    HolderView,
    NodeRow,
    NodeView,
    claim_view,
)


class Judged(Protocol):
    """A fleet as it was judged at one tick."""

    clock: Clock
    names: Names
    thresholds: Thresholds

    def __iter__(self) -> Iterator[Node]:
        """All its nodes."""

    def groups_of(self, node: Node) -> tuple[str, ...]:
        """The groups of a node."""


_UNJUDGED = Verdict(word="unknown", reason=plain_reason(code="new"))
_NO_HOST = HostFacts()


def fleet_view(fleet: Judged) -> FleetView:
    """All nodes as they were judged last, in the order of their names."""
    views = [node_view(fleet, node) for node in sorted(fleet, key=lambda node: node.name)]
    return FleetView(
        at=fleet.clock.now(), tier="names", nodes=tuple(view for view in views if view is not None)
    )


def node_view(fleet: Judged, node: Node) -> NodeView | None:
    """Everything about one node as it was judged last; None if it came after that."""
    seen = node.seen
    if seen is None:
        return None
    return NodeView(
        name=node.name,
        display_name=fleet.names.node(node.name),
        groups=fleet.groups_of(node),
        state=seen.freshness.state,
        reason=seen.freshness.reason,
        source=node.source,
        sampled_at=seen.sampled_at,
        received_at=seen.received_at,
        interval_seconds=seen.interval,
        clock_offset_seconds=seen.clock_offset,
        problems=seen.problems,
        host=seen.report.host if seen.report is not None else None,
        gpus_known=_knows_gpus(seen),
        gpus=tuple(gpu_view(fleet, node.name, *each) for each in tagged(fleet, seen)),
    )


def tagged(fleet: Judged, seen: Seen) -> list[tuple[GpuReading, GpuMemory, GpuTag]]:
    """The GPUs of a node, each with what is remembered of it, its label and whether it is counted."""
    return list(zip(seen.gpus, seen.remembered, gpu_tags(seen.gpus, fleet.thresholds.ignore), strict=True))


def gpu_view(fleet: Judged, node: str, reading: GpuReading, memory: GpuMemory, tag: GpuTag) -> GpuView:
    """Everything about one GPU."""
    return GpuView(
        uuid=reading.uuid,
        node=node,
        label=tag.label,
        counted=tag.counted,
        model=fleet.names.model(reading),
        verdict=memory.verdict or _UNJUDGED,
        users=_people(memory),
        claim=claim_view(memory.claim),
        ended_claim=claim_view(memory.ended_claim),
        reading=reading,
    )


def find_gpu(fleet: Judged, uuid: str) -> GpuView | None:
    """The GPU of this UUID, wherever it is."""
    for node in fleet:
        if node.seen is not None and uuid in node.seen.memories:
            for reading, memory, tag in tagged(fleet, node.seen):
                if reading.uuid == uuid:
                    return gpu_view(fleet, node.name, reading, memory, tag)
    return None


def node_row(fleet: Judged, node: Node, seen: Seen) -> NodeRow:
    """One node on the live stream."""
    host = (seen.report.host if seen.report is not None else None) or _NO_HOST
    problems, sampled_at = seen.problems, seen.sampled_at
    # By position, as below.
    return NodeRow(
        node.name,
        fleet.names.node(node.name),
        fleet.groups_of(node),
        node.address,
        seen.freshness.state,
        seen.freshness.reason,
        node.source,
        None if sampled_at is None else round(sampled_at, 2),
        seen.interval,
        _whole(seen.clock_offset),
        problems,
        host.cpu_count,
        load_percent(host),
        host.memory_used_bytes,
        host.memory_total_bytes,
        fullest_percent(host),
        _knows_gpus(seen),
        missing_gpus(problems) if problems else 0,
        not problems or all(problem.kind not in MOVES_NUMBERS for problem in problems),
    )


def gpu_row(fleet: Judged, node: str, reading: GpuReading, memory: GpuMemory, tag: GpuTag) -> GpuRow:
    """One GPU on the live stream."""
    verdict = memory.verdict or _UNJUDGED
    use, since, watts = reading.utilization_percent, verdict.since, reading.power_watts
    # What cannot be told now has no mean either.
    mean = None if use is None else memory.last_minute()
    # By position, in the order of its fields: by name, this would take a tenth of the board's time.
    return GpuRow(
        memory.uuid,
        node,
        reading.index,
        tag.label,
        tag.counted,
        fleet.names.model(reading),
        # One text for all GPUs of a model, as above: to be kept, and to be compared.
        None if reading.model is None else intern(reading.model),
        reading.memory_unified,
        reading.mig_parent_uuid,
        reading.mig_profile,
        verdict.word,
        None if since is None else round(since),
        verdict.reason,
        verdict.flags,
        use,
        None if mean is None else round(mean),
        reading.memory_used_bytes,
        reading.memory_total_bytes,
        reading.temperature_celsius,
        None if watts is None else round(watts),
        reading.power_limit_watts,
        _people(memory),
        None if memory.claim is None else claim_view(memory.claim),
        None if memory.ended_claim is None else claim_view(memory.ended_claim),
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
        user=holder.account or holder.user,
        uid=holder.uid,
        memory_used_bytes=holder.memory_used_bytes,
        since=_whole(holder.since),
        processes=holder.processes,
        measured=holder.measured,
    )


def _knows_gpus(seen: Seen) -> bool:
    """Whether the board knows which GPUs the node has, be it none."""
    if seen.gpus or seen.report is None:
        return bool(seen.gpus)
    return seen.report.gpus is not None or rules_out_gpus(seen.report.problems)


def _whole(value: float | None) -> float | None:
    # To a whole number, not to a float without fraction: several times faster, and shorter on the wire.
    return None if value is None else round(value)


def load_percent(host: HostFacts) -> float | None:
    """How many of its processors a host would need, in percent of those that it has."""
    if host.load_1 is None or not host.cpu_count:
        return None
    return round(100 * host.load_1 / host.cpu_count)


def fullest_percent(host: HostFacts) -> float | None:
    """How full the fullest disk of a host is."""
    shares = [
        100 * d.used_bytes / d.total_bytes for d in host.disks if d.used_bytes is not None and d.total_bytes
    ]
    return round(max(shares)) if shares else None
