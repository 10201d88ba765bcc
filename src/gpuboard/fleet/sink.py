"""The fleet as one source sees it."""

from collections.abc import Iterable, Mapping
from typing import Literal, Protocol

from gpuboard.fleet.freshness import Trouble
from gpuboard.fleet.node import Node
from gpuboard.model.report import NodeReport
from gpuboard.model.source import SourceIdentity
from gpuboard.model.verdict import Reason


class Takes(Protocol):
    """What a sink needs of the fleet."""

    def ensure(self, name: str, sink: "FleetSink") -> Node:
        """The node of this name as a source knows it."""

    def accept(self, node: Node, report: NodeReport) -> None:
        """Take in a node's newest report."""

    def leave(self, name: str, sink: "FleetSink") -> None:
        """Hear that a source no longer names a node."""


class FleetSink:
    """Where one source hands over what it learns."""

    def __init__(self, fleet: Takes, identity: SourceIdentity) -> None:
        self._fleet = fleet
        self.identity = identity
        self._names: frozenset[str] = frozenset()
        self._has_named = False

    def expect(self, nodes: Iterable[str], addresses: Mapping[str, str] | None = None) -> None:
        """Name all nodes that this source looks after now; one that is no longer named is gone."""
        before, self._names, self._has_named = self._names, frozenset(nodes), True
        for name in self._names - before:
            self._fleet.ensure(name, self)
        for name in before - self._names:
            self._fleet.leave(name, self)
        for name in self._names & (addresses or {}).keys():
            self._fleet.ensure(name, self).address = (addresses or {})[name]

    def report(self, node: str, report: NodeReport) -> None:
        """Hand over one fresh, checked report."""
        if self._is_mine(node):
            self._fleet.accept(self._fleet.ensure(node, self), report)

    def trouble(self, node: str, reason: Reason, *, state: Literal["refused", "error"] = "error") -> None:
        """Say why a node could not be read this time; its last data stays and ages."""
        if self._is_mine(node):
            self._fleet.ensure(node, self).trouble = Trouble(reason, state)

    def _is_mine(self, node: str) -> bool:
        """Whether this source has the node; what comes of one that was taken away comes too late."""
        if node not in self._names:
            if self._has_named:
                return False
            # A source that has not named its nodes has those that it reads.
            self._names |= {node}
        return True
