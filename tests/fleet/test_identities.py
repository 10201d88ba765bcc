"""A GPU that two nodes claim to have: neither can make the other's disappear, and nothing stays wrong."""

import pytest
from msgspec.structs import replace

from gpuboard.fleet.changes import ChangeTracker
from gpuboard.fleet.identities import LONGEST, Identities, own_name
from gpuboard.fleet.state import Fleet
from gpuboard.metrics.fleet import fleet_families
from gpuboard.model.names import device_uuid
from gpuboard.model.report import GpuReading, NodeReport, Problem
from gpuboard.wire.redact import hide_names_in_node_row
from tests.clock import HandClock
from tests.fleet.test_state import GPU, INSTANCE, REPORT


class Board:
    """A fleet with one source, and the rows that a page would hold."""

    def __init__(self) -> None:
        self.fleet = Fleet(HandClock())
        self.sink = self.fleet.sink("push")
        self.page: dict[str, str] = {}
        self._tracker = ChangeTracker(self.fleet)

    def say(self, node: str, *uuids: str) -> None:
        """Let a node report GPUs of these names."""
        gpus = tuple(replace(GPU, uuid=uuid, index=place) for place, uuid in enumerate(uuids))
        self.sink.report(node, replace(REPORT, node=node, gpus=gpus))

    def look(self) -> set[tuple[str, str]]:
        """What a page shows that has followed every change: nodes with the names of their GPUs."""
        change = self._tracker.tick()
        for row in change.gpus:
            self.page[row.uuid] = row.node
        for uuid in change.gone_gpus:
            del self.page[uuid]
        return {(node, uuid) for uuid, node in self.page.items()}


def test_a_uuid_that_two_nodes_have_names_neither() -> None:
    """One machine under two names, or a node that lies: both are shown, whoever came first."""
    board = Board()
    board.say("honest", "GPU-1")
    assert board.look() == {("honest", "GPU-1")}
    board.say("liar", "GPU-1")
    assert board.look() == {("honest", "GPU-1@honest"), ("liar", "GPU-1@liar")}
    for name, other in (("honest", "liar"), ("liar", "honest")):
        node = board.fleet.get(name)
        assert node is not None
        assert [p.kind for p in node.problems()] == ["duplicate-gpu"]
        assert other in node.problems()[0].text


def test_twins_whose_names_are_hidden_are_told_once() -> None:
    """The same words three times tell nothing more, and a series of Prometheus may not come twice."""
    board = Board()
    for node in ("one", "two", "three", "four"):
        board.say(node, "GPU-1")
    board.look()
    row = board._tracker.nodes["four"]
    assert [found.kind for found in row.problems] == ["duplicate-gpu"] * 3
    assert [found.kind for found in hide_names_in_node_row(row).problems] == ["duplicate-gpu"]
    families = fleet_families([row], (), now=0.0)
    (said,) = [family for family in families if family.name == "gpuboard_node_problem"]
    assert len(said.samples) == 1


def test_a_node_that_claims_the_names_first_hides_nobody() -> None:
    """Neither a UUID nor any name that the board would invent for another's GPU."""
    board = Board()
    invented = ("GPU-1", "honest:GPU-1", "honest:0", "GPU-1@honest", "GPU-1@liar", "GPU-1@honest@honest")
    board.say("liar", *invented)
    board.look()
    board.say("honest", "GPU-1", "honest:0")
    shown = board.look()
    assert {uuid for node, uuid in shown if node == "honest"} == {"GPU-1@honest", "honest:0@honest"}
    assert len([uuid for node, uuid in shown if node == "liar"]) == len(invented)
    assert all(uuid.endswith("@liar") or "@" not in uuid for node, uuid in shown if node == "liar")


def test_the_dispute_ends_when_the_liar_is_revoked() -> None:
    """At once, and not when it is forgotten a day later; its own last rows stay apart."""
    board = Board()
    board.sink.expect(["honest", "liar"])
    board.say("liar", "GPU-1")
    board.say("honest", "GPU-1")
    board.look()
    board.sink.expect(["honest"])
    assert board.look() == {("honest", "GPU-1"), ("liar", "GPU-1@liar")}
    honest = board.fleet.get("honest")
    assert honest is not None
    assert honest.problems() == ()


def test_the_dispute_ends_when_the_other_is_forgotten() -> None:
    """`node forget` leaves nothing behind."""
    board = Board()
    board.say("liar", "GPU-1")
    board.say("honest", "GPU-1")
    board.look()
    board.sink.expect(["honest"])
    board.fleet.forget("liar")
    assert board.look() == {("honest", "GPU-1")}


def test_names_change_hands_within_one_tick() -> None:
    """A name that one node gives up and another gets in the same moment stays on the page."""
    board = Board()
    board.sink.expect(["a", "b"])
    board.say("a", "GPU-1")
    board.look()
    board.sink.expect(["b"])
    board.say("b", "GPU-1")
    assert board.look() == {("a", "GPU-1@a"), ("b", "GPU-1")}


def test_a_renamed_gpu_keeps_its_memory_its_instances_and_its_problems() -> None:
    """A lie about its name does not make it new, and does not part it from what is said of it."""
    board = Board()
    lost = Problem(kind="gpu-lost", text="lost", remedy="reboot", gpu_uuid="GPU-1")
    report = replace(REPORT, gpus=(replace(GPU, mig_enabled=True), INSTANCE), problems=(lost,))
    board.sink.report("a", report)
    node = board.fleet.get("a")
    assert node is not None
    memory = node.gpus["GPU-1"]
    board.say("liar", "GPU-1")
    assert node.gpus["GPU-1@a"] is memory
    assert [reading.mig_parent_uuid for reading in node.readings()] == [None, "GPU-1@a"]
    assert node.problems()[0].gpu_uuid == "GPU-1@a"


@pytest.mark.slow
def test_many_nodes_with_one_name_cost_each_other_nothing() -> None:
    """Ten thousand files with the same UUIDs must not be renamed ten thousand times."""
    identities = Identities()
    uuids = frozenset(f"GPU-{number}" for number in range(256))
    touched = [identities.claim(f"node{number}", uuids) for number in range(2000)]
    assert sum(len(others) for others in touched) == 1
    left = [identities.set_left(f"node{number}", has_left=True) for number in range(1999)]
    assert sum(len(others) for others in left) == 1
    assert identities.name("node1999", "GPU-7") == "GPU-7"
    assert len(identities.twins("node5")) <= 3


def test_a_long_name_stays_within_its_limit_and_different_ones_differ() -> None:
    """Programs that ask the board refuse longer names."""
    names = {own_name("n" * 63, "x" * 255 + end) for end in "ab"}
    assert len(names) == 2
    assert {len(name) for name in names} == {LONGEST}


def test_identities_that_are_held_by_nobody_are_not_remembered() -> None:
    """A node that says new UUIDs all the time fills no memory."""
    fleet = Fleet(HandClock())
    sink = fleet.sink("push")
    for number in range(300):
        gpu = GpuReading(uuid=f"GPU-{number}", index=0)
        sink.report("liar", NodeReport(node="liar", gpus=(gpu, replace(GPU, uuid="GPU-stays", index=1))))
    node = fleet.get("liar")
    assert node is not None
    assert len(node.gpus) == 2
    assert len(fleet._devices._identities._holders) == 2


def test_a_disputed_gpu_can_still_be_taken_by_its_uuid() -> None:
    """The driver on the node knows nothing of the board's name for it."""
    assert device_uuid(own_name("a", "GPU-1")) == device_uuid("GPU-1") == "GPU-1"
