"""Names in the settings that match no node: said in the log and by `serve --check`, quietly.

No part of the board is in trouble by them: a rack may be written down before its nodes come.
"""

import fnmatch
import socket
from typing import Any, Final

from gpuboard.assembly.judging import groups_of, names_of
from gpuboard.bookings.slips import Slips, SlipWords, listed
from gpuboard.discovery.hosts import read_targets
from gpuboard.fleet.state import Fleet
from gpuboard.fleet.unmatched import UnmatchedNames, unmatched
from gpuboard.model.node import node_name_of
from gpuboard.settings.board import Settings

WORDS: Final = SlipWords(
    kind="unmatched_names",
    code="unmatched-names",
    text="the settings name what no source knows: {}; correct the name, or add the node",
    new="settings name no node: %s; correct them, or wait until a node has this name",
    mended="all names in the settings are of known nodes again",
)


def watch_names(fleet: Fleet) -> Slips[str]:
    """What tells the log, with every tick, which entries match nothing."""
    return Slips(WORDS, UnmatchedNames(fleet).found)


def unmatched_entries(settings: Settings) -> list[str]:
    """The same of settings that list all their nodes themselves; of others nobody can tell yet."""
    if settings.demo_nodes:
        return []
    nodes: set[str] = set()
    for _, table in settings.sources:
        named = _nodes_of(table)
        if named is None:
            return []
        nodes |= named
    if not settings.sources:
        nodes.add(node_name_of(socket.gethostname()))
    vouching = [one for one in settings.access.vouching if one != "*" and not fnmatch.filter(nodes, one)]
    found = (
        *unmatched(names_of(settings), groups_of(settings.groups), nodes),
        *(f"[access] vouching {pattern}" for pattern in vouching),
    )
    return [WORDS.text.format(listed(found))] if found else []


def _nodes_of(table: dict[str, Any]) -> set[str] | None:
    """The nodes that a source has by its table alone; None: somebody else tells it."""
    if table.get("kind") == "local":
        return {node_name_of(socket.gethostname())}
    if table.get("kind") in ("ssh", "pull") and "discover" not in table:
        return {target.node for target in read_targets(table.get("hosts", ()))}
    return None
