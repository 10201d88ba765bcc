"""Names of nodes in the settings that no node has: a slip of the admin, or a node that is yet to come."""

from collections.abc import Set as AbstractSet

from gpuboard.fleet.groups import NodeGroups
from gpuboard.fleet.names import Names
from gpuboard.fleet.state import Fleet


def unmatched(names: Names, groups: NodeGroups, nodes: AbstractSet[str]) -> tuple[str, ...]:
    """The entries that match none of these nodes, each with the words that say where it stands. Pure."""
    called = {names.nodes[node] for node in nodes if node in names.nodes}
    return (
        *(f"[names] nodes {node}" for node in names.nodes if node not in nodes),
        *(f"[groups.nodes] {group} {entry}" for group, entry in groups.matching_none({*nodes, *called})),
    )


class UnmatchedNames:
    """Looks which names of a fleet's settings no node has; only when nodes or settings have changed."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._looked: tuple[Names, NodeGroups, frozenset[str]] | None = None
        self._found: tuple[str, ...] = ()

    def found(self) -> tuple[str, ...]:
        """Those that match nothing; none while a source has yet to name its nodes."""
        names, groups = self._fleet.names, self._fleet.groups
        if not (names.nodes or groups.names) or self._fleet.sources_unknown():
            return ()
        nodes = frozenset(node.name for node in self._fleet)
        if self._looked != (names, groups, nodes):
            self._looked = names, groups, nodes
            self._found = unmatched(names, groups, nodes)
        return self._found
