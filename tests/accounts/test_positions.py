"""How far each node has come: written beside the reports, whole, and read by the next run of the board."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuboard.accounts import positions as positions_module
from gpuboard.accounts.positions import NodePositions, PositionWriter
from gpuboard.model.errors import StorageError
from gpuboard.sources.ledger import Position
from gpuboard.storage.database import open_database

FIRST = Position(boot_id="b1", earlier_boots=("b0",), shown=2**53, taken=7)
SECOND = Position(boot_id="b2")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[NodePositions]:
    """No position yet."""
    database = open_database(tmp_path)
    yield NodePositions(database)
    database.close()


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


async def test_positions_are_written_while_the_board_runs(
    store: NodePositions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that a crash costs seconds only."""
    monkeypatch.setattr(positions_module, "WRITE_SECONDS", 0.01)
    writer = PositionWriter(store, lambda: {"gpu01": FIRST}, {})
    following = asyncio.create_task(writer.follow())
    for _ in range(200):
        await asyncio.sleep(0.02)
        if await asyncio.to_thread(store.load):
            break
    following.cancel()
    assert await asyncio.to_thread(store.load) == {"gpu01": FIRST}


def test_what_has_not_changed_is_not_written_again(
    store: NodePositions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A quiet fleet costs no disk."""
    saved: list[object] = []
    monkeypatch.setattr(store, "save", lambda changed, gone: saved.append((changed, gone)))
    now = {"gpu01": FIRST, "gpu02": SECOND}
    PositionWriter(store, lambda: now, {"gpu01": FIRST, "gpu03": FIRST}).write_last()
    assert saved == [({"gpu02": SECOND}, frozenset({"gpu03"}))]


def test_what_could_not_be_written_comes_with_the_next_time(
    store: NodePositions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And it is a trouble until then."""

    def full(*_: object) -> None:
        raise StorageError("the disk is full")

    writer = PositionWriter(store, lambda: {"gpu01": FIRST}, {})
    with monkeypatch.context() as broken:
        broken.setattr(store, "save", full)
        writer.write_last()
    trouble = writer.trouble
    assert trouble is not None
    writer.write_last()
    assert (trouble.text, writer.trouble, store.load()) == ("the disk is full", None, {"gpu01": FIRST})
