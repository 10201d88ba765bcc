"""Names in the settings that no node has."""

import logging
from pathlib import Path

import pytest

from gpuboard.assembly.unmatched import unmatched_entries, watch_names
from gpuboard.bookings.slips import MAX_NAMED
from gpuboard.fleet.groups import NodeGroups
from gpuboard.fleet.names import Names
from gpuboard.fleet.state import Fleet
from gpuboard.fleet.unmatched import UnmatchedNames
from gpuboard.settings.board import read_settings
from tests.clock import HandClock

GROUPS = NodeGroups({"rack-a": ["gpu[01-03]", "Big One"], "vision": ["vision-*"]})


def fleet_of_settings() -> Fleet:
    """A fleet with names and groups, of which a source has yet to say who is there."""
    return Fleet(HandClock(), names=Names(nodes={"gpu01": "Big One", "gpu09": "Old"}), groups=GROUPS)


def test_nothing_is_said_before_the_sources_have_named_their_nodes() -> None:
    """A board that has just started knows no node; that is no slip."""
    fleet = fleet_of_settings()
    sink = fleet.sink("push")
    assert UnmatchedNames(fleet).found() == ()
    sink.expect([])
    assert len(UnmatchedNames(fleet).found()) == 7


def test_entries_that_match_no_node_are_told_until_one_comes() -> None:
    """By a node's own name or by what people call it; of a range only what is missing."""
    fleet = fleet_of_settings()
    unmatched = UnmatchedNames(fleet)
    fleet.sink("push").expect(["gpu01", "gpu02"])
    assert unmatched.found() == (
        "[names] nodes gpu09",
        "[groups.nodes] rack-a gpu03",
        "[groups.nodes] vision vision-*",
    )
    fleet.sink("push").expect(["gpu01", "gpu02", "gpu03", "vision-7", "gpu09"])
    assert unmatched.found() == ()
    fleet.group_by(NodeGroups({"rack-b": ["gpu4"]}))
    assert unmatched.found() == ("[groups.nodes] rack-b gpu4",)


def test_the_log_hears_of_it_once(caplog: pytest.LogCaptureFixture) -> None:
    """And of thousands of entries only the first."""
    caplog.set_level(logging.INFO)
    fleet = Fleet(HandClock(), groups=NodeGroups({"rack": ["gpu[1-1000]"]}))
    fleet.sink("push").expect(["other"])
    slips = watch_names(fleet)
    slips.look()
    slips.look()
    [record] = caplog.records
    assert "[groups.nodes] rack gpu1," in record.getMessage()
    assert f"and {1000 - MAX_NAMED} more" in record.getMessage()


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ('kind = "ssh"\nhosts = ["gpu[01-02]"]\n', True),
        ('kind = "ssh"\nhosts = ["gpu[01-02]", "gpu03"]\n', False),
        ('kind = "folder"\npath = "/nfs"\n', False),
    ],
)
def test_a_check_tells_where_the_settings_list_all_nodes(tmp_path: Path, source: str, *, told: bool) -> None:
    """Who else is on a folder nobody can tell before it is read."""
    config = tmp_path / "gpuboard.toml"
    config.write_text(f'[groups.nodes]\nrack-a = ["gpu[01-03]"]\n[[source]]\n{source}')
    found = unmatched_entries(read_settings(config))
    assert any("rack-a gpu03" in word for word in found) is told


def test_a_check_tells_which_vouching_nodes_nobody_knows(tmp_path: Path) -> None:
    """People would sign in from none of them; all nodes is no name."""
    config = tmp_path / "gpuboard.toml"
    source = '[[source]]\nkind = "ssh"\nhosts = ["gpu[01-02]"]\n'
    config.write_text(f'[access]\nvouching = ["lgoin*", "gpu*"]\n{source}')
    (word,) = unmatched_entries(read_settings(config))
    assert "[access] vouching lgoin*" in word
    assert "gpu*" not in word
    config.write_text(f"[access]\nvouching = []\n{source}")
    assert unmatched_entries(read_settings(config)) == []
