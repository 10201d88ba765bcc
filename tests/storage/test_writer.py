"""What changes in memory: written beside everything else, whole, and read by the next run of the board."""

import asyncio

import pytest

from gpuboard.fleet.places import Card, Places
from gpuboard.model.errors import StorageError
from gpuboard.storage.base import Database
from gpuboard.storage.named import NamedValues
from gpuboard.storage.tables import NODE_PLACES
from gpuboard.storage.writer import ChangeWriter

FIRST = Places(cards={0: Card(uuid="GPU-a", model="A100"), 3: Card(uuid="GPU-d", missing_since=1.5)})
SECOND = Places(unnamed=8, fewer_since=2.0)


@pytest.fixture
def store(database: Database) -> NamedValues[Places]:
    """No place yet."""
    return NamedValues(database, NODE_PLACES, Places)


def test_values_come_back_as_they_were(store: NamedValues[Places]) -> None:
    """With whole numbers as keys."""
    store.save({"gpu01": FIRST, "gpu02": SECOND}, frozenset())
    assert store.load() == {"gpu01": FIRST, "gpu02": SECOND}


def test_a_newer_value_replaces_the_older_and_one_that_is_gone_leaves_none(
    store: NamedValues[Places],
) -> None:
    """One row per name, however long the board runs."""
    store.save({"gpu01": FIRST, "gpu02": SECOND}, frozenset())
    store.save({"gpu01": SECOND}, frozenset({"gpu02"}))
    assert store.load() == {"gpu01": SECOND}


def test_a_row_that_cannot_be_read_costs_that_row(store: NamedValues[Places], database: Database) -> None:
    """A newer gpuboard wrote it, or nobody knows who."""
    store.save({"gpu01": FIRST}, frozenset())
    with database.write() as connection:
        connection.execute(NODE_PLACES.insert().values(name="gpu02", value='{"cards": 7}'))
    assert store.load() == {"gpu01": FIRST}


async def test_changes_are_written_while_the_board_runs(store: NamedValues[Places]) -> None:
    """So that a crash costs seconds only."""
    writer = ChangeWriter(store, lambda: {"gpu01": FIRST}, {}, what="places", seconds=0.01)
    following = asyncio.create_task(writer.follow())
    for _ in range(200):
        await asyncio.sleep(0.02)
        if await asyncio.to_thread(store.load):
            break
    following.cancel()
    assert await asyncio.to_thread(store.load) == {"gpu01": FIRST}


def test_what_has_not_changed_is_not_written_again(
    store: NamedValues[Places], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A quiet fleet costs no disk."""
    saved: list[object] = []
    monkeypatch.setattr(store, "save", lambda changed, gone: saved.append((changed, gone)))
    now = {"gpu01": FIRST, "gpu02": SECOND}
    ChangeWriter(
        store, lambda: now, {"gpu01": FIRST, "gpu03": FIRST}, what="places", seconds=5.0
    ).write_last()
    assert saved == [({"gpu02": SECOND}, frozenset({"gpu03"}))]


def test_what_could_not_be_written_comes_with_the_next_time(
    store: NamedValues[Places], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And it is a trouble until then."""

    def full(*_: object) -> None:
        raise StorageError("the disk is full")

    writer = ChangeWriter(store, lambda: {"gpu01": FIRST}, {}, what="places", seconds=0.01)
    with monkeypatch.context() as broken:
        broken.setattr(store, "save", full)
        writer.write_last()
    trouble = writer.trouble
    assert trouble is not None
    writer.write_last()
    assert (trouble.text, writer.trouble, store.load()) == ("the disk is full", None, {"gpu01": FIRST})
