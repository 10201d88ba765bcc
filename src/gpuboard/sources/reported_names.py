"""Nodes that are listed by address take the name that they report."""

import logging
from collections.abc import Iterable, Mapping
from typing import Final, Literal

from msgspec.structs import replace

from gpuboard.model.address import is_address
from gpuboard.model.node import node_name_of
from gpuboard.model.report import NodeReport
from gpuboard.model.verdict import Reason
from gpuboard.sources.base import Sink

log: Final = logging.getLogger(__name__)


class ReportedNames:
    """A sink that gives listed addresses the host names behind them, before anybody else hears of the nodes.

    A name is taken once and kept. One that another node has is not taken: a node can speak only for
    itself.
    """

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._listed: dict[str, str | None] = {}
        self._groups: Mapping[str, tuple[str, ...]] = {}
        # Listed name → the one it is shown under; an address that nobody has heard of yet has none.
        self._shown: dict[str, str] = {}
        # Those that have said their name.
        self._settled: set[str] = set()
        self._has_told = False

    def expect(
        self,
        nodes: Iterable[str],
        addresses: Mapping[str, str] | None = None,
        *,
        files: Mapping[str, str] | None = None,  # noqa: ARG002 - those that read files have names
        groups: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        """Take the list; an address waits for its name until the node has said something."""
        self._listed = {node: (addresses or {}).get(node) for node in nodes}
        self._groups = groups or {}
        self._settled &= self._listed.keys()
        known = {node: name for node, name in self._shown.items() if node in self._listed}
        self._shown = {node: node for node in self._listed if not _is_address(node)} | known
        self._tell()

    def recall(self, nodes: Iterable[str]) -> None:
        """Pass on who was read before; one that is listed by its address is not known by it."""
        self._sink.recall(nodes)

    def report(self, node: str, report: NodeReport) -> bool:
        """Hand over a report under the node's own name."""
        name = self._named(node, report)
        return self._sink.report(name, replace(report, node=name))

    def show(self, node: str, report: NodeReport) -> None:
        """Show a report under the node's own name."""
        name = self._named(node, report)
        self._sink.show(name, replace(report, node=name))

    def take(self, node: str, report: NodeReport, *, is_backfill: bool) -> bool:
        """Take a sample under the node's own name."""
        name = self._named(node, report)
        return self._sink.take(name, replace(report, node=name), is_backfill=is_backfill)

    def trouble(
        self,
        node: str,
        reason: Reason | None,
        *,
        state: Literal["refused", "error"] = "error",
        is_lasting: bool = False,
    ) -> None:
        """Hand over a trouble; whoever has never said a name is known by the address."""
        if node not in self._shown:
            self._show_as(node, node)
        self._sink.trouble(self._shown[node], reason, state=state, is_lasting=is_lasting)

    def _named(self, node: str, report: NodeReport) -> str:
        said = report.host.hostname if report.host is not None else None
        if node not in self._settled and _is_address(node) and said:
            self._settled.add(node)
            self._show_as(node, self._free_name(node, node_name_of(said)))
        elif node not in self._shown:
            self._show_as(node, node)
        return self._shown[node]

    def _free_name(self, node: str, name: str) -> str:
        if name not in self._listed and name not in self._shown.values():
            return name
        log.warning("name not taken: node=%s says=%s reason=another node has it", node, name)
        return node

    def _show_as(self, node: str, name: str) -> None:
        self._shown[node] = name
        self._tell()

    def _tell(self) -> None:
        if self._listed and not self._shown and not self._has_told:
            # There are nodes, but nobody knows their names yet: that is not "none".
            return
        self._has_told = True
        places = {name: place for node, name in self._shown.items() if (place := self._listed.get(node))}
        groups = {name: self._groups.get(node, ()) for node, name in self._shown.items()}
        self._sink.expect(self._shown.values(), places, groups=groups)


def _is_address(node: str) -> bool:
    # As discovery writes an IPv6 address in a name: fe80::1 is fe80--1.
    return is_address(node) or is_address(node.replace("-", ":"))
