"""Which GPUs are counted, and what each is called."""

from gpuboard.fleet.changes import ChangeTracker
from gpuboard.fleet.counting import places
from gpuboard.fleet.state import Fleet
from gpuboard.fleet.summary import summarize
from gpuboard.model.report import GpuProcess, GpuReading, NodeReport
from gpuboard.model.units import GIB
from tests.clock import HandClock

CARD = GpuReading(uuid="GPU-0", index=0, mig_enabled=True)
WHOLE = GpuReading(uuid="GPU-1", index=1)
INSTANCES = tuple(
    GpuReading(
        uuid=f"MIG-{number}",
        index=number,
        mig_parent_uuid="GPU-0",
        mig_profile="1g.10gb",
        memory_total_bytes=10 * GIB,
        memory_used_bytes=0,
        processes=(),
    )
    for number in range(7)
)


def test_a_card_cut_into_instances_is_not_counted_and_its_instances_are() -> None:
    """Seven instances are seven GPUs, not eight."""
    counted = [place.counted for place in places((CARD, *INSTANCES, WHOLE))]
    assert counted == [False] + [True] * 8


def test_a_card_with_mig_on_and_no_instance_counts_once() -> None:
    """It is one GPU that nobody can take yet."""
    assert [place.counted for place in places((CARD, WHOLE))] == [True, True]


def test_an_instance_is_called_by_its_card_and_its_own_number() -> None:
    """Instance 1 of GPU 0 is no GPU 1."""
    assert [place.label for place in places((CARD, *INSTANCES[:2], WHOLE))] == ["0", "0:0", "0:1", "1"]


def test_an_instance_without_its_card_has_no_number_of_a_card() -> None:
    """Nothing is made up."""
    assert places(INSTANCES[:1])[0].label == "?:0"


def test_the_count_stays_when_the_node_turns_stale() -> None:
    """Whether a GPU is counted does not depend on how old its data is."""
    clock = HandClock()
    fleet = Fleet(clock)
    fleet.sink("push").report("a", NodeReport(node="a", interval_seconds=5.0, gpus=(CARD, *INSTANCES)))
    tracker = ChangeTracker(fleet)
    counts = []
    for _ in range(2):
        tracker.tick()
        counts.append(summarize(tracker.nodes.values(), tracker.gpus.values(), at=clock.now()).gpus)
        clock.time += 3600
    assert counts == [7, 7]


def test_a_holder_without_a_name_is_called_by_number() -> None:
    """The row itself says what to call people."""
    fleet = Fleet(HandClock())
    processes = (GpuProcess(pid=1, user="ana"), GpuProcess(pid=2, uid=1234), GpuProcess(pid=3))
    gpu = GpuReading(uuid="GPU-1", index=0, processes=processes)
    fleet.sink("push").report("a", NodeReport(node="a", gpus=(gpu,)))
    tracker = ChangeTracker(fleet)
    tracker.tick()
    assert {user.name for user in tracker.gpus["GPU-1"].users or ()} == {"ana", "uid 1234", "unknown"}
