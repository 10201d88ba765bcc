"""The source contract: one way in which reports reach the board."""

from collections.abc import Iterable, Mapping
from typing import Literal, Protocol

from gpuboard.model.report import NodeReport
from gpuboard.model.verdict import Reason


class Sink(Protocol):
    """Where a source hands over what it learns; never blocks, never raises for bad content."""

    def expect(self, nodes: Iterable[str], addresses: Mapping[str, str] | None = None) -> None:
        """Name all nodes that this source looks after now; one that is no longer named is gone.

        Where they are listed with an address, people reach them by that.
        """

    def report(self, node: str, report: NodeReport) -> None:
        """Hand over one fresh, checked report."""

    def trouble(self, node: str, reason: Reason, *, state: Literal["refused", "error"] = "error") -> None:
        """Say why a node could not be read this time; its last data stays and ages."""


class Source(Protocol):
    """One way in which reports reach the board."""

    kind: str

    async def run(self, sink: Sink) -> None:
        """Hand over reports until cancelled.

        One node's failure never delays another node; nothing here blocks the event loop.
        """
