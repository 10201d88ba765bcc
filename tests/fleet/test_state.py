"""The live state: freshness, idle memory, duplicates, changes."""

import pytest
from msgspec.structs import replace

from gpuboard.fleet.changes import ChangeTracker
from gpuboard.fleet.state import Fleet
from gpuboard.fleet.views import fleet_view
from gpuboard.model.report import GpuProcess, GpuReading, NodeReport
from gpuboard.model.units import GIB
from gpuboard.model.verdict import Claim, Reason
from gpuboard.verdict import Thresholds
from tests.clock import HandClock

GPU = GpuReading(
    uuid="GPU-1", index=0, memory_used_bytes=0, memory_total_bytes=GIB, utilization_percent=0.0, processes=()
)
INSTANCE = replace(GPU, uuid="MIG-1", mig_parent_uuid="GPU-1", mig_profile="1g.10gb")
REPORT = NodeReport(node="a", interval_seconds=5.0, gpus=(GPU,))


def word_of(fleet: Fleet, node: str = "a", uuid: str = "GPU-1") -> str:
    """The word for one GPU, now."""
    fleet.settle()
    entry = fleet.get(node)
    assert entry is not None
    verdict = entry.gpus[uuid].verdict
    assert verdict is not None
    return verdict.word


def test_a_node_turns_stale_after_three_intervals_and_comes_back() -> None:
    """One missed round is no reason to turn grey; three are."""
    clock = HandClock()
    fleet = Fleet(clock)
    sink = fleet.sink("push")
    sink.report("a", REPORT)
    words = []
    for step in (0.0, 15.0, 0.1):
        clock.time += step
        words.append(word_of(fleet))
    sink.report("a", REPORT)
    words.append(word_of(fleet))
    assert words == ["free", "free", "stale", "free"]


def test_a_silent_node_is_late_then_lost() -> None:
    """Late after three intervals, lost after ten."""
    clock = HandClock()
    fleet = Fleet(clock)
    fleet.sink("push").report("a", REPORT)
    states = []
    for step in (1.0, 15.0, 35.0):
        clock.time += step
        fleet.settle()
        node = fleet.get("a")
        assert node is not None
        states.append(node.freshness.state)
    assert states == ["live", "late", "lost"]


@pytest.mark.parametrize(
    ("source", "remedy"),
    [
        ("push", "journalctl -u gpuboard-agent"),
        ("ssh 2", "ssh HOST nvidia-smi"),
        ("pull", "its port can be reached"),
        ("folder", "the job that writes it"),
        ("local", "gpuboard doctor"),
    ],
)
def test_a_lost_node_says_what_to_do_by_the_way_it_was_read(source: str, remedy: str) -> None:
    """In views and rows; not while it is only late, nor when it is back."""
    clock = HandClock()
    fleet = Fleet(clock)
    sink, tracker = fleet.sink(source), ChangeTracker(fleet)
    said = []
    for age in (0.0, 20.0, 51.0):
        sink.report("a", replace(REPORT, interval_seconds=5.0, age_seconds=age))
        tracker.tick()
        said.append([problem.remedy for problem in tracker.nodes["a"].problems])
        assert said[-1] == [problem.remedy for problem in fleet_view(fleet).nodes[0].problems]
    assert (said[:2], len(said[2]), remedy in said[2][0]) == ([[], []], 1, True)


def test_a_lost_node_whose_source_knows_what_to_do_says_only_that() -> None:
    """And one that was taken away says just this."""
    clock = HandClock()
    fleet = Fleet(clock)
    sink = fleet.sink("ssh")
    sink.report("a", replace(REPORT, interval_seconds=5.0))
    clock.time += 60
    sink.trouble("a", Reason(code="timeout", text="no answer; ping it", values={"remedy": "ping it"}))
    fleet.settle()
    node = fleet.get("a")
    assert node is not None
    assert (node.freshness.state, node.problems()) == ("lost", ())
    sink.expect(())
    fleet.settle()
    assert (node.freshness.state, [one.kind for one in node.problems()]) == ("lost", ["not-listed"])


def test_an_agent_that_answers_with_an_old_sample_ages() -> None:
    """A frozen agent that still answers must not look live."""
    fleet = Fleet(HandClock())
    fleet.sink("pull").report("a", replace(REPORT, age_seconds=60.0))
    assert word_of(fleet) == "stale"


def test_a_node_that_was_never_heard_of_says_why() -> None:
    """Expected, but silent: never; refused: refused, with the reason."""
    fleet = Fleet(HandClock())
    sink = fleet.sink("ssh")
    sink.expect(["a", "b"])
    sink.trouble("b", Reason(code="host-key-changed", text="its host key has changed"), state="refused")
    fleet.settle()
    states = {
        node.name: (node.freshness.state, node.freshness.reason and node.freshness.reason.code)
        for node in fleet
    }
    assert states == {"a": ("never", "never"), "b": ("refused", "host-key-changed")}


def test_trouble_does_not_hide_the_last_good_sample_while_it_is_fresh() -> None:
    """One failed round is not yet news."""
    fleet = Fleet(HandClock())
    sink = fleet.sink("ssh")
    sink.report("a", REPORT)
    sink.trouble("a", Reason(code="timeout", text="no answer within 10 s"))
    assert word_of(fleet) == "free"


def test_a_trouble_that_lasts_takes_the_node_from_the_offer_at_once() -> None:
    """Tried twice and failed twice: an error with its reason, later lost, and back with the next sample."""
    clock = HandClock()
    fleet = Fleet(clock)
    sink = fleet.sink("pull")
    sink.report("a", replace(REPORT, interval_seconds=20.0))
    gone = Reason(code="connection-refused", text="nothing listens there")
    states = []
    for is_lasting in (False, True):
        sink.trouble("a", gone, is_lasting=is_lasting)
        states.append((word_of(fleet), fleet_state(fleet)))
    for seconds in (65, 150):
        clock.time += seconds
        states.append((word_of(fleet), fleet_state(fleet)))
    sink.report("a", replace(REPORT, interval_seconds=20.0))
    states.append((word_of(fleet), fleet_state(fleet)))
    assert states == [
        ("free", "live"),
        ("stale", "error"),
        ("stale", "error"),
        ("stale", "lost"),
        ("free", "live"),
    ]


def fleet_state(fleet: Fleet) -> str:
    """The state of the node a."""
    node = fleet.get("a")
    assert node is not None
    return node.freshness.state


def test_a_file_that_breaks_is_said_while_its_last_good_sample_is_fresh() -> None:
    """At once, with the newest reason; gone when it can be read again."""
    fleet = Fleet(HandClock())
    sink = fleet.sink("folder")
    told = []
    for why in (None, "empty", "half-written", None):
        if why is None:
            sink.report("a", REPORT)
        else:
            sink.trouble("a", Reason(code="file-refused", text=f"a.txt: {why}"))
        fleet.settle()
        (node,) = fleet
        assert node.seen is not None
        assert node.freshness.state == "live"
        told.append([(found.kind, found.detail) for found in node.seen.problems])
    kind = "unreadable-file"
    assert told == [[], [(kind, "a.txt: empty")], [(kind, "a.txt: half-written")], []]
    assert word_of(fleet) == "free"


def test_a_held_gpu_becomes_idle_after_half_an_hour() -> None:
    """Memory held and no work: the board remembers since when."""
    clock = HandClock()
    fleet = Fleet(clock)
    held = replace(GPU, processes=(GpuProcess(pid=1, user="ana", kind="compute"),))
    words = []
    for _ in range(32):
        fleet.sink("push").report("a", replace(REPORT, gpus=(held,)))
        words.append(word_of(fleet))
        clock.time += 60
    assert (words[0], words[29], words[31]) == ("busy", "busy", "idle")


def test_one_old_sample_makes_nobody_idle() -> None:
    """A file that is written once an hour says nothing of the half hour after it; the next one does."""
    clock = HandClock()
    fleet = Fleet(clock)
    held = replace(GPU, processes=(GpuProcess(pid=1, user="ana", kind="compute"),))
    words = []
    for _ in range(2):
        fleet.sink("folder").report("a", replace(REPORT, gpus=(held,), interval_seconds=3600.0))
        clock.time += 40 * 60
        words.append(word_of(fleet))
    assert words == ["busy", "idle"]


def test_who_comes_to_a_quiet_gpu_is_not_idle_at_once() -> None:
    """Not every format says when a process began."""
    clock = HandClock()
    fleet = Fleet(clock)
    held = replace(GPU, processes=(GpuProcess(pid=1, user="ana", kind="compute"),))
    words = []
    for gpu in [GPU] * 40 + [held] * 32:
        fleet.sink("push").report("a", replace(REPORT, gpus=(gpu,)))
        words.append(word_of(fleet))
        clock.time += 60
    assert (words[39], words[40], words[69], words[71]) == ("free", "busy", "busy", "idle")


def test_a_claim_books_a_free_gpu() -> None:
    """Booked while the claim lasts, free after."""
    clock = HandClock()
    fleet = Fleet(clock)
    fleet.sink("push").report("a", replace(REPORT, interval_seconds=3600.0))
    fleet.set_claims("booking", {("a", 0): Claim(who="bob", until=clock.time + 60)})
    before = word_of(fleet)
    fleet.set_claims("booking", {})
    assert (before, word_of(fleet)) == ("booked", "free")


def test_only_what_changed_travels() -> None:
    """The same report again changes the node's age and no GPU."""
    clock = HandClock()
    fleet = Fleet(clock)
    tracker = ChangeTracker(fleet)
    sink = fleet.sink("push")
    two = replace(REPORT, gpus=(GPU, replace(GPU, uuid="GPU-2", index=1)))
    sink.report("a", two)
    first = tracker.tick()
    clock.time += 5
    sink.report("a", replace(two, gpus=(GPU, replace(GPU, uuid="GPU-2", index=1, utilization_percent=50.0))))
    second = tracker.tick()
    third = tracker.tick()
    assert ([row.uuid for row in first.gpus], [row.uuid for row in second.gpus]) == (
        ["GPU-1", "GPU-2"],
        ["GPU-2"],
    )
    assert not third


def test_a_gpu_and_a_node_that_leave_are_named() -> None:
    """Pages must be able to take them away."""
    clock = HandClock()
    fleet = Fleet(clock, forget_after_seconds=60)
    tracker = ChangeTracker(fleet)
    sink = fleet.sink("ssh")
    sink.expect(["a"])
    sink.report("a", REPORT)
    sink.report("a", replace(REPORT, gpus=(GPU, INSTANCE)))
    tracker.tick()
    sink.report("a", REPORT)
    gpu_gone = tracker.tick()
    sink.expect([])
    still_there = tracker.tick()
    assert [(row.name, row.state) for row in still_there.nodes] == [("a", "lost")]
    clock.time += 61
    node_gone = tracker.tick()
    assert (gpu_gone.gone_gpus, still_there.gone_nodes, node_gone.gone_nodes) == (["MIG-1"], [], ["a"])


def test_the_last_hour_shows_minutes_without_samples_as_unknown() -> None:
    """Unknown is not zero, in a sparkline neither."""
    clock = HandClock()
    fleet = Fleet(clock)
    sink = fleet.sink("push")
    for percent in (10.0, 30.0):
        sink.report("a", replace(REPORT, gpus=(replace(GPU, utilization_percent=percent),)))
        clock.time += 120
    node = fleet.get("a")
    assert node is not None
    assert node.gpus["GPU-1"].last_hour(clock.now())[-5:] == [10.0, None, 30.0, None, None]


def uses_of(percents: dict[float, float | None]) -> tuple[float | None, float | None]:
    """The use of a GPU in its row, now and of the last minute, after samples at these seconds."""
    clock = HandClock()
    clock.time = 600.0
    fleet = Fleet(clock)
    tracker, sink = ChangeTracker(fleet), fleet.sink("push")
    for second, percent in percents.items():
        clock.time = 600.0 + second
        sink.report("a", replace(REPORT, gpus=(replace(GPU, utilization_percent=percent),)))
        tracker.tick()
    row = tracker.gpus["GPU-1"]
    return row.utilization_percent, row.utilization_minute_percent


@pytest.mark.parametrize(
    ("percents", "minute"),
    [
        ({0.0: 40.0}, 40),
        ({0.0: 0.0, 10.0: 90.0, 20.0: 60.0}, 50),
        # Half of the calendar minute before lies within the last minute.
        ({second * 10.0: 100.0 if second >= 6 else 0.0 for second in range(10)}, 57),
        # What was longer ago does not count, nor does what nobody could tell.
        ({0.0: 100.0, 130.0: 20.0}, 20),
        ({0.0: 100.0, 10.0: None, 20.0: 50.0}, 75),
    ],
)
def test_a_row_carries_the_use_of_the_last_minute(percents: dict[float, float | None], minute: int) -> None:
    """A training that pauses for a second is no idle GPU; the sample itself stays beside it."""
    assert uses_of(percents) == ([*percents.values()][-1], minute)


def test_a_verdict_goes_by_samples_and_not_by_the_mean() -> None:
    """Whose work has just ended is quiet from then on, however busy the minute was."""
    clock = HandClock()
    fleet = Fleet(clock, thresholds=Thresholds(idle_after_seconds=20))
    tracker, sink = ChangeTracker(fleet), fleet.sink("push")
    held = replace(GPU, memory_used_bytes=GIB, processes=(GpuProcess(pid=1, user="ana"),))
    for percent in (100.0, 100.0, 0.0, 0.0, 0.0):
        sink.report("a", replace(REPORT, gpus=(replace(held, utilization_percent=percent),)))
        tracker.tick()
        clock.time += 10.0
    row = tracker.gpus["GPU-1"]
    assert (row.verdict, row.utilization_minute_percent) == ("idle", 40)


def test_what_cannot_be_told_now_has_no_mean_either() -> None:
    """Unknown is neither zero nor what it was a moment ago."""
    assert uses_of({0.0: 80.0, 5.0: None}) == (None, None)
