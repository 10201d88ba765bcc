"""How far each node has come: written beside the reports, whole, and read by the next run of the board."""

import pytest

from gpuboard.sources.ledger import Position
from gpuboard.sources.push.positions import NodePositions
from gpuboard.storage.base import Database

FIRST = Position(boot_id="b1", earlier_boots=("b0",), shown=2**53, taken=7)
SECOND = Position(boot_id="b2")


@pytest.fixture
def store(database: Database) -> NodePositions:
    """No position yet."""
    return NodePositions(database)


def test_positions_come_back_as_they_were(store: NodePositions) -> None:
    """Large numbers and unknown ones too."""
    store.save({"gpu01": FIRST, "gpu02": SECOND}, frozenset())
    assert store.load() == {"gpu01": FIRST, "gpu02": SECOND}


def test_a_newer_position_replaces_the_older_and_a_gone_node_leaves_none(
    store: NodePositions,
) -> None:
    """One row per node, however long the board runs."""
    store.save({"gpu01": FIRST, "gpu02": SECOND}, frozenset())
    store.save({"gpu01": SECOND}, frozenset({"gpu02"}))
    assert store.load() == {"gpu01": SECOND}
