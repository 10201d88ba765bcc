"""The one seam for samples: the newest is shown, each is taken; what was missed fills the last hour."""

import pytest
from msgspec.structs import replace

from gpuboard.fleet.state import Fleet
from gpuboard.model.report import GpuProcess, NodeReport
from gpuboard.model.source import SourceIdentity, identify
from tests.clock import HandClock
from tests.fleet.test_state import GPU, REPORT, word_of

FIRST, SECOND = identify(["ssh", "push"])


class Taker:
    """Takes samples, unless it is told not to."""

    def __init__(self) -> None:
        self.taken: list[tuple[int | None, bool]] = []
        self.passed_over: list[int | None] = []
        self.is_full = False

    def take(self, node: str, report: NodeReport, *, source: SourceIdentity, is_backfill: bool) -> bool:
        """Take one."""
        del node, source
        if not self.is_full:
            self.taken.append((report.sequence, is_backfill))
        return not self.is_full

    def pass_over(self, node: str, report: NodeReport, *, source: SourceIdentity) -> None:
        """Let one go."""
        del node, source
        self.passed_over.append(report.sequence)


@pytest.fixture
def clock() -> HandClock:
    """A clock at the beginning of a minute."""
    clock = HandClock()
    clock.time = 1_800_000_000.0
    return clock


@pytest.fixture
def fleet(clock: HandClock) -> Fleet:
    """An empty fleet with a taker."""
    fleet = Fleet(clock)
    fleet.taker = Taker()
    return fleet


def sample(sequence: int = 1, *, percent: float = 50.0, age: float = 0.0) -> NodeReport:
    """One sample of node a."""
    gpu = replace(GPU, utilization_percent=percent)
    return replace(REPORT, gpus=(gpu,), sequence=sequence, age_seconds=age)


def hour(fleet: Fleet, *, minutes: int = 6) -> list[float | None]:
    """The end of the last hour's plot."""
    node = fleet.get("a")
    assert node is not None
    return node.gpus["GPU-1"].last_hour(fleet.clock.now())[-minutes:]


def test_a_report_is_shown_and_taken_at_once(fleet: Fleet) -> None:
    """By sources that cannot send a sample again."""
    fleet.sink("ssh").report("a", sample(7))
    assert isinstance(fleet.taker, Taker)
    assert (word_of(fleet), fleet.taker.taken) == ("busy", [(7, False)])


def test_not_now_is_handed_on(fleet: Fleet) -> None:
    """The disk is full: the agent keeps its samples, and the live view goes on."""
    assert isinstance(fleet.taker, Taker)
    fleet.taker.is_full = True
    sink = fleet.sink("push")
    sink.show("a", sample())
    assert not sink.take("a", sample(), is_backfill=False)
    assert word_of(fleet) == "busy"


def test_of_two_sources_only_the_shown_one_is_taken(fleet: Fleet) -> None:
    """A node's past is as little mixed of two machines as its present; the agent hears that it may go on."""
    assert isinstance(fleet.taker, Taker)
    fleet.sink(FIRST).report("a", sample(1))
    assert fleet.sink(SECOND).take("a", sample(2), is_backfill=True)
    assert (fleet.taker.taken, fleet.taker.passed_over) == ([(1, False)], [2])


def test_missed_samples_fill_the_last_hour(fleet: Fleet, clock: HandClock) -> None:
    """Each in its minute, several by their average; what was heard live stays as it was."""
    sink = fleet.sink("push")
    sink.report("a", sample(1, percent=10.0))
    clock.time += 240
    sink.show("a", sample(9, percent=20.0))
    clock.time += 60
    sink.show("a", sample(10, percent=30.0))
    for age, percent in ((300.0, 99.0), (240.0, 40.0), (200.0, 60.0), (120.0, 80.0), (0.0, 99.0)):
        assert sink.take("a", sample(percent=percent, age=age), is_backfill=True)
    assert hour(fleet) == [10.0, 50.0, None, 80.0, 20.0, 30.0]


def test_missed_samples_change_neither_the_verdict_nor_its_since_nor_the_idle_memory(
    fleet: Fleet, clock: HandClock
) -> None:
    """They are past; somebody who was idle for an hour while the board was down is not idle by them."""
    sink = fleet.sink("push")
    held = replace(GPU, processes=(GpuProcess(pid=1, user="ana", kind="compute"),))
    now = replace(REPORT, gpus=(held,))
    sink.show("a", now)
    before = word_of(fleet), fleet_memory(fleet)
    for age in range(3600, 0, -5):
        assert sink.take("a", replace(now, age_seconds=float(age)), is_backfill=True)
    clock.time += 1
    assert (word_of(fleet), fleet_memory(fleet)) == before
    assert None not in hour(fleet, minutes=59)


def fleet_memory(fleet: Fleet) -> object:
    """All that a verdict can know of the GPU's past."""
    node = fleet.get("a")
    assert node is not None
    memory = node.gpus["GPU-1"]
    return memory.activity(), memory.verdict, node.sampled_at, node.report


def test_a_missed_sample_of_the_hour_before_is_too_old(fleet: Fleet) -> None:
    """It must not be taken for one of this hour."""
    sink = fleet.sink("push")
    sink.show("a", sample(percent=10.0))
    for age in (3600.0, 7200.0, 1e9):
        assert sink.take("a", sample(percent=99.0, age=age), is_backfill=True)
    assert hour(fleet, minutes=60) == [None] * 59 + [10.0]
