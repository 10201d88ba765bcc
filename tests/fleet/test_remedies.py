"""Whatever is wrong with a node is among its problems, with what to do: also what it does not say itself."""

from msgspec.structs import replace

from gpuboard.fleet.changes import ChangeTracker
from gpuboard.fleet.state import Fleet
from gpuboard.model.problems import problem
from gpuboard.model.report import GpuReading, NodeReport, Problem
from gpuboard.model.verdict import Reason
from tests.clock import HandClock

GPU = GpuReading(uuid="GPU-1", index=0, memory_used_bytes=0, processes=(), ecc_uncorrected_errors=7)
REPORT = NodeReport(node="a", interval_seconds=60.0, gpus=(GPU, replace(GPU, uuid="GPU-2", index=1)))
REFUSED = Reason(code="file-refused", text="a: not a whole drop: it ends in the middle")


def problems_in(fleet: Fleet) -> tuple[Problem, ...]:
    """What is wrong with the node, as rows say it."""
    rows = ChangeTracker(fleet)
    rows.tick()
    return rows.nodes["a"].problems


def test_memory_errors_that_a_node_only_counts_are_a_problem_since_they_were_seen() -> None:
    """Not every format has problems; the count alone says enough."""
    clock = HandClock()
    fleet = Fleet(clock)
    told = problem("ecc-uncorrected", "7", gpu_uuid="GPU-2", since=1.0)
    began = clock.time
    for _ in range(2):
        fleet.sink("folder").report("a", replace(REPORT, problems=(told,)))
        found = problems_in(fleet)
        clock.time += 30
    assert [(one.kind, one.gpu_uuid, one.since) for one in found] == [
        ("ecc-uncorrected", "GPU-2", 1.0),
        ("ecc-uncorrected", "GPU-1", began),
    ]
    assert all("reset it" in one.remedy for one in found)
    node = fleet.get("a")
    assert node is not None
    verdicts = [memory.verdict for memory in node.gpus.values()]
    assert [(one.word, one.since) for one in verdicts if one] == [("broken", began), ("broken", 1.0)]


def test_memory_errors_are_over_when_the_node_counts_none() -> None:
    """After a reset."""
    fleet = Fleet(HandClock())
    fleet.sink("folder").report("a", REPORT)
    assert len(problems_in(fleet)) == 2
    fleet.sink("folder").report("a", replace(REPORT, gpus=(replace(GPU, ecc_uncorrected_errors=0),)))
    assert "ecc-uncorrected" not in [one.kind for one in problems_in(fleet)]


def test_an_unreadable_file_of_a_node_that_was_never_read_is_a_problem_with_its_remedy() -> None:
    """As for one that was read before."""
    fleet = Fleet(HandClock())
    fleet.sink("folder").trouble("a", REFUSED)
    (found,) = problems_in(fleet)
    assert (found.kind, found.detail) == ("unreadable-file", REFUSED.text)
    assert "run the command that writes it by hand" in found.remedy


def test_a_node_that_its_source_no_longer_lists_says_what_to_do() -> None:
    """Whoever removed a file by mistake hears how it comes back."""
    fleet = Fleet(HandClock())
    sink = fleet.sink("folder")
    sink.report("a", replace(REPORT, gpus=()))
    sink.expect([])
    (found,) = problems_in(fleet)
    assert found.kind == "not-listed"
    assert "gpuboard node forget" in found.remedy


def test_the_lost_node_of_a_demo_has_a_remedy_too() -> None:
    """People see how it looks."""
    clock = HandClock()
    fleet = Fleet(clock)
    fleet.sink("simulated").report("a", replace(REPORT, gpus=()))
    clock.time += 3600
    assert [one.kind for one in problems_in(fleet)] == ["silent-simulated"]


def test_the_file_of_a_silent_node_is_named() -> None:
    """Whoever looks after it need not search the folder."""
    clock = HandClock()
    fleet = Fleet(clock)
    sink = fleet.sink("folder")
    sink.expect(["a"], files={"a": "/share/a.json"})
    sink.report("a", replace(REPORT, gpus=()))
    clock.time += 3600
    (found,) = problems_in(fleet)
    assert (found.kind, found.detail) == ("silent-folder", "/share/a.json")


def test_a_node_that_could_never_be_read_says_where_to_look() -> None:
    """As one does that has fallen silent."""
    fleet = Fleet(HandClock())
    fleet.sink("pull").trouble("a", Reason(code="connection-refused", text="a refuses the connection"))
    assert [one.kind for one in problems_in(fleet)] == ["silent-pull"]


def test_the_gravest_problem_of_a_node_comes_first() -> None:
    """Rows that have room for one line show that."""
    fleet = Fleet(HandClock())
    told = (problem("slow-driver"), problem("gpu-lost", gpu_uuid="GPU-2"))
    fleet.sink("push").report("a", replace(REPORT, gpus=REPORT.gpus[1:], problems=told))  # type: ignore[index]
    assert problems_in(fleet)[0].kind == "gpu-lost"
