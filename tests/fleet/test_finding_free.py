"""Where a wish can be met, and when "no" is certain."""

import pytest
from msgspec.structs import replace

from gpuboard.fleet.changes import ChangeTracker
from gpuboard.fleet.clock import SteadyClock
from gpuboard.fleet.state import Fleet
from gpuboard.fleet.summary import Wish, find_free
from gpuboard.model.verdict import VerdictWord
from gpuboard.probes.simulated import simulate
from gpuboard.wire.views import GpuRow


def rows(**verdicts: VerdictWord) -> list[GpuRow]:
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
    ("wanted", "same_node", "uncertain"),
    [(8, True, True), (9, True, False), (9, False, False), (1, True, True)],
)
def test_only_silent_gpus_that_could_complete_the_wish_make_a_no_uncertain(
    wanted: int, *, same_node: bool, uncertain: bool
) -> None:
    """Eight silent GPUs never make nine."""
    wish = Wish(gpus=wanted, same_node=same_node)
    found = find_free([], rows(silent="stale", full="busy"), wish, at=0.0)
    assert (found.enough, found.could_be_enough) == (False, uncertain)


def test_free_and_silent_gpus_of_one_node_count_together() -> None:
    """Three free and five unknown might be eight."""
    mixed = [replace(row, verdict="free" if row.index < 3 else "unknown") for row in rows(half="free")]
    assert find_free([], mixed, Wish(gpus=8, same_node=True), at=0.0).could_be_enough


def test_only_nodes_that_meet_the_whole_wish_are_listed_if_there_are_any() -> None:
    """Whoever takes the second line of the answer must not end up with less than asked for."""
    few = [row for row in rows(few="free") if row.index < 1]
    enough = find_free([], [*rows(many="free"), *few], Wish(gpus=2, same_node=True), at=0.0)
    short = find_free([], few, Wish(gpus=2, same_node=True), at=0.0)
    assert [block.node for block in enough.blocks] == ["many"]
    assert (short.enough, [block.node for block in short.blocks]) == (False, ["few"])
