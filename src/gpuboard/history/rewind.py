"""The fleet of an earlier moment, in the shapes in which the live one is told. Pure.

What the past does not know is null: evidence, processes, since when, until when something was booked.
"""

from typing import Final

from msgspec import Struct

from gpuboard.fleet.groups import NodeGroups
from gpuboard.fleet.names import Names
from gpuboard.history.events import STATES
from gpuboard.history.hindsight import OF_THE_RECORD
from gpuboard.history.questions import go_on
from gpuboard.history.records import Event, GpuMoment, Moment, Place
from gpuboard.model.codes import plain_reason
from gpuboard.model.node import NodeState
from gpuboard.model.problems import BREAKING, missing_gpus, place_name, problem_of
from gpuboard.model.report import GpuReading, HostFacts, Problem
from gpuboard.model.verdict import Reason, Verdict, VerdictWord
from gpuboard.wire.views import ClaimView, FleetView, GpuRow, GpuView, HolderView, NodeRow, NodeView

# How things were is known, why is not.
PAST: Final = plain_reason(code="past")
NOT_OBSERVED: Final = plain_reason(code="not-observed")
_NO_HOST: Final[dict[str, float | None]] = {}


class Named(Struct, frozen=True, kw_only=True):
    """What things are called, and which nodes belong together, now."""

    names: Names
    groups: NodeGroups


class _NodeThen(Struct, frozen=True, kw_only=True):
    """One node at the moment."""

    name: str
    gpus: tuple[GpuMoment, ...]
    host: dict[str, float | None]
    is_observed: bool
    events: tuple[Event, ...]


def rows_at(moment: Moment, named: Named) -> tuple[list[NodeRow], list[GpuRow]]:
    """The rows of the live stream as they would have been."""
    node_rows: list[NodeRow] = []
    gpu_rows: list[GpuRow] = []
    for node in _nodes(moment):
        go_on()
        node_rows.append(_node_row(node, moment, named))
        gpu_rows += [_gpu_row(gpu, node) for gpu in node.gpus]
    return node_rows, gpu_rows


def view_at(moment: Moment, named: Named) -> FleetView:
    """The whole fleet as it was."""
    nodes = []
    for node in _nodes(moment):
        go_on()
        nodes.append(_node_view(node, moment, named))
    return FleetView(at=moment.at, tier="names", nodes=tuple(nodes))


def _nodes(moment: Moment) -> list[_NodeThen]:
    gpus: dict[str, list[GpuMoment]] = {}
    events: dict[str, list[Event]] = {}
    for gpu in moment.gpus:
        gpus.setdefault(gpu.place.node, []).append(gpu)
    for event in moment.events:
        if event.kind in OF_THE_RECORD:
            continue
        events.setdefault(event.node, []).append(event)
    return [
        _NodeThen(
            name=name,
            gpus=tuple(gpus.get(name, ())),
            host=moment.hosts.get(name, _NO_HOST),
            is_observed=name in moment.hosts or any(gpu.numbers for gpu in gpus.get(name, ())),
            events=tuple(events.get(name, ())),
        )
        for name in sorted(gpus.keys() | moment.hosts.keys() | events.keys())
    ]


def _state(node: _NodeThen) -> tuple[NodeState, Reason | None]:
    """A node that was in trouble, or of which nothing is known, was not live."""
    trouble = next((event for event in node.events if event.kind in STATES), None)
    if trouble is not None:
        text = trouble.detail or trouble.kind
        return trouble.kind, Reason(code=trouble.kind, text=text)  # type: ignore[return-value] # a state
    # Of one that has no GPUs, only a problem may be told.
    return ("live", None) if node.is_observed or not node.gpus else ("lost", NOT_OBSERVED)


def _problems(node: _NodeThen) -> tuple[Problem, ...]:
    names = {gpu.place.gpu: _place_name(gpu.place) for gpu in node.gpus}
    return tuple(
        problem_of(
            event.kind,
            event.detail,
            gpu_uuid=event.gpu,
            # Of a card that was missing nothing else is written down.
            place=event.gpu and names.get(event.gpu, event.gpu),
            since=event.start,
        )
        for event in node.events
        if event.kind not in STATES
    )


def _place_name(place: Place) -> str:
    what = "MIG instance" if place.parent else "GPU"
    return place_name(place.index, place.gpu, place.model, what=what)


def _node_row(node: _NodeThen, moment: Moment, named: Named) -> NodeRow:
    (state, reason), display = _state(node), named.names.node(node.name)
    problems, host = _problems(node), node.host
    return NodeRow(
        name=node.name,
        display_name=display,
        groups=named.groups.of(node.name, display),
        address=None,
        state=state,
        reason=reason,
        source="",
        sampled_at=moment.at if node.is_observed else None,
        interval_seconds=moment.step_seconds,
        clock_offset_seconds=None,
        problems=problems,
        cpu_count=None,
        load_percent=host.get("load_percent"),
        memory_used_bytes=_whole(host.get("memory_used_bytes")),
        memory_total_bytes=_whole(host.get("memory_total_bytes")),
        disk_used_percent=host.get("disk_used_percent"),
        gpus_known=bool(node.gpus),
        gpus_missing=missing_gpus(problems),
    )


def _verdict(gpu: GpuMoment, node: _NodeThen) -> tuple[VerdictWord, Reason]:
    # As live: what a node said that is silent now is old, whatever it was.
    state, why = _state(node)
    if state != "live":
        return "stale", why or NOT_OBSERVED
    if gpu.verdict == "broken" or not gpu.numbers:
        own = (None, gpu.place.gpu, gpu.place.parent)
        fault = next((one for one in node.events if one.gpu in own and one.kind in BREAKING), None)
        if fault is not None:
            found = problem_of(fault.kind, fault.detail)
            values = {"remedy": found.remedy, "detail": found.detail}
            return "broken", Reason(code=fault.kind, text=found.text, values=values)
    if not gpu.numbers:
        return "stale", NOT_OBSERVED
    return gpu.verdict or "unknown", PAST


def _gpu_row(gpu: GpuMoment, node: _NodeThen) -> GpuRow:
    place, numbers = gpu.place, gpu.numbers
    word, reason = _verdict(gpu, node)
    use = numbers.get("utilization_percent")
    return GpuRow(
        uuid=place.gpu,
        node=place.node,
        index=place.index,
        label=place.label,
        counted=place.counted,
        model=place.model,
        driver_model=place.model,
        memory_unified=False,
        mig_parent_uuid=place.parent,
        mig_profile=None,
        verdict=word,
        since=None,
        reason=reason,
        flags=("throttled",) if numbers.get("throttled") else (),
        utilization_percent=use,
        utilization_minute_percent=use,
        memory_used_bytes=_whole(numbers.get("memory_used_bytes")),
        memory_total_bytes=place.memory_total_bytes,
        temperature_celsius=numbers.get("temperature_celsius"),
        power_watts=numbers.get("power_watts"),
        power_limit_watts=numbers.get("power_limit_watts"),
        users=_people(gpu),
        claim=_claim(gpu),
        ended_claim=None,
    )


def _claim(gpu: GpuMoment) -> ClaimView | None:
    return None if gpu.claimant is None else ClaimView(who=gpu.claimant, until=None, comment=None)


def _people(gpu: GpuMoment) -> tuple[HolderView, ...] | None:
    if gpu.holders is None:
        return None
    return tuple(
        HolderView(
            name=name, user=name, uid=None, memory_used_bytes=None, since=None, processes=0, measured=0
        )
        for name in gpu.holders
    )


def _node_view(node: _NodeThen, moment: Moment, named: Named) -> NodeView:
    row = _node_row(node, moment, named)
    host = HostFacts(memory_used_bytes=row.memory_used_bytes, memory_total_bytes=row.memory_total_bytes)
    return NodeView(
        name=row.name,
        display_name=row.display_name,
        groups=row.groups,
        state=row.state,
        reason=row.reason,
        source=row.source,
        sampled_at=row.sampled_at,
        received_at=None,
        interval_seconds=row.interval_seconds,
        clock_offset_seconds=None,
        problems=row.problems,
        host=host if node.host else None,
        gpus_known=row.gpus_known,
        gpus=tuple(_gpu_view(gpu, node) for gpu in node.gpus),
    )


def _gpu_view(gpu: GpuMoment, node: _NodeThen) -> GpuView:
    row, numbers = _gpu_row(gpu, node), gpu.numbers
    return GpuView(
        uuid=row.uuid,
        node=row.node,
        label=row.label,
        counted=row.counted,
        model=row.model,
        verdict=Verdict(word=row.verdict, reason=row.reason, flags=row.flags),
        users=row.users,
        claim=row.claim,
        reading=GpuReading(
            uuid=row.uuid,
            index=row.index,
            model=row.model,
            memory_used_bytes=row.memory_used_bytes,
            memory_total_bytes=row.memory_total_bytes,
            utilization_percent=row.utilization_percent,
            memory_utilization_percent=numbers.get("memory_utilization_percent"),
            temperature_celsius=row.temperature_celsius,
            fan_percent=numbers.get("fan_percent"),
            power_watts=row.power_watts,
            power_limit_watts=row.power_limit_watts,
            graphics_clock_mhz=_whole(numbers.get("graphics_clock_mhz")),
            memory_clock_mhz=_whole(numbers.get("memory_clock_mhz")),
            mig_parent_uuid=row.mig_parent_uuid,
        ),
    )


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
