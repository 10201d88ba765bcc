"""Whoever names ever new nodes, each once, fills no memory: of those that have left, few are remembered."""

import pytest
from msgspec.structs import replace

from gpuboard.fleet import left
from gpuboard.fleet.state import Fleet
from gpuboard.model.report import GpuReading, NodeReport, Problem
from tests.clock import HandClock


def report(name: str, *, gpus: int = 1, words: int = 0) -> NodeReport:
    """A report of so many GPUs, with so many letters in it."""
    said = (Problem(kind="odd", text="x" * words, remedy=""),)
    cards = tuple(GpuReading(uuid=f"{name}-{number}", index=number) for number in range(gpus))
    return NodeReport(node=name, gpus=cards, problems=said)


def churn(fleet: Fleet, clock: HandClock, reports: list[NodeReport], *, keep: str | None = None) -> set[str]:
    """Name nodes one after the other, each only for a moment; return who is remembered in the end."""
    sink = fleet.sink("folder")
    for one in reports:
        sink.expect({one.node} | ({keep} if keep else set()))
        sink.report(one.node, one)
        clock.time += 1.0
        fleet.settle()
    sink.expect({keep} if keep else ())
    fleet.settle()
    return {node.name for node in fleet}


def test_of_nodes_that_have_left_the_last_ones_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is still named stays, however many come and go beside it."""
    monkeypatch.setattr(left, "MAX_LEFT_NODES", 3)
    clock = HandClock()
    fleet = Fleet(clock)
    fleet.sink("folder").expect({"honest"})
    fleet.sink("folder").report("honest", report("honest"))
    known = churn(fleet, clock, [report(f"n{number}") for number in range(9)], keep="honest")
    assert known == {"honest", "n6", "n7", "n8"}


@pytest.mark.parametrize(
    ("limit", "most", "one"),
    [("MAX_LEFT_GPUS", 30, report("n", gpus=10)), ("MAX_LEFT_BYTES", 16_000, report("n", words=4000))],
)
def test_large_ones_are_fewer(
    monkeypatch: pytest.MonkeyPatch, limit: str, most: int, one: NodeReport
) -> None:
    """What counts is what is remembered of them, not only how many they are."""
    monkeypatch.setattr(left, limit, most)
    clock = HandClock()
    reports = [
        replace(
            one,
            node=f"n{number}",
            gpus=tuple(replace(gpu, uuid=f"{number}-{gpu.index}") for gpu in one.gpus or ()),
        )
        for number in range(9)
    ]
    assert churn(Fleet(clock), clock, reports) == {"n6", "n7", "n8"}


def test_a_node_that_comes_back_in_time_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its last report is still there, and it no longer counts among those that have left."""
    monkeypatch.setattr(left, "MAX_LEFT_NODES", 2)
    clock = HandClock()
    fleet = Fleet(clock)
    assert churn(fleet, clock, [report("n0"), report("n1")]) == {"n0", "n1"}
    fleet.sink("folder").expect({"n0"})
    churn(fleet, clock, [report("n2"), report("n3")], keep="n0")
    known = {node.name: node.report is not None for node in fleet}
    assert known == {"n0": True, "n2": True, "n3": True}
