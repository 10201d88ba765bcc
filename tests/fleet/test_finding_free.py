"""Where a wish can be met, and when "no" is certain."""

import pytest
from msgspec.structs import replace

from gpuboard.fleet.changes import ChangeTracker
from gpuboard.fleet.clock import SteadyClock
from gpuboard.fleet.state import Fleet
from gpuboard.fleet.summary import Wish, find_free
from gpuboard.model.verdict import Word
from gpuboard.probes.simulated import simulate
from gpuboard.wire.views import GpuRow


def rows(**verdicts: Word) -> list[GpuRow]:
    """Eight GPUs on each node, all with the node's verdict."""
    fleet = Fleet(SteadyClock())
    tracker = ChangeTracker(fleet)
    for node in verdicts:
        fleet.sink("simulated").report(node, simulate(node, 0.0))
    tracker.tick()
    return [
        replace(row, node=node, verdict=verdict, index=index, model="RTX 4090")
        for node, verdict in verdicts.items()
        for index, row in enumerate(list(tracker.gpus.values())[:8])
    ]


@pytest.mark.parametrize(
    ("wanted", "same_node", "cannot_tell"),
    [(8, True, 8), (9, True, 0), (9, False, 8), (1, True, 8)],
)
def test_only_a_silent_node_that_could_complete_the_wish_makes_a_no_uncertain(
    wanted: int, *, same_node: bool, cannot_tell: int
) -> None:
    """On one node, eight silent GPUs never make nine."""
    found = find_free(rows(silent="stale", full="busy"), Wish(gpus=wanted, same_node=same_node), at=0.0)
    assert (found.enough, found.cannot_tell) == (False, cannot_tell)


def test_free_and_silent_gpus_of_one_node_count_together() -> None:
    """Three free and five unknown might be eight."""
    mixed = [replace(row, verdict="free" if row.index < 3 else "unknown") for row in rows(half="free")]
    assert find_free(mixed, Wish(gpus=8, same_node=True), at=0.0).cannot_tell == 5
