"""Names taken out of views, for viewers who may see counts only."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from gpuboard.model.codes import PLAIN
from gpuboard.model.problems import BREAKING, without_details
from gpuboard.model.report import GpuProcess, GpuReading, HostFacts, Problem
from gpuboard.model.units import format_duration, format_size
from gpuboard.model.verdict import Reason, Verdict
from gpuboard.wire.views import ClaimView, FleetView, GpuRow, GpuView, NodeRow, NodeView, Tier

# Whether a process on a node belongs to whoever looks.
IsOwn = Callable[[str, GpuProcess], bool]

# What may be said to everybody: the words, and the figures in them. Whatever has another code (what a host, a
# file or a login shell said) may hold names, accounts, addresses and paths: of it only the code is told.
_PUBLIC: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    **{code: (words, ()) for code, words in PLAIN.items()},
    "utilization": ("{percent} in use", ("percent",)),
    "recent-utilization": ("{percent} a moment ago", ("percent",)),
    "process": ("processes on it: {processes}", ("processes",)),
    "memory": ("{memory_bytes} held", ("memory_bytes",)),
    "orphaned-memory": ("{memory_bytes} held, no process visible", ("memory_bytes",)),
    "idle": ("{memory_bytes} held, no work for {seconds}", ("memory_bytes", "seconds")),
    "booked": ("booked", ("until",)),
    "stray-process": ("a process on its card is of no known instance: it may be this one", ()),
    "late": ("nothing new for {seconds}", ("seconds",)),
    "lost": ("nothing new for {seconds}", ("seconds",)),
    "file-refused": ("its file cannot be read", ()),
    "file-hung": ("a file does not answer: its mount hangs", ()),
    "file-unreadable": ("a file cannot be read", ()),
    "folder-unreadable": ("the folder cannot be read", ()),
    "folder-hung": ("the folder does not answer: its mount hangs", ()),
    "folder-overfull": ("the folder has more than is looked at", ()),
    "folder-waits": ("the folder is not read yet: the board's database is away", ()),
    "hosts-file": ("the list of hosts cannot be read, or not wholly", ()),
    "ssh-config": ("the ssh configuration cannot be read", ()),
    "comments-json": ("the bookings file cannot be read; bookings of before, if there are any, stay", ()),
    "comments-entries": ("the bookings file has entries that cannot be read", ()),
    "booked-gpus": ("something is booked on GPUs that their nodes do not have", ()),
    "booked-hosts": ("something is booked on what no source knows", ()),
    "settings": ("the new settings are wrong; those of before stay", ()),
    "storage": ("the board's database cannot be used", ()),
    "storage-hung": ("the board's database does not answer", ()),
    "storage-damaged": ("the board's database is damaged", ()),
    "storage-shared": ("another board uses the board's database", ()),
    "storage-lost": ("the board's database was gone when it started", ()),
    "storage-replaced": ("the board's database was deleted or replaced", ()),
    "history": ("the history cannot be used", ()),
    "history-hung": ("the history does not answer", ()),
    "history-paused": ("the disk is nearly full: nothing is kept of the present", ()),
    "history-damaged": ("the history was damaged, and a new one was begun", ()),
    "certificate-ends": ("the board's certificate has expired, or will soon", ()),
    "descriptors": ("nearly all files that the board may open are in use", ()),
}
_FIGURES: Final[Mapping[str, Callable[[Any], str]]] = {
    "percent": lambda value: "—" if value is None else f"{value:.0f} %",
    "memory_bytes": format_size,
    "seconds": format_duration,
    "processes": str,
    "until": str,
}


def node_rows_for_tier(rows: list[NodeRow], tier: Tier) -> list[NodeRow]:
    """The nodes' rows as a viewer of this tier may see them."""
    return rows if tier == "names" else [hide_names_in_node_row(row) for row in rows]


def gpu_rows_for_tier(rows: list[GpuRow], tier: Tier) -> list[GpuRow]:
    """The GPUs' rows as a viewer of this tier may see them."""
    return rows if tier == "names" else [hide_names_in_row(row) for row in rows]


def hide_names_in_node_row(row: NodeRow) -> NodeRow:
    """The same row without where its node is and what the node, its source or its users wrote."""
    return replace(row, address=None, reason=_hidden(row.reason), problems=_plain(row.problems))


def _plain(problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
    """Problems without details; of those that are the same then, one."""
    return tuple(dict.fromkeys(map(without_details, problems))) if problems else problems


def hide_names_in_row(row: GpuRow) -> GpuRow:
    """The same row without people."""
    return replace(
        row,
        users=None,
        claim=_anonymous(row.claim),
        ended_claim=_anonymous(row.ended_claim),
        reason=hide_names_in_reason(row.reason),
    )


def hide_names_in_reason(reason: Reason) -> Reason:
    """The same reason in words of ours: its code, and figures where they are harmless."""
    if reason.code in BREAKING:
        told = without_details(Problem(kind=reason.code, text="", remedy=""))
        return Reason(code=reason.code, text=told.text, values={"remedy": told.remedy, "detail": None})
    words, figures = _PUBLIC.get(reason.code, (reason.code.replace("-", " "), ()))
    values = {key: reason.values[key] for key in figures if _is_figure(reason.values.get(key, ""))}
    seen = reason.values.get("seen_since")
    if reason.code == "free" and isinstance(seen, int | float):
        return Reason(code="free", text=words, values={"seen_since": seen})
    if len(values) < len(figures):
        return Reason(code=reason.code, text=reason.code.replace("-", " "), values=values)
    shown = {key: _FIGURES[key](value) for key, value in values.items()}
    return Reason(code=reason.code, text=words.format(**shown), values=values)


def _hidden(reason: Reason | None) -> Reason | None:
    return None if reason is None else hide_names_in_reason(reason)


def _is_figure(value: object) -> bool:
    return value is None or isinstance(value, int | float)


def hide_names(fleet: FleetView) -> FleetView:
    """The same fleet without people, processes, host names and addresses."""
    return replace(fleet, tier="counts", nodes=tuple(hide_names_in_node(node) for node in fleet.nodes))


def hide_names_in_node(node: NodeView) -> NodeView:
    """The same node without people, processes, host names and addresses."""
    host = None if node.host is None else replace(node.host, hostname=None, addresses=())
    return replace(
        node,
        host=_only_figures(host),
        reason=_hidden(node.reason),
        problems=_plain(node.problems),
        gpus=tuple(hide_names_in_gpu(gpu) for gpu in node.gpus),
    )


def hide_arguments(fleet: FleetView) -> FleetView:
    """The same fleet without the arguments of command lines."""
    return replace(fleet, nodes=tuple(hide_arguments_in_node(node, _nobodys) for node in fleet.nodes))


def hide_arguments_in_node(node: NodeView, is_own: IsOwn) -> NodeView:
    """The same node with the arguments of one's own command lines alone."""
    gpus = tuple(hide_arguments_in_gpu(gpu, is_own) for gpu in node.gpus)
    changed = any(one is not other for one, other in zip(gpus, node.gpus, strict=True))
    return replace(node, gpus=gpus) if changed else node


def hide_arguments_in_gpu(gpu: GpuView, is_own: IsOwn) -> GpuView:
    """The same GPU with the arguments of one's own command lines alone."""
    # A row that could not be written has lost its reading.
    reading: GpuReading | None = gpu.reading
    processes = None if reading is None else reading.processes
    if not processes or all(one.arguments is None for one in processes):
        return gpu
    shown = tuple(one if is_own(gpu.node, one) else replace(one, arguments=None) for one in processes)
    return replace(gpu, reading=replace(gpu.reading, processes=shown))


def _nobodys(_node: str, _process: GpuProcess) -> bool:
    return False


def hide_names_in_gpu(gpu: GpuView) -> GpuView:
    """The same GPU without people and processes."""
    verdict: Verdict = replace(gpu.verdict, reason=hide_names_in_reason(gpu.verdict.reason))
    reading: GpuReading = replace(gpu.reading, processes=None)
    return replace(
        gpu,
        users=None,
        claim=_anonymous(gpu.claim),
        ended_claim=_anonymous(gpu.ended_claim),
        verdict=verdict,
        reading=reading,
    )


def _only_figures(host: HostFacts | None) -> HostFacts | None:
    # Mount points can carry names of people and projects.
    return None if host is None else replace(host, disks=())


def _anonymous(claim: ClaimView | None) -> ClaimView | None:
    if claim is None:
        return None
    behind = tuple([replace(one, who=None, comment=None) for one in claim.behind])
    return replace(claim, who=None, comment=None, behind=behind)
