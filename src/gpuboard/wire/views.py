"""What the board tells people and programs: whole views by GET, flat rows on the live stream."""

from msgspec import Struct
from msgspec.structs import replace

from gpuboard.model.identity import Tier as Tier  # noqa: PLC0414 - views are made for one
from gpuboard.model.node import NodeState
from gpuboard.model.report import GpuReading, HostFacts, Problem, UnixTime
from gpuboard.model.verdict import Claim, Flag, Reason, Verdict, VerdictWord


class HolderView(Struct, frozen=True, kw_only=True, gc=False):
    """One person on one GPU; user null means that no name is known."""

    # What to call this person, in every output: `ana`, `uid 1234` or `unknown`.
    name: str
    # Their account, the first of several.
    user: str | None
    uid: int | None
    memory_used_bytes: int | None
    since: UnixTime | None
    processes: int
    # Those of them whose memory is known: the sum is of these.
    measured: int


class ClaimView(Struct, frozen=True, kw_only=True, gc=False):
    """Who booked a GPU until when; who is null where names are hidden."""

    who: str | None
    until: UnixTime | None
    comment: str | None
    # Anybody may have typed it, with any name, as in a comments.json.
    is_unverified: bool = False
    # Others who booked it for now too, whose claims rank lower.
    behind: "tuple[ClaimView, ...]" = ()


class GpuView(Struct, frozen=True, kw_only=True, gc=False):
    """Everything about one GPU."""

    uuid: str
    node: str
    # The number people say: `0`, and `0:1` for an instance of GPU 0.
    label: str
    # Whether it is one of the GPUs that are counted and offered.
    counted: bool
    model: str | None
    verdict: Verdict
    users: tuple[HolderView, ...] | None
    claim: ClaimView | None
    # The one that ended last, for three days; left out where there is none.
    ended_claim: ClaimView | None = None
    reading: GpuReading


class NodeView(Struct, frozen=True, kw_only=True, gc=False):
    """Everything about one node."""

    name: str
    display_name: str | None
    # The groups that it is in: by the settings, then by the list that it comes from.
    groups: tuple[str, ...] = ()
    state: NodeState
    reason: Reason | None
    source: str
    sampled_at: UnixTime | None
    received_at: UnixTime | None
    interval_seconds: float
    clock_offset_seconds: float | None
    problems: tuple[Problem, ...]
    host: HostFacts | None
    # False: nobody knows yet which GPUs it has; an empty list is then no "none".
    gpus_known: bool
    gpus: tuple[GpuView, ...]


class FleetView(Struct, frozen=True, kw_only=True, gc=False):
    """All nodes at one moment."""

    at: UnixTime
    tier: Tier
    nodes: tuple[NodeView, ...]
    # Sources that have not named their nodes yet: until then no nodes are no "none".
    sources_unknown: int = 0
    # What the board that was asked calls itself; null: nothing.
    title: str | None = None


class NodeRow(Struct, frozen=True, gc=False):
    """One node on the live stream."""

    name: str
    display_name: str | None
    # The groups that it is in: by the settings, then by the list that it comes from.
    groups: tuple[str, ...]
    # Where the list of its source says it is; null where that has none.
    address: str | None
    state: NodeState
    reason: Reason | None
    source: str
    sampled_at: float | None
    interval_seconds: float
    clock_offset_seconds: float | None
    problems: tuple[Problem, ...]
    cpu_count: int | None
    load_percent: float | None
    memory_used_bytes: int | None
    memory_total_bytes: int | None
    disk_used_percent: float | None
    # False: nobody knows yet which GPUs it has.
    gpus_known: bool
    gpus_missing: int
    # Whether programs there know its GPUs by the numbers shown: not while a card is missing.
    numbers_known: bool = True


class GpuRow(Struct, frozen=True, gc=False):
    """One GPU on the live stream."""

    uuid: str
    node: str
    index: int
    # The number people say: `0`, and `0:1` for an instance of GPU 0.
    label: str
    # Whether it is one of the GPUs that are counted and offered.
    counted: bool
    # What people call the model, and what the driver does.
    model: str | None
    driver_model: str | None
    memory_unified: bool
    mig_parent_uuid: str | None
    mig_profile: str | None
    verdict: VerdictWord
    since: float | None
    reason: Reason
    flags: tuple[Flag, ...]
    # The newest sample, by which verdicts go; and the mean of the last minute, which people can read.
    utilization_percent: float | None
    utilization_minute_percent: float | None
    memory_used_bytes: int | None
    memory_total_bytes: int | None
    temperature_celsius: float | None
    power_watts: float | None
    power_limit_watts: float | None
    users: tuple[HolderView, ...] | None
    claim: ClaimView | None
    # The one that ended last, for three days.
    ended_claim: ClaimView | None


def claim_view(claim: Claim | None) -> ClaimView | None:
    """A claim as people see it."""
    if claim is None:
        return None
    view = _one_claim(claim)
    return replace(view, behind=tuple(map(_one_claim, claim.behind))) if claim.behind else view


def _one_claim(claim: Claim) -> ClaimView:
    return ClaimView(
        who=claim.who, until=claim.until, comment=claim.comment, is_unverified=claim.is_unverified
    )
