"""Where a node is listed is what people copy, and only those who may see names see it."""

from gpuboard.fleet.changes import ChangeTracker
from gpuboard.fleet.state import Fleet
from gpuboard.wire.redact import node_rows_for_tier
from tests.clock import HandClock


def test_a_node_is_reached_by_the_address_that_it_is_listed_with() -> None:
    """Its short name may mean nothing on other machines; a list that moves it moves the address."""
    fleet = Fleet(HandClock())
    sink = fleet.sink("ssh")
    sink.expect(["tejo", "nameless"], {"tejo": "tejo.lab.example"})
    tracker = ChangeTracker(fleet)
    tracker.tick()
    assert (tracker.nodes["tejo"].address, tracker.nodes["nameless"].address) == ("tejo.lab.example", None)
    sink.expect(["tejo"], {"tejo": "192.0.2.7"})
    tracker.tick()
    assert tracker.nodes["tejo"].address == "192.0.2.7"


def test_addresses_are_hidden_with_the_names() -> None:
    """A visitor who sees counts learns no more of the network than the names of the nodes."""
    fleet = Fleet(HandClock())
    fleet.sink("ssh").expect(["tejo"], {"tejo": "tejo.lab.example"})
    tracker = ChangeTracker(fleet)
    tracker.tick()
    rows = list(tracker.nodes.values())
    assert [row.address for row in node_rows_for_tier(rows, "names")] == ["tejo.lab.example"]
    assert [row.address for row in node_rows_for_tier(rows, "counts")] == [None]
