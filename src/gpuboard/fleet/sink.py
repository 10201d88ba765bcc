"""The fleet as one source sees it."""

from collections.abc import Iterable, Mapping
from typing import Literal, Protocol

from gpuboard.fleet.freshness import Trouble
from gpuboard.fleet.node import Node
from gpuboard.model.report import NodeReport
from gpuboard.model.source import SourceIdentity
from gpuboard.model.verdict import Reason


class Taker(Protocol):
    """Takes samples for good: the history, or who counts them where there is none."""

    def take(self, node: str, report: NodeReport, *, source: SourceIdentity, is_backfill: bool) -> bool:
        """Take one sample of this source; False means "not now".

        Raises:
            SampleRefused: it was sent later, and is too old to be taken ever.
        """

    def pass_over(self, node: str, report: NodeReport, *, source: SourceIdentity) -> None:
        """Note that a sample of this source came that nobody wants: another source is shown."""


class SinkFleet(Protocol):
    """What a sink needs of the fleet."""

    taker: Taker | None

    def ensure(self, name: str, sink: "FleetSink") -> Node:
        """The node of this name as a source knows it."""

    def recall(self, node: Node) -> None:
        """Note that a source has read a node in an earlier run."""

    def without_forgotten(self, name: str, report: NodeReport) -> NodeReport:
        """A report without the cards that somebody has had forgotten."""

    def accept(self, node: Node, report: NodeReport) -> None:
        """Show a node's newest report."""

    def trouble(self, node: Node, trouble: Trouble | None) -> None:
        """Note why a node could not be read this time; None: that is over."""

    def set_address(self, node: Node, address: str) -> None:
        """Note where a node is listed."""

    def set_file(self, node: Node, file: str) -> None:
        """Note from which file a node is read."""

    def set_groups(self, node: Node, groups: tuple[str, ...]) -> None:
        """Note what a node belongs to by the list of its source."""

    def fill(self, node: Node, report: NodeReport) -> None:
        """Fill the last hour with a sample that was missed."""

    def is_shown(self, node: Node) -> bool:
        """Whether the node is shown as this source knows it."""

    def leave(self, name: str, sink: "FleetSink") -> None:
        """Hear that a source no longer names a node."""


class FleetSink:
    """Where one source hands over what it learns."""

    def __init__(self, fleet: SinkFleet, identity: SourceIdentity) -> None:
        self._fleet = fleet
        self.identity = identity
        self._names: frozenset[str] = frozenset()
        self._has_named = False

    @property
    def is_heard(self) -> bool:
        """Whether the source has named its nodes yet, be it that there are none."""
        return self._has_named

    @property
    def nodes(self) -> int | None:
        """How many nodes the source has; None: it has not named them yet, and reads none."""
        return len(self._names) if self._has_named or self._names else None

    def expect(
        self,
        nodes: Iterable[str],
        addresses: Mapping[str, str] | None = None,
        *,
        files: Mapping[str, str] | None = None,
        groups: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        """Name all nodes that this source looks after now; one that is no longer named is gone."""
        before, self._names, self._has_named = self._names, frozenset(nodes), True
        for name in self._names - before:
            self._fleet.ensure(name, self)
        for name in before - self._names:
            self._fleet.leave(name, self)
        for name in self._names & (addresses or {}).keys():
            self._fleet.set_address(self._fleet.ensure(name, self), (addresses or {})[name])
        for name in self._names & (files or {}).keys():
            self._fleet.set_file(self._fleet.ensure(name, self), (files or {})[name])
        for name in self._names & (groups or {}).keys():
            self._fleet.set_groups(self._fleet.ensure(name, self), (groups or {})[name])

    def recall(self, nodes: Iterable[str]) -> None:
        """Say which of them this source has read in an earlier run."""
        for name in self._names.intersection(nodes):
            self._fleet.recall(self._fleet.ensure(name, self))

    def report(self, node: str, report: NodeReport) -> bool:
        """Hand over one fresh, checked report, to be shown and taken; False: shown, but not taken now."""
        if not self._is_mine(node):
            return True
        entry, report = self._fleet.ensure(node, self), self._fleet.without_forgotten(node, report)
        self._fleet.accept(entry, report)
        return self._take(entry, report, is_backfill=False)

    def show(self, node: str, report: NodeReport) -> None:
        """Show a node's newest report."""
        if self._is_mine(node):
            report = self._fleet.without_forgotten(node, report)
            self._fleet.accept(self._fleet.ensure(node, self), report)

    def take(self, node: str, report: NodeReport, *, is_backfill: bool) -> bool:
        """Take one sample for good; False means "not now".

        Raises:
            SampleRefused: it is too old to be taken ever.
        """
        if not self._is_mine(node):
            return True
        report = self._fleet.without_forgotten(node, report)
        return self._take(self._fleet.ensure(node, self), report, is_backfill=is_backfill)

    def _take(self, node: Node, report: NodeReport, *, is_backfill: bool) -> bool:
        taker, source = self._fleet.taker, self.identity
        if not self._fleet.is_shown(node):
            if taker is not None:
                taker.pass_over(node.name, report, source=source)
            return True
        if taker is not None and not taker.take(node.name, report, source=source, is_backfill=is_backfill):
            return False
        if is_backfill:
            self._fleet.fill(node, report)
        return True

    def trouble(
        self,
        node: str,
        reason: Reason | None,
        *,
        state: Literal["refused", "error"] = "error",
        is_lasting: bool = False,
    ) -> None:
        """Say why a node could not be read this time, once or again at once. None: that is over."""
        if self._is_mine(node):
            trouble = None if reason is None else Trouble(reason, state, is_lasting=is_lasting)
            self._fleet.trouble(self._fleet.ensure(node, self), trouble)

    def _is_mine(self, node: str) -> bool:
        """Whether this source has the node; what comes of one that was taken away comes too late."""
        if node not in self._names:
            if self._has_named:
                return False
            # A source that has not named its nodes has those that it reads.
            self._names |= {node}
        return True
