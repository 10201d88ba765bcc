"""The whole fleet as metrics: verdicts, figures and the board's own cost. No names of people."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, get_args

from gpuboard.metrics.text import Family
from gpuboard.model.node import NodeState
from gpuboard.model.verdict import VerdictWord
from gpuboard.wire.tally import tally_rows
from gpuboard.wire.views import GpuRow, NodeRow

WORDS: Final[tuple[str, ...]] = get_args(VerdictWord)
STATES: Final[tuple[str, ...]] = get_args(NodeState)

_FIGURES: Final[Mapping[str, tuple[str, Callable[[GpuRow], float | None]]]] = {
    "gpuboard_gpu_utilization_ratio": (
        "Share of time in which a kernel ran, 0 to 1.",
        lambda row: None if row.utilization_percent is None else row.utilization_percent / 100,
    ),
    "gpuboard_gpu_memory_used_bytes": ("Memory in use.", lambda row: row.memory_used_bytes),
    "gpuboard_gpu_memory_total_bytes": ("Memory in all.", lambda row: row.memory_total_bytes),
    "gpuboard_gpu_temperature_celsius": ("Temperature of the core.", lambda row: row.temperature_celsius),
    "gpuboard_gpu_power_watts": ("Power drawn.", lambda row: row.power_watts),
}


def fleet_families(
    nodes: Iterable[NodeRow], gpus: Iterable[GpuRow], *, now: float, sources_unknown: int = 0
) -> Iterator[Family]:
    """Everything about the fleet; figures of stale GPUs are left out, for they are not true any more.

    So are counts of GPUs and nodes while nobody knows of any: 0 would be a figure.
    """
    nodes, gpus = list(nodes), list(gpus)
    tally = tally_rows(nodes, gpus, sources_unknown=sources_unknown)
    are_nodes_known = bool(nodes) or sources_unknown == 0
    yield Family(
        name="gpuboard_gpus",
        help="GPUs by verdict, of those that are counted.",
        samples=[
            ({"verdict": word}, float(tally.verdicts[word]) if tally.is_known else None) for word in WORDS
        ],
    )
    yield Family(
        name="gpuboard_nodes",
        help="Nodes by state.",
        samples=[
            ({"state": state}, sum(row.state == state for row in nodes) if are_nodes_known else None)
            for state in STATES
        ],
    )
    yield Family(
        name="gpuboard_node_info",
        help="What people call a node; the value is always 1.",
        samples=[({"node": row.name, "display_name": row.display_name or row.name}, 1.0) for row in nodes],
    )
    yield Family(
        name="gpuboard_gpu_verdict",
        help="The verdict on a GPU that is counted; 1 for the one that holds.",
        samples=[
            ({**_labels(row), "model": row.model or "", "verdict": row.verdict}, 1.0)
            for row in gpus
            if row.counted
        ],
    )
    for name, (text, read) in _FIGURES.items():
        samples = [(_labels(row), read(row)) for row in gpus if row.verdict != "stale"]
        yield Family(name=name, help=text, samples=samples)
    yield Family(
        name="gpuboard_node_sample_age_seconds",
        help="How old a node's newest sample is.",
        samples=[
            (
                {"node": row.name, "source": row.source},
                None if row.sampled_at is None else now - row.sampled_at,
            )
            for row in nodes
        ],
    )
    yield Family(
        name="gpuboard_node_problem",
        help="Something wrong on a node or one of its GPUs; 1 while it lasts.",
        samples=[
            ({"node": row.name, "kind": kind, "uuid": uuid or ""}, 1.0)
            for row in nodes
            # Of several that differ in their words alone, one: a series may be told once.
            for kind, uuid in dict.fromkeys((problem.kind, problem.gpu_uuid) for problem in row.problems)
        ],
    )


def _labels(row: GpuRow) -> dict[str, str]:
    return {"node": row.node, "gpu": row.label, "uuid": row.uuid}
