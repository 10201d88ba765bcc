"""The tick: everybody who follows the fleet hears each change once, with before and after."""

import asyncio

import pytest

from gpuboard.assembly.ticking import Ticker
from gpuboard.fleet.changes import Change, ChangeTracker
from gpuboard.fleet.state import Fleet
from gpuboard.fleet.views import fleet_view
from gpuboard.model.report import GpuReading, NodeReport
from tests.clock import HandClock


def report_of(used: int) -> NodeReport:
    """A node whose GPU uses so many bytes."""
    gpu = GpuReading(uuid="GPU-1", index=0, memory_used_bytes=used, memory_total_bytes=2**40, processes=())
    return NodeReport(node="a", gpus=(gpu,))


def test_followers_hear_what_was_before_and_what_is_now() -> None:
    """So that nobody has to remember the rows for himself."""
    fleet = Fleet(HandClock(), forget_after_seconds=0)
    heard: list[Change] = []
    ticker = Ticker(ChangeTracker(fleet), [heard.append], period=1.0)
    sink = fleet.sink("push")
    for used in (1, 2**39):
        sink.report("a", report_of(used))
        ticker.tick()
    sink.expect(())
    ticker.tick()
    first, second, third = heard
    assert first.gpus_before == {}
    assert [second.gpus_before["GPU-1"].verdict, second.gpus[0].verdict] == ["free", "busy"]
    assert (third.gone_gpus, third.gpus_before["GPU-1"].memory_used_bytes) == (["GPU-1"], 2**39)
    assert third.nodes_before["a"].name == "a"


def test_of_a_change_of_figures_alone_only_the_new_ones_are_told() -> None:
    """Figures of before are history's; to hand all of them on would take twice the memory at every tick."""
    fleet = Fleet(HandClock())
    tracker = ChangeTracker(fleet)
    fleet.sink("push").report("a", report_of(1))
    tracker.tick()
    fleet.sink("push").report("a", report_of(2))
    change = tracker.tick()
    assert ([gpu.memory_used_bytes for gpu in change.gpus], change.gpus_before) == ([2], {})


def test_one_follower_that_fails_does_not_keep_the_change_from_the_others() -> None:
    """And the mistake is not lost."""
    heard: list[Change] = []

    def fail(_: Change) -> None:
        raise ArithmeticError

    ticker = Ticker(ChangeTracker(Fleet(HandClock())), [fail, heard.append], period=1.0)
    with pytest.raises(ArithmeticError):
        ticker.tick()
    assert len(heard) == 1


async def test_what_comes_right_after_a_start_does_not_wait_for_a_whole_tick() -> None:
    """Nodes are read within moments, and whoever has restarted a board looks at once."""
    fleet = Fleet(HandClock())
    shown = asyncio.Event()
    ticker = Ticker(ChangeTracker(fleet), [lambda change: shown.set() if change.nodes else None], period=10.0)
    ticking = asyncio.create_task(ticker.run())
    await asyncio.sleep(0)
    fleet.sink("push").report("a", report_of(1))
    await asyncio.wait_for(shown.wait(), 9)
    ticking.cancel()


def test_whole_views_and_rows_are_of_the_same_tick() -> None:
    """A report in between changes neither, so page, API and ETag agree."""
    fleet = Fleet(HandClock())
    tracker = ChangeTracker(fleet)
    fleet.sink("push").report("a", report_of(1))
    tracker.tick()
    fleet.sink("push").report("a", report_of(2))
    fleet.sink("push").report("b", NodeReport(node="b"))
    (node,) = fleet_view(fleet).nodes
    assert node.gpus[0].reading.memory_used_bytes == tracker.gpus["GPU-1"].memory_used_bytes == 1
    tracker.tick()
    shown = [gpu.reading.memory_used_bytes for node in fleet_view(fleet).nodes for gpu in node.gpus]
    assert shown == [tracker.gpus["GPU-1"].memory_used_bytes] == [2]
