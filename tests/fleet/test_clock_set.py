"""The clock of the board's machine is set while it runs: the board follows, and no age changes by it."""

import pytest
from msgspec.structs import replace

from gpuboard.fleet.activity import GpuMemory
from gpuboard.fleet.changes import ChangeTracker
from gpuboard.fleet.clock import SteadyClock
from gpuboard.fleet.state import Fleet
from gpuboard.model.report import GpuProcess, NodeReport
from gpuboard.model.units import GIB
from gpuboard.model.verdict import Claim
from tests.clock import Clock
from tests.fleet.test_state import GPU

HOUR = 3600.0
NOON = 1_800_000_000.0
REPORT = NodeReport(node="a", interval_seconds=5.0, gpus=(GPU,))
STEPS = pytest.mark.parametrize("step", [HOUR, -HOUR, 100 * 24 * HOUR, 95.5])


class Machine:
    """A machine with a clock that can be set and one that cannot, and a fleet that is watched on it."""

    def __init__(self) -> None:
        self.wall, self.boot = Clock(NOON), Clock(77.0)
        self.clock = SteadyClock(wall=self.wall, boot=self.boot)
        self.fleet = Fleet(self.clock)
        self.tracker = ChangeTracker(self.fleet)
        self.sink = self.fleet.sink("push")

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.wall.now += seconds
        self.boot.now += seconds

    def set_clock(self, step: float) -> None:
        """Set the clock, and let the board see it."""
        self.wall.now += step
        self.fleet.shift(self.clock.follow())

    def report(self, report: NodeReport = REPORT, *, ahead: float = 0.0) -> None:
        """Hear of a node, whose clock may be ahead, and tick."""
        self.sink.report("a", replace(report, taken_at=self.wall.now + ahead))
        self.tracker.tick()

    def problems(self) -> list[str]:
        """What is said to be wrong with the node."""
        return [problem.kind for problem in self.tracker.nodes["a"].problems]

    def blame(self) -> tuple[list[str], float]:
        """That, and how long somebody has been on its GPU."""
        return self.problems(), self.wall.now - (self.tracker.gpus["GPU-1"].since or 0.0)


@STEPS
def test_the_boards_time_is_that_of_its_machine_again(step: float) -> None:
    """At the first look after it was set; before that, nothing jumps."""
    machine = Machine()
    machine.wait(10)
    machine.wall.now += step
    assert machine.clock.now() == NOON + 10
    assert machine.clock.follow() == step
    assert machine.clock.now() == machine.wall.now
    assert machine.clock.follow() == 0.0


@pytest.mark.parametrize("step", [0.9, -0.9])
def test_a_clock_that_is_a_little_off_is_made_up_for_and_never_goes_back(step: float) -> None:
    """Without a word: whoever counts seconds sees slower or faster ones."""
    machine = Machine()
    machine.wall.now += step
    for _ in range(20):
        before = machine.clock.now()
        machine.wait(1)
        assert machine.clock.follow() == 0.0
        assert machine.clock.now() > before
    assert machine.clock.now() == pytest.approx(machine.wall.now)


def test_waiting_between_two_looks_at_the_clocks_is_no_step() -> None:
    """A busy machine may keep the board from running just there."""
    machine = Machine()

    def wall() -> float:
        machine.wait(5)
        return machine.wall.now - 2

    clock = SteadyClock(wall=machine.wall, boot=machine.boot)
    clock._wall = wall
    assert clock.follow() == 0.0


@STEPS
def test_a_live_node_stays_live_and_a_late_one_late(step: float) -> None:
    """Nobody has fallen silent, and nobody come back, because a clock was set."""
    machine = Machine()
    for age, state in ((4.0, "live"), (20.0, "late"), (100.0, "lost")):
        machine.report()
        machine.wait(age)
        machine.set_clock(step)
        machine.tracker.tick()
        row = machine.tracker.nodes["a"]
        assert row.state == state
        assert row.sampled_at == pytest.approx(machine.wall.now - age)


@STEPS
def test_what_has_lasted_for_a_while_has_lasted_as_long(step: float) -> None:
    """Idle since, empty since, missing since, begun since: as long ago as before."""
    machine = Machine()
    process = GpuProcess(pid=1, user="ana", started_at=NOON - 100, memory_used_bytes=GIB // 2)
    held = replace(GPU, memory_used_bytes=GIB // 2, processes=(process,))
    left = replace(GPU, uuid="GPU-2", index=1, processes=(replace(process, pid=2),))
    lost = replace(GPU, uuid="GPU-3", index=2)
    machine.report(replace(REPORT, gpus=(held, left, lost)))
    machine.wait(50)
    machine.report(replace(REPORT, gpus=(held, replace(left, processes=()))))
    machine.set_clock(step)
    machine.tracker.tick()
    gpus, now = machine.tracker.gpus, machine.wall.now
    assert gpus["GPU-1"].since == pytest.approx(now - 150, abs=1)
    assert gpus["GPU-2"].since == pytest.approx(now, abs=1)
    (missing,) = machine.tracker.nodes["a"].problems
    assert missing.kind == "gpu-missing"
    assert missing.since == pytest.approx(now)
    (places,) = machine.fleet.places().values()
    assert places.cards[2].missing_since == pytest.approx(now)


@STEPS
def test_the_last_hour_is_shown_as_it_was(step: float) -> None:
    """A plot of the last hour loses and invents no minute, but for one at its edge."""
    memory = GpuMemory()
    for minute in range(50):
        memory.observe(replace(GPU, utilization_percent=float(minute)), NOON + 60 * minute, 2.0)
    before = [value for value in memory.last_hour(NOON + 60 * 49) if value is not None]
    memory.shift(step)
    after = [value for value in memory.last_hour(NOON + 60 * 49 + step) if value is not None]
    assert after == before == [float(minute) for minute in range(50)]


def test_a_booking_holds_by_the_new_time_at_once() -> None:
    """It is by the time of the day: a GPU that is booked until three is booked at two."""
    machine = Machine()
    claim = Claim(who="ana", start=NOON + HOUR - 60, until=NOON + HOUR + 60)
    machine.fleet.set_claims("booking", {("a", 0): claim})
    words = []
    for step in (0.0, HOUR, HOUR, -HOUR, -HOUR):
        machine.report()
        if step:
            machine.set_clock(step)
        machine.tracker.tick()
        words.append(machine.tracker.gpus["GPU-1"].verdict)
    # And it begins and ends again, where the clock was set back before it.
    machine.wait(HOUR)
    machine.report()
    words.append(machine.tracker.gpus["GPU-1"].verdict)
    assert words == ["free", "booked", "free", "booked", "free", "booked"]


def test_nodes_are_no_longer_blamed_for_the_boards_own_clock() -> None:
    """At once, and their times are right with the next word too."""
    machine = Machine()
    process = GpuProcess(pid=1, user="ana", started_at=NOON + HOUR - 600)
    report = replace(REPORT, gpus=(replace(GPU, processes=(process,)),))
    machine.report(report, ahead=HOUR)
    seen = [machine.blame()]
    machine.set_clock(HOUR)
    machine.tracker.tick()
    seen.append(machine.blame())
    machine.report(report)
    seen.append(machine.blame())
    assert seen == [(["clock-off"], 600), ([], 600), ([], 600)]


def test_a_node_is_not_blamed_before_it_has_spoken_by_the_new_time() -> None:
    """It may be the same machine, whose clock was set along."""
    machine = Machine()
    machine.report()
    machine.set_clock(HOUR)
    machine.tracker.tick()
    assert machine.problems() == []
    machine.report(ahead=-HOUR)
    assert machine.problems() == ["clock-off"]


def test_a_moment_of_an_earlier_run_is_left_as_it_was_written_down() -> None:
    """The clock may have been right then: a machine without one of its own starts in 1970."""
    before = Machine()
    before.report(replace(REPORT, gpus=(GPU, replace(GPU, uuid="GPU-2", index=1))))
    before.report()
    after = Machine()
    after.wall.now = 10.0
    after.clock = SteadyClock(wall=after.wall, boot=after.boot)
    after.fleet = Fleet(after.clock)
    after.fleet.restore_places(before.fleet.places())
    after.set_clock(NOON + 60)
    assert after.fleet.places() == before.fleet.places()
