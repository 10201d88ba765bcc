"""Who is missing: remembered in one place for all sources, and said once."""

import logging

import pytest
from msgspec.structs import replace

from gpuboard.fleet.changes import ChangeTracker
from gpuboard.fleet.roll_call import MAX_NAMED, PAUSE_SECONDS
from gpuboard.fleet.state import Fleet
from gpuboard.model.problems import problem
from gpuboard.model.verdict import Reason
from tests.clock import HandClock
from tests.fleet.test_state import GPU, REPORT

TWO = (GPU, replace(GPU, uuid="GPU-2", index=1))


@pytest.fixture
def clock() -> HandClock:
    """A clock that a test moves."""
    return HandClock()


@pytest.fixture
def fleet(clock: HandClock, caplog: pytest.LogCaptureFixture) -> Fleet:
    """A fleet whose roll call is written into the log."""
    caplog.set_level(logging.INFO)
    fleet = Fleet(clock)
    fleet.roll_call.speaks = True
    return fleet


@pytest.mark.parametrize("source", ["folder", "ssh", "pull", "push", "local"])
def test_a_node_that_is_lost_and_comes_back_is_said_once_each(
    fleet: Fleet, clock: HandClock, caplog: pytest.LogCaptureFixture, source: str
) -> None:
    """Whatever way its reports come."""
    sink = fleet.sink(source)
    sink.report("a", REPORT)
    fleet.settle()
    clock.time += 60
    fleet.settle()
    since = dict(fleet.roll_call.absent)
    clock.time += 60
    fleet.settle()
    sink.report("a", REPORT)
    fleet.settle()
    assert (since, fleet.roll_call.absent) == ({"a": clock.time - 60}, {})
    assert caplog.messages == [
        f"node missing: node=a source={source} state=lost reason=nothing new for 1m",
        f"node back: node=a source={source}",
    ]


def test_a_node_that_is_only_late_is_not_missing(
    fleet: Fleet, clock: HandClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Three intervals may pass on a busy network."""
    fleet.sink("push").report("a", REPORT)
    fleet.settle()
    clock.time += 16
    fleet.settle()
    assert (fleet.roll_call.absent, caplog.messages) == ({}, [])


def test_a_node_that_was_never_read_says_why(fleet: Fleet, caplog: pytest.LogCaptureFixture) -> None:
    """Its words are another's: nothing in them can forge a line of the log."""
    sink = fleet.sink("ssh")
    sink.expect(["a"])
    sink.trouble("a", Reason(code="auth-failed", text="no\nnode back: \x1b[31mnode=b"), state="refused")
    fleet.settle()
    assert set(fleet.roll_call.absent) == {"a"}
    (line,) = caplog.messages
    assert line.startswith("node missing: node=a source=ssh state=refused reason=no")
    assert line.isprintable()


def test_gpus_that_are_missing_are_called_too(
    fleet: Fleet, clock: HandClock, caplog: pytest.LogCaptureFixture
) -> None:
    """And when they are there again."""
    sink = fleet.sink("folder")
    for gpus in (TWO, TWO[:1], TWO[:1], TWO):
        sink.report("a", replace(REPORT, gpus=gpus))
        fleet.settle()
        clock.time += PAUSE_SECONDS
    assert caplog.messages == ["GPUs missing: node=a count=1", "GPUs back or replaced: node=a missing=0"]


def test_gpus_that_their_node_calls_lost_are_called_too(
    fleet: Fleet, clock: HandClock, caplog: pytest.LogCaptureFixture
) -> None:
    """As many as the row says; one that the node has left out besides is one."""
    lost = tuple(problem("gpu-lost", gpu_uuid=gpu.uuid) for gpu in TWO)
    sink, tracker = fleet.sink("push"), ChangeTracker(fleet)
    told = []
    for gpus, problems in ((TWO, ()), (TWO, lost[:1]), (TWO[:1], lost), (TWO, ())):
        sink.report("a", replace(REPORT, gpus=gpus, problems=problems))
        tracker.tick()
        told.append((tracker.nodes["a"].gpus_missing, fleet.roll_call.short.get("a", 0)))
        clock.time += PAUSE_SECONDS
    assert told == [(0, 0), (1, 1), (2, 2), (0, 0)]
    assert caplog.messages == [
        "GPUs missing: node=a count=1",
        "GPUs missing: node=a count=2",
        "GPUs back or replaced: node=a missing=0",
    ]


def test_gpus_without_names_that_are_fewer_are_called_too(
    fleet: Fleet, clock: HandClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Which is missing nobody can tell, that one is everybody can."""
    nameless = tuple(replace(gpu, uuid=f"a:{gpu.index}", uuid_is_synthetic=True) for gpu in TWO)
    sink = fleet.sink("folder")
    for gpus in (nameless, nameless[:1], nameless):
        sink.report("a", replace(REPORT, gpus=gpus))
        fleet.settle()
        clock.time += PAUSE_SECONDS
    assert caplog.messages == ["GPUs missing: node=a count=1", "GPUs back or replaced: node=a missing=0"]


def test_a_node_that_comes_and_goes_does_not_fill_the_log(
    fleet: Fleet, clock: HandClock, caplog: pytest.LogCaptureFixture
) -> None:
    """One line a minute, and the last word is true."""
    sink = fleet.sink("push")
    for _ in range(100):
        sink.report("a", replace(REPORT, interval_seconds=0.001))
        fleet.settle()
        clock.time += 0.5
        fleet.settle()
        clock.time += 0.1
    clock.time += PAUSE_SECONDS
    fleet.settle()
    assert len(caplog.messages) <= 2
    assert caplog.messages[-1].startswith("node missing")


def test_thousands_of_lost_nodes_are_named_a_few_at_a_time(
    fleet: Fleet, clock: HandClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Until all are."""
    sink = fleet.sink("folder")
    for number in range(3 * MAX_NAMED):
        sink.report(f"n{number}", replace(REPORT, node=f"n{number}", gpus=()))
    fleet.settle()
    clock.time += 600
    lines = []
    for _ in range(4):
        fleet.settle()
        lines.append(len(caplog.messages))
        clock.time += 1
    assert lines == [MAX_NAMED, 2 * MAX_NAMED, 3 * MAX_NAMED, 3 * MAX_NAMED]


def test_a_node_that_is_forgotten_is_not_missing(fleet: Fleet, clock: HandClock) -> None:
    """Nothing is remembered of it."""
    sink = fleet.sink("ssh")
    sink.report("a", REPORT)
    clock.time += 600
    fleet.settle()
    sink.expect([])
    clock.time += 100_000
    fleet.settle()
    fleet.settle()
    assert (fleet.roll_call.absent, fleet.roll_call.short, fleet.roll_call._told) == ({}, {}, {})


def test_a_node_is_not_back_because_another_source_expects_it(
    fleet: Fleet, clock: HandClock, caplog: pytest.LogCaptureFixture
) -> None:
    """A node that drops signed files is enrolled again: it is back with its next file, not with its token."""
    push, folder = fleet.sink("push"), fleet.sink("folder")
    folder.report("a", REPORT)
    fleet.settle()
    folder.expect(())
    fleet.settle()
    push.expect({"a"})
    fleet.settle()
    assert [message for message in caplog.messages if "back" in message] == []
    clock.time += PAUSE_SECONDS
    folder.expect({"a"})
    folder.report("a", REPORT)
    fleet.settle()
    assert caplog.messages[-1] == "node back: node=a source=folder"
