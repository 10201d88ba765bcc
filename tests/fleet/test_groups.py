"""Which nodes belong together."""

from gpuboard.fleet.groups import NodeGroups


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
