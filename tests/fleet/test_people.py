"""Who is on a GPU: accounts become people once, where holders are added up."""

import tracemalloc

import pytest
from msgspec.structs import replace

from gpuboard.fleet.changes import ChangeTracker
from gpuboard.fleet.names import Names
from gpuboard.fleet.state import Fleet
from gpuboard.fleet.summary import people_of
from gpuboard.model.report import GpuProcess, GpuReading, NodeReport
from gpuboard.model.units import GIB, MIB
from gpuboard.model.verdict import Claim
from gpuboard.verdict import judge
from gpuboard.wire.views import GpuRow
from tests.clock import HandClock

GPU = GpuReading(
    uuid="GPU-1", index=0, memory_used_bytes=GIB, memory_total_bytes=24 * GIB, utilization_percent=0.0
)


def row_of(
    *processes: GpuProcess, booked_by: str | None = None, people: dict[str, str] | None = None
) -> GpuRow:
    """What viewers see of a GPU with these processes."""
    clock = HandClock()
    fleet = Fleet(clock, names=Names(people=people or {}))
    if booked_by is not None:
        fleet.set_claims("booking", {("a", 0): Claim(who=booked_by, until=clock.time + 3600)})
    fleet.sink("push").report("a", NodeReport(node="a", gpus=(replace(GPU, processes=processes),)))
    rows = ChangeTracker(fleet)
    rows.tick()
    return rows.gpus["GPU-1"]


@pytest.mark.parametrize(
    ("who", "account"), [("alice", "asmith"), ("Alice", "ASmith"), ("asmith", "asmith"), ("Games", "games")]
)
def test_the_booker_under_another_account_is_no_trespasser(who: str, account: str) -> None:
    """The verdict gets people, not accounts, and case says nothing."""
    row = row_of(GpuProcess(pid=1, user=account), booked_by=who, people={"asmith": "alice"})
    assert row.flags == ()


def test_somebody_else_still_is_one() -> None:
    """With an alias of his own."""
    assert row_of(GpuProcess(pid=1, user="b1"), booked_by="alice", people={"b1": "bob"}).flags == (
        "trespass",
    )


def test_booked_and_used_are_told_apart() -> None:
    """Whoever has booked a GPU that another uses is there too; somebody who does both is one person."""
    users = ("ben", "Ana", None, "ana")
    rows = [
        replace(
            row_of(*([GpuProcess(pid=1, user=user)] if user else []), booked_by=booked_by),
            uuid=f"GPU-{number}",
            label=str(number),
        )
        for number, (user, booked_by) in enumerate(zip(users, ("cem", "ana", "cem", None), strict=True))
    ]
    people = people_of(rows, at=0).people or ()
    found = {
        person.user: (
            [label for holding in person.holdings for label in holding.labels],
            [label for holding in person.booked for label in holding.labels],
        )
        for person in people
    }
    assert found == {"Ana": (["1", "3"], ["1"]), "ben": (["0"], []), "cem": ([], ["0", "2"])}
    counts = [(person.gpus, person.booked_gpus, person.held_gpus) for person in people]
    assert counts == [(2, 1, 2), (1, 0, 1), (0, 2, 1)]


@pytest.mark.parametrize(
    "process", [GpuProcess(pid=1), GpuProcess(pid=1, uid=4711), GpuProcess(pid=1, user="root", uid=0)]
)
def test_who_is_nobody_trespasses_nowhere(process: GpuProcess) -> None:
    """A booker's container often runs as root, or as a number."""
    assert row_of(process, booked_by="alice").flags == ()


def test_one_person_appears_once_whatever_the_accounts() -> None:
    """Two accounts of one alias, and one in capitals, are one holder."""
    processes = [
        GpuProcess(pid=n, user=user, memory_used_bytes=MIB) for n, user in enumerate(("a1", "A2", "Ana"))
    ]
    row = row_of(*processes, people={"A1": "ana", "a2": "ana"})
    assert [(user.name, user.processes, user.memory_used_bytes) for user in row.users or ()] == [
        ("ana", 3, 3 * MIB)
    ]


def test_a_process_without_a_figure_is_not_counted_into_the_sum() -> None:
    """500 MiB are of one process, not of two."""
    row = row_of(GpuProcess(pid=1, user="ana", memory_used_bytes=500 * MIB), GpuProcess(pid=2, user="ana"))
    (user,) = row.users or ()
    assert (user.processes, user.measured, user.memory_used_bytes) == (2, 1, 500 * MIB)


def test_one_person_has_and_several_have() -> None:
    """Words for people."""
    one = row_of(GpuProcess(pid=1, user="kim"), GpuProcess(pid=2, user="kim"))
    two = row_of(GpuProcess(pid=1, user="kim"), GpuProcess(pid=2, user="lee"))
    assert one.reason.text == "kim has 2 processes on it"
    assert two.reason.text == "kim, lee have 2 processes on it"


def test_names_that_a_node_invents_do_not_fill_the_memory() -> None:
    """A node may send 512 names of 256 letters in each report, and others in the next."""

    def judge_some(start: int) -> None:
        for number in range(start, start + 40):
            processes = tuple(
                GpuProcess(pid=pid, user=f"{number}-{pid}-".ljust(256, "x")) for pid in range(512)
            )
            judge(replace(GPU, processes=processes), now=0.0)

    judge_some(0)
    tracemalloc.start()
    try:
        judge_some(100)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Kept whole, they would be 40 times 512 times 256 bytes, several times over.
    assert kept < MIB


def test_in_a_realm_of_nodes_each_node_has_its_own_people() -> None:
    """Unless the admin joins them; root is nobody in particular, anywhere."""
    names = Names(people={"ana@b": "ana@a"}, realm="node")
    fleet = Fleet(HandClock(), names=names)
    for node in ("a", "b", "c"):
        processes = (GpuProcess(pid=1, user="ana", uid=1001), GpuProcess(pid=2, user="root", uid=0))
        gpu = replace(GPU, uuid=f"GPU-{node}", processes=processes)
        fleet.sink("push").report(node, NodeReport(node=node, gpus=(gpu,)))
    rows = ChangeTracker(fleet)
    rows.tick()
    found = {gpu.node: sorted(one.name for one in gpu.users or ()) for gpu in rows.gpus.values()}
    assert found == {"a": ["ana@a", "root"], "b": ["ana@a", "root"], "c": ["ana@c", "root"]}
