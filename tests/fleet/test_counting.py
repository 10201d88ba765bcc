"""Which GPUs are counted, what each is called, and which are offered."""

from msgspec.structs import replace

from gpuboard.fleet.changes import ChangeTracker
from gpuboard.fleet.counting import gpu_tags
from gpuboard.fleet.state import Fleet
from gpuboard.fleet.summary import Wish, find_free, people_of, summarize
from gpuboard.model.problems import problem
from gpuboard.model.report import GpuProcess, GpuReading, NodeReport
from gpuboard.model.units import GIB
from gpuboard.model.verdict import Reason
from gpuboard.sources.formats import read_file
from gpuboard.verdict import Thresholds
from gpuboard.wire.summary import FreeAnswer
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
    counted = [place.counted for place in gpu_tags((CARD, *INSTANCES, WHOLE))]
    assert counted == [False] + [True] * 8


def test_a_card_with_mig_on_and_no_instance_counts_once() -> None:
    """It is one GPU that nobody can take yet."""
    assert [place.counted for place in gpu_tags((CARD, WHOLE))] == [True, True]


def test_an_instance_is_called_by_its_card_and_its_own_number() -> None:
    """Instance 1 of GPU 0 is no GPU 1."""
    assert [place.label for place in gpu_tags((CARD, *INSTANCES[:2], WHOLE))] == ["0", "0:0", "0:1", "1"]


def test_an_instance_without_its_card_has_no_number_of_a_card() -> None:
    """Nothing is made up."""
    assert gpu_tags(INSTANCES[:1])[0].label == "?:0"


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


def free_in(tracker: ChangeTracker, wish: Wish = Wish()) -> FreeAnswer:  # noqa: B008 - frozen
    """What `free` would say."""
    return find_free(tracker.nodes.values(), tracker.gpus.values(), wish, at=tracker.now())


def tracking(
    *reports: NodeReport, clock: HandClock | None = None, ignore: tuple[str, ...] = ()
) -> ChangeTracker:
    """The rows of nodes that said this."""
    fleet = Fleet(clock or HandClock(), thresholds=Thresholds(ignore=ignore))
    for report in reports:
        fleet.sink("push").report(report.node, report)
    tracker = ChangeTracker(fleet)
    tracker.tick()
    return tracker


def empty_gpu(number: int, model: str = "NVIDIA A100-SXM4-80GB") -> GpuReading:
    """A GPU that nobody uses."""
    return GpuReading(
        uuid=f"{model}-{number}",
        index=number,
        model=model,
        memory_used_bytes=0,
        memory_total_bytes=80 * GIB,
        utilization_percent=0.0,
        processes=(),
    )


def test_ignored_models_are_shown_but_neither_counted_nor_offered() -> None:
    """The card that only drives a screen; nobody computes there, also not by accident."""
    screen = replace(empty_gpu(0, "NVIDIA T1000"), processes=(GpuProcess(pid=1, user="ana"),))
    rows = tracking(NodeReport(node="a", gpus=(screen, empty_gpu(1))), ignore=("t1000",))
    assert len(rows.gpus) == 2
    assert summarize(rows.nodes.values(), rows.gpus.values(), at=0).gpus == 1
    assert [block.labels for block in free_in(rows).blocks] == [("1",)]
    assert people_of(rows.gpus.values(), at=0).people == ()


def test_free_and_people_say_instances_by_their_labels() -> None:
    """GPU 0:1 is not called GPU 1."""
    taken = replace(INSTANCES[1], processes=(GpuProcess(pid=1, user="ana"),))
    rows = tracking(NodeReport(node="a", gpus=(CARD, INSTANCES[0], taken, INSTANCES[2])))
    assert [block.labels for block in free_in(rows).blocks] == [("0:0", "0:2")]
    people = people_of(rows.gpus.values(), at=0).people
    assert people is not None
    assert [holding.labels for person in people for holding in person.holdings] == [("0:1",)]


def test_what_was_just_freed_is_offered_last() -> None:
    """Two that are settled are better than three whose user may only be restarting."""
    clock = HandClock()
    busy = (GpuProcess(pid=1, user="ana"),)
    a = NodeReport(node="a", gpus=tuple(replace(empty_gpu(n), uuid=f"a{n}") for n in range(3)))
    b = NodeReport(node="b", gpus=tuple(replace(empty_gpu(n), uuid=f"b{n}") for n in range(3)))
    rows = tracking(
        replace(a, gpus=tuple(replace(gpu, processes=busy) for gpu in a.gpus or ())),
        replace(b, gpus=(replace((b.gpus or ())[0], processes=busy), *(b.gpus or ())[1:])),
        clock=clock,
    )
    for report in (a, b):
        rows._fleet.sink("push").report(report.node, report)
    rows.tick()
    found = [(block.node, block.labels, block.just_freed) for block in free_in(rows).blocks]
    assert found == [("b", ("1", "2", "0"), 1), ("a", ("0", "1", "2"), 3)]
    clock.time += 300
    assert [block.just_freed for block in free_in(rows).blocks] == [0, 0]


def test_after_a_start_of_the_board_nothing_was_just_freed() -> None:
    """Since when it is free is not known, so it ranks like those that are free for long."""
    rows = tracking(NodeReport(node="a", gpus=(empty_gpu(0),)))
    (block,) = free_in(rows).blocks
    assert (block.just_freed, [row.since for row in rows.gpus.values()]) == (0, [None])


def test_a_node_that_comes_back_after_a_start_did_not_just_free_its_gpus() -> None:
    """It was late for a moment; that frees nothing."""
    clock = HandClock()
    report = NodeReport(node="a", gpus=(empty_gpu(0),))
    rows = tracking(report, clock=clock)
    clock.time += 20
    rows.tick()
    assert [row.verdict for row in rows.gpus.values()] == ["stale"]
    rows._fleet.sink("push").report("a", report)
    rows.tick()
    assert [block.just_freed for block in free_in(rows).blocks] == [0]


def test_nodes_that_were_never_read_make_no_count() -> None:
    """Unknown is not zero, and "no" is not certain."""
    fleet = Fleet(HandClock())
    fleet.sink("ssh").expect(["a", "b"])
    fleet.sink("ssh").trouble("a", Reason(code="unreachable", text="no route"))
    rows = ChangeTracker(fleet)
    rows.tick()
    summary = summarize(rows.nodes.values(), rows.gpus.values(), at=0)
    assert (summary.gpus, summary.nodes_unknown) == (0, 2)
    assert free_in(rows).could_be_enough


def test_more_than_any_node_can_have_is_a_certain_no() -> None:
    """Nine on one node of eight: a stale node elsewhere with one GPU changes nothing."""
    clock = HandClock()
    rows = tracking(
        NodeReport(node="a", gpus=tuple(empty_gpu(n) for n in range(8))),
        NodeReport(node="b", age_seconds=60.0, gpus=(empty_gpu(8),)),
        clock=clock,
    )
    answer = free_in(rows, Wish(gpus=9, same_node=True))
    assert (answer.free, answer.enough, answer.cannot_tell, answer.could_be_enough) == (8, False, 1, False)
    assert free_in(rows, Wish(gpus=9)).could_be_enough


def test_a_node_that_was_read_and_has_no_driver_is_not_unknown() -> None:
    """It says that it has no GPU that can be used; one that cannot ask its driver cannot tell."""
    words = b"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"
    rows = tracking(
        NodeReport(node="a", gpus=None, problems=(problem("no-driver"),)),
        NodeReport(node="b", gpus=None, problems=(problem("no-permission"),)),
        read_file(words, "c"),
    )
    known = {node.name: node.gpus_known for node in rows.nodes.values()}
    assert known == {"a": True, "b": False, "c": False}
    assert summarize(rows.nodes.values(), rows.gpus.values(), at=0).nodes_unknown == 2
