"""A node whose clock is wrong: its times are corrected, and the clock is named."""

import pytest

from gpuboard.fleet.changes import ChangeTracker
from gpuboard.fleet.state import Fleet
from gpuboard.model.problems import problem
from gpuboard.model.report import GpuProcess, GpuReading, NodeReport
from gpuboard.model.source import SourceIdentity
from tests.clock import HandClock

DAY = 86_400.0


def rows_of(
    ahead: float, *, clock: HandClock | None = None, tracker: ChangeTracker | None = None
) -> ChangeTracker:
    """The rows of a node whose clock is so much ahead, with a process that began an hour ago."""
    clock = clock or HandClock()
    tracker = tracker or ChangeTracker(Fleet(clock))
    began = clock.time + ahead - 3600
    gpu = GpuReading(uuid="GPU-1", index=0, processes=(GpuProcess(pid=1, user="ana", started_at=began),))
    report = NodeReport(node="a", taken_at=clock.time + ahead, gpus=(gpu,))
    tracker._fleet.sink("push").report("a", report)
    tracker.tick()
    return tracker


@pytest.mark.parametrize("ahead", [DAY, -DAY, 45.0])
def test_since_is_by_the_boards_clock_however_wrong_the_nodes_is(ahead: float) -> None:
    """Not in the future, and not a day too long."""
    clock = HandClock()
    row = rows_of(ahead, clock=clock).gpus["GPU-1"]
    assert row.since == clock.time - 3600
    assert [user.since for user in row.users or ()] == [clock.time - 3600]


@pytest.mark.parametrize(
    ("ahead", "words"), [(DAY, "1d 0h ahead of the board's"), (-DAY, "1d 0h behind the board's")]
)
def test_a_wrong_clock_is_named_with_its_offset(ahead: float, words: str) -> None:
    """Whoever has to set it sees which way."""
    (problem,) = rows_of(ahead).nodes["a"].problems
    assert (problem.kind, problem.detail) == ("clock-off", words)


def test_a_clock_that_is_a_little_off_is_no_problem() -> None:
    """All are."""
    assert rows_of(10.0).nodes["a"].problems == ()


def test_an_offset_that_wavers_moves_no_times() -> None:
    """It is never measured twice alike, and a row that changes is sent to everybody."""
    clock = HandClock()
    tracker = rows_of(DAY, clock=clock)
    before = tracker.gpus["GPU-1"].since
    clock.time += 0.4
    gpu = GpuReading(
        uuid="GPU-1",
        index=0,
        processes=(GpuProcess(pid=1, user="ana", started_at=clock.time - 0.4 + DAY - 3600),),
    )
    tracker._fleet.sink("push").report(
        "a", NodeReport(node="a", taken_at=clock.time + DAY - 0.9, gpus=(gpu,))
    )
    tracker.tick()
    assert tracker.gpus["GPU-1"].since == before


def test_an_age_that_nobody_knows_is_not_made_up() -> None:
    """Not fresh, and no more than that: no age, no wrong clock, no file that is no longer written."""
    clock = HandClock()
    tracker = ChangeTracker(fleet := Fleet(clock))
    gpu = GpuReading(uuid="GPU-1", index=0, memory_used_bytes=0, processes=())
    unknown = problem("unknown-age", "gpu1_gpus.csv")
    report = NodeReport(node="a", taken_at=clock.time, age_seconds=DAY, gpus=(gpu,), problems=(unknown,))
    fleet.sink(SourceIdentity(0, "folder")).report("a", report)
    tracker.tick()
    row = tracker.nodes["a"]
    assert (row.state, row.sampled_at, row.clock_offset_seconds) == ("error", None, None)
    assert row.reason is not None
    assert row.reason.code == "age-unknown"
    assert [one.kind for one in row.problems] == ["unknown-age"]
    assert tracker.gpus["GPU-1"].verdict == "stale"
