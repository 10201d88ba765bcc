"""One task for each node, as long as it is listed in one place; the same for all sources that ask nodes."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from gpuboard.discovery.base import Target
from gpuboard.sources.node_tasks import NodeTasks
from tests.fakes.sink import RecordingSink


class Looks:
    """Who is looked after, and who was."""

    def __init__(self) -> None:
        self.now: list[str] = []
        self.began: list[str] = []
        self._changed = asyncio.Event()

    async def look_after(self, target: Target) -> None:
        """Look until told to stop."""
        self.now.append(target.host)
        self.began.append(target.host)
        self._changed.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.now.remove(target.host)

    async def until_began(self, count: int) -> None:
        """Wait until so many looks have begun."""
        async with asyncio.timeout(60):
            while len(self.began) < count:
                self._changed.clear()
                await self._changed.wait()


@pytest.fixture
async def tasks() -> AsyncIterator[NodeTasks]:
    """None yet; all are ended after the test."""
    made = NodeTasks("ssh", interval=0.1)
    yield made
    await made.stop()


async def test_a_node_that_is_listed_twice_is_asked_once_at_its_first_place(tasks: NodeTasks) -> None:
    """Whatever the source."""
    looks, sink = Looks(), RecordingSink()
    tasks.follow([Target(node="a", host="one"), Target(node="a", host="two")], sink, looks.look_after)
    await looks.until_began(1)
    assert (looks.now, sink.addresses) == (["one"], {"a": "one"})


async def test_who_moves_is_asked_anew_and_who_stays_is_left_alone(tasks: NodeTasks) -> None:
    """And who is no longer listed is asked no more."""
    looks, sink = Looks(), RecordingSink()
    before = [Target(node=name, host=name) for name in ("stays", "moves", "goes")]
    tasks.follow(before, sink, looks.look_after)
    await looks.until_began(3)
    tasks.follow([before[0], Target(node="moves", host="elsewhere")], sink, looks.look_after)
    await looks.until_began(4)
    assert sorted(looks.now) == ["elsewhere", "stays"]
    await tasks.stop()
    assert looks.now == []


async def test_who_goes_before_its_turn_is_never_asked(tasks: NodeTasks) -> None:
    """Nodes begin one after the other; the list may change meanwhile."""
    looks, sink = Looks(), RecordingSink()
    tasks.follow([Target(node="a", host="a")], sink, looks.look_after)
    tasks.follow([Target(node="b", host="b")], sink, looks.look_after)
    await looks.until_began(1)
    assert looks.began == ["b"]


async def test_who_is_put_into_another_group_is_not_asked_anew(tasks: NodeTasks) -> None:
    """A rack is no part of the way to a node; the board hears of it all the same."""
    looks, sink = Looks(), RecordingSink()
    tasks.follow([Target(node="a", host="a", groups=("rack-1",))], sink, looks.look_after)
    await looks.until_began(1)
    tasks.follow([Target(node="a", host="a", groups=("rack-2",))], sink, looks.look_after)
    tasks.follow([Target(node="a", host="a"), Target(node="b", host="b")], sink, looks.look_after)
    await looks.until_began(2)
    assert (looks.began, looks.now) == (["a", "b"], ["a", "b"])
    assert sink.groups == {"a": (), "b": ()}
