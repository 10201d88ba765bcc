"""From which source a node is shown: its identity is its table, and the first configured wins."""

import logging
from itertools import permutations

import pytest
from msgspec.structs import replace

from gpuboard.fleet.changes import ChangeTracker
from gpuboard.fleet.sink import FleetSink
from gpuboard.fleet.state import Fleet
from gpuboard.model.source import SourceIdentity, identify
from gpuboard.model.verdict import Reason
from tests.clock import HandClock
from tests.fleet.test_state import GPU, REPORT

FIRST, SECOND = identify(["ssh", "ssh"])
UNREACHABLE = Reason(code="unreachable", text="cannot be reached")


def shown(fleet: Fleet, name: str = "a") -> tuple[str, list[str]]:
    """From where a node is shown, and the models of its GPUs."""
    node = fleet.get(name)
    assert node is not None
    return node.source, [reading.model or "" for reading in node.readings()]


def bring(sink: FleetSink, model: str) -> None:
    """Report node a with one GPU of a model that tells the machines apart."""
    sink.report("a", replace(REPORT, gpus=(replace(GPU, model=model),)))


def test_tables_are_named_after_their_kind_and_numbered() -> None:
    """People must be able to find the table that is meant."""
    named = [(one.rank, one.name) for one in identify(["ssh", "folder", "ssh", "push", "ssh"])]
    assert named == [(0, "ssh"), (1, "folder"), (2, "ssh 2"), (3, "push"), (4, "ssh 3")]


def test_two_tables_of_one_kind_do_not_make_a_node_flip() -> None:
    """gpu01.a and gpu01.b are two machines, and the first configured is shown, whoever speaks last."""
    fleet = Fleet(HandClock())
    first, second = fleet.sink(FIRST), fleet.sink(SECOND)
    for _ in range(3):
        bring(first, "one")
        bring(second, "two")
        assert shown(fleet) == ("ssh", ["one"])


def test_the_first_configured_wins_though_the_second_was_faster() -> None:
    """A folder is read in a moment, a login takes seconds."""
    fleet = Fleet(HandClock())
    first, second = fleet.sink(FIRST), fleet.sink(SECOND)
    first.expect(["a"])
    bring(second, "two")
    before = shown(fleet)
    bring(first, "one")
    assert (before, shown(fleet)) == (("ssh 2", ["two"]), ("ssh", ["one"]))


def test_what_was_read_in_an_earlier_run_is_not_replaced_by_another_source() -> None:
    """Whoever may write into a folder speaks for no node that pushes, also when the board was restarted."""
    fleet = Fleet(HandClock())
    first, second = fleet.sink(FIRST), fleet.sink(SECOND)
    first.expect(["a", "b"])
    first.recall(["a", "not listed"])
    bring(second, "two")
    node = fleet.get("a")
    assert node is not None
    assert shown(fleet) == ("ssh", [])
    assert sorted(node.also_from) == ["ssh 2"]
    bring(first, "one")
    assert shown(fleet) == ("ssh", ["one"])


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_among_three_sources_the_order_of_arrival_does_not_matter(order: tuple[int, ...]) -> None:
    """Only the order in the configuration does."""
    fleet = Fleet(HandClock())
    identities = identify(["push", "ssh", "folder"])
    for place in order:
        bring(fleet.sink(identities[place]), identities[place].name)
    assert shown(fleet) == ("push", ["push"])


def test_a_first_source_that_never_read_the_node_does_not_hide_it() -> None:
    """Listed for ssh but unreachable there, read from a folder: the folder is shown, with the problem."""
    fleet = Fleet(HandClock())
    first = fleet.sink(FIRST)
    first.expect(["a"])
    first.trouble("a", UNREACHABLE)
    bring(fleet.sink(SECOND), "two")
    node = fleet.get("a")
    assert node is not None
    assert shown(fleet) == ("ssh 2", ["two"])
    assert [problem.kind for problem in node.problems()] == ["duplicate-node"]


def test_a_source_that_only_expects_a_node_is_no_duplicate_until_it_tries() -> None:
    """A node may have a token only to sign the files that it drops."""
    fleet = Fleet(HandClock())
    bring(fleet.sink(FIRST), "one")
    second = fleet.sink(SECOND)
    second.expect(["a"])
    node = fleet.get("a")
    assert node is not None
    before = node.problems()
    second.trouble("a", UNREACHABLE)
    assert (before, [problem.kind for problem in node.problems()]) == ((), ["duplicate-node"])


def test_a_first_source_that_has_read_the_node_once_keeps_it() -> None:
    """A node that is lost by the first source is lost: it does not change places with another machine."""
    clock = HandClock()
    fleet = Fleet(clock)
    bring(fleet.sink(FIRST), "one")
    clock.time += 3600
    fleet.sink(FIRST).trouble("a", UNREACHABLE)
    bring(fleet.sink(SECOND), "two")
    fleet.settle()
    node = fleet.get("a")
    assert node is not None
    assert (shown(fleet), node.freshness.state) == (("ssh", ["one"]), "lost")


def test_a_duplicate_names_both_tables_and_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """However often both report."""
    caplog.set_level(logging.WARNING)
    fleet = Fleet(HandClock())
    for _ in range(3):
        bring(fleet.sink(SECOND), "two")
        bring(fleet.sink(FIRST), "one")
    node = fleet.get("a")
    assert node is not None
    (problem,) = node.problems()
    assert problem.kind == "duplicate-node"
    assert problem.text == "two sources have a node of this name: ssh is shown, ssh 2 is not"
    assert [record.getMessage() for record in caplog.records] == [
        "node from several sources: node=a sources=ssh, ssh 2"
    ]


def test_a_source_that_is_withdrawn_takes_its_nodes_along() -> None:
    """A table that is no longer configured; what still comes of it comes too late."""
    clock = HandClock()
    fleet = Fleet(clock, forget_after_seconds=60)
    tracker = ChangeTracker(fleet)
    sink = fleet.sink(FIRST)
    bring(sink, "one")
    tracker.tick()
    fleet.withdraw(sink)
    bring(sink, "one")
    left = tracker.tick()
    clock.time += 61
    assert [(row.name, row.state) for row in left.nodes] == [("a", "lost")]
    assert tracker.tick().gone_nodes == ["a"]


def test_when_the_first_source_lets_go_the_second_is_shown_at_once() -> None:
    """It has read the node all the while; nobody has to wait for its next report."""
    fleet = Fleet(HandClock())
    bring(fleet.sink(FIRST), "one")
    bring(fleet.sink(SECOND), "two")
    fleet.withdraw(fleet.sink(FIRST))
    fleet.settle()
    node = fleet.get("a")
    assert node is not None
    assert (shown(fleet), node.freshness.state, node.problems()) == (("ssh 2", ["two"]), "live", ())


def test_a_source_that_comes_while_running_takes_its_place() -> None:
    """Put before another in the configuration, it wins as soon as it has read the node."""
    fleet = Fleet(HandClock())
    old = fleet.sink(FIRST)
    bring(old, "one")
    fleet.arrange({old: SECOND})
    bring(fleet.sink(FIRST), "new")
    assert shown(fleet) == ("ssh", ["new"])


def test_sources_can_change_places_while_running() -> None:
    """The tables were put into another order; nobody has to report again."""
    fleet = Fleet(HandClock())
    first, second = fleet.sink(FIRST), fleet.sink(SECOND)
    bring(first, "one")
    bring(second, "two")
    fleet.arrange({first: SECOND, second: FIRST})
    assert shown(fleet) == ("ssh", ["two"])
    assert fleet.sink(FIRST) is second


def test_a_source_made_anew_goes_on_where_the_old_one_stopped() -> None:
    """A table that changed keeps its name: its nodes are not lost meanwhile."""
    fleet = Fleet(HandClock())
    bring(fleet.sink(FIRST), "one")
    fleet.sink(SourceIdentity(0, "ssh")).expect(["a"])
    assert shown(fleet) == ("ssh", ["one"])


def test_nothing_revives_a_node_that_was_taken_away() -> None:
    """A report that waited somewhere while the node's token was revoked comes too late."""
    fleet = Fleet(HandClock())
    sink = fleet.sink("push")
    sink.expect(["a"])
    bring(sink, "one")
    sink.expect([])
    bring(sink, "one")
    sink.trouble("a", UNREACHABLE)
    fleet.settle()
    node = fleet.get("a")
    assert node is not None
    assert (node.freshness.state, node.freshness.reason and node.freshness.reason.code) == ("lost", "revoked")
    assert (
        node.freshness.reason and node.freshness.reason.text
    ) == "its token was revoked; it will be forgotten"


def test_a_node_that_its_source_never_named_is_not_shown() -> None:
    """Where a source names its nodes, nobody else can come in through it."""
    fleet = Fleet(HandClock())
    sink = fleet.sink("push")
    sink.expect([])
    bring(sink, "one")
    assert fleet.get("a") is None
