"""The nodes of all sources by their names, and which of those with the same name is shown."""

import logging
from collections.abc import Iterator

from gpuboard.fleet.node import Node
from gpuboard.fleet.sink import FleetSink
from gpuboard.model.source import SourceIdentity

log = logging.getLogger(__name__)


class Candidates:
    """All nodes that sources have under each name: mostly one."""

    def __init__(self) -> None:
        self._nodes: dict[str, dict[FleetSink, Node]] = {}
        # Sources that were said to have a node besides the one that is shown.
        self._told: dict[str, frozenset[str]] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._nodes)

    def get(self, name: str, sink: FleetSink) -> Node | None:
        """The node of this name as a source knows it."""
        return self._nodes.get(name, {}).get(sink)

    def add(self, name: str, sink: FleetSink) -> Node:
        """A node that a source has not had before."""
        node = self._nodes.setdefault(name, {})[sink] = Node(name, sink.identity)
        return node

    def shift(self, seconds: float) -> None:
        """Hear that the clock was set."""
        for nodes in self._nodes.values():
            for node in nodes.values():
                node.shift(seconds)

    def identify(self) -> None:
        """Take up the names and ranks that sources have now."""
        for nodes in self._nodes.values():
            for sink, node in nodes.items():
                node.identity = sink.identity

    def choose(self, name: str) -> Node:
        """The node that is shown: of the first configured source that has ever read it."""
        nodes = self._nodes[name]
        best = min(nodes.values(), key=_precedence)
        # Whoever has left is shown only as long as nobody else has the node.
        self._nodes[name] = {sink: n for sink, n in nodes.items() if n is best or n.left_at is None}
        # Whoever only expects it has not got it: a node may have a token just to sign what it drops.
        tried = (node for node in self._nodes[name].values() if node.report or node.trouble)
        best.also_from = frozenset(node.source for node in tried if node is not best)
        self._tell(best)
        return best

    def forget(self, name: str) -> list[FleetSink]:
        """Forget all nodes of a name; return the sources that still name it."""
        self._told.pop(name, None)
        return [sink for sink, node in self._nodes.pop(name, {}).items() if node.left_at is None]

    def _tell(self, node: Node) -> None:
        """Say once in the log which sources have a node."""
        told = self._told.get(node.name, frozenset())
        both = node.also_from | {node.source} if node.also_from else node.also_from
        if not both <= told:
            self._told[node.name] = told | both
            log.warning("node from several sources: node=%s sources=%s", node.name, ", ".join(sorted(both)))


def _precedence(node: Node) -> tuple[bool, bool, SourceIdentity]:
    return node.left_at is not None, not node.was_read, node.identity
