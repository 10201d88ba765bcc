"""Names taken out of views, for viewers who may see counts only."""

from typing import Any, Final

from msgspec.structs import replace

from gpuboard.model.report import GpuReading, HostFacts
from gpuboard.model.verdict import Reason, Verdict
from gpuboard.wire.views import ClaimView, FleetView, GpuRow, GpuView, NodeRow, NodeView

# Values of a reason that name a person; a reason with one of them also names it in its text.
PERSONAL: Final = frozenset({"users", "who"})
_WORDS: Final = {
    "utilization": "in use",
    "process": "a process is on it",
    "memory": "memory held",
    "idle": "memory held, no work",
    "booked": "booked",
}


def hide_names_in_row(row: GpuRow) -> GpuRow:
    """The same row without people."""
    return replace(row, users=None, claim=_anonymous(row.claim), reason=hide_names_in_reason(row.reason))


def hide_address(row: NodeRow) -> NodeRow:
    """The same row without where its node is."""
    return row if row.address is None else replace(row, address=None)


def hide_names_in_reason(reason: Reason) -> Reason:
    """The same reason without people."""
    if not PERSONAL.intersection(reason.values):
        return reason
    values: dict[str, Any] = {key: value for key, value in reason.values.items() if key not in PERSONAL}
    return Reason(code=reason.code, text=_WORDS.get(reason.code, reason.code), values=values)


def hide_names(fleet: FleetView) -> FleetView:
    """The same fleet without people, processes, host names and addresses."""
    return replace(fleet, tier="counts", nodes=tuple(hide_names_in_node(node) for node in fleet.nodes))


def hide_names_in_node(node: NodeView) -> NodeView:
    """The same node without people, processes, host names and addresses."""
    host = None if node.host is None else replace(node.host, hostname=None, addresses=())
    return replace(node, host=_only_figures(host), gpus=tuple(hide_names_in_gpu(gpu) for gpu in node.gpus))


def hide_names_in_gpu(gpu: GpuView) -> GpuView:
    """The same GPU without people and processes."""
    verdict: Verdict = replace(gpu.verdict, reason=hide_names_in_reason(gpu.verdict.reason))
    reading: GpuReading = replace(gpu.reading, processes=None)
    return replace(gpu, users=None, claim=_anonymous(gpu.claim), verdict=verdict, reading=reading)


def _only_figures(host: HostFacts | None) -> HostFacts | None:
    # Mount points can carry names of people and projects.
    return None if host is None else replace(host, disks=())


def _anonymous(claim: ClaimView | None) -> ClaimView | None:
    return None if claim is None else ClaimView(who=None, until=claim.until, comment=None)
