"""Which nodes belong together."""

from gpuboard.fleet.changes import ChangeTracker
from gpuboard.fleet.groups import NodeGroups
from gpuboard.fleet.state import Fleet
from tests.clock import HandClock


def test_a_node_is_in_the_groups_that_name_it() -> None:
    """By a range, by a star or by its own name; in the order of the settings."""
    groups = NodeGroups({"vision": ["vision-*", "GPU07"], "rack-a": ["gpu[01-16]"]})
    assert groups.of("gpu07") == ("vision", "rack-a")
    assert groups.of("gpu16") == ("rack-a",)
    assert groups.of("vision-03") == ("vision",)


def test_a_group_may_name_a_node_as_people_call_it() -> None:
    """By the name that the board shows, by a star or whole."""
    groups = NodeGroups({"a": ["big one"], "b": ["Big*"], "c": ["gpu07"]})
    assert groups.of("gpu07", "Big One") == ("a", "b", "c")
    assert groups.of("gpu07") == ("c",)


def test_a_node_that_nobody_names_is_in_none() -> None:
    """Zeros count: gpu7 is another node than gpu07."""
    assert NodeGroups({"rack-a": ["gpu[01-16]", "a.b*"]}).of("gpu7") == ()
    assert NodeGroups({"rack-a": ["a.b*"]}).of("axb") == ()
    assert NodeGroups().of("gpu07") == ()


def test_what_a_list_says_is_added_to_the_settings() -> None:
    """Those of the settings come first; one that both say is one; a change is news."""
    fleet = Fleet(HandClock(), groups=NodeGroups({"vision": ["a", "b"]}))
    tracker, sink = ChangeTracker(fleet), fleet.sink("pull")
    sink.expect(["a", "b"], groups={"a": ("rack-1", "vision"), "b": ()})
    tracker.tick()
    assert {name: row.groups for name, row in tracker.nodes.items()} == {
        "a": ("vision", "rack-1"),
        "b": ("vision",),
    }
    assert [fleet.has_group(name) for name in ("vision", "rack-1", "rack-2")] == [True, True, False]
    sink.expect(["a", "b"], groups={"a": ("rack-2",), "b": ()})
    tracker.tick()
    assert tracker.nodes["a"].groups == ("vision", "rack-2")
    assert not fleet.has_group("rack-1")
