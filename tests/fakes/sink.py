"""A sink that remembers what a source hands over."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Literal

from gpuboard.discovery.base import Found, Target
from gpuboard.model.report import NodeReport
from gpuboard.model.verdict import Reason
from gpuboard.sources.base import Sink, Source


class RecordingSink:
    """Everything that a source has said, in order."""

    def __init__(self) -> None:
        self.expected: list[set[str]] = []
        self.addresses: dict[str, str] = {}
        self.files: dict[str, str] = {}
        self.groups: dict[str, tuple[str, ...]] = {}
        self.reports: list[tuple[str, NodeReport]] = []
        self.troubles: list[tuple[str, Reason, str]] = []
        self.lasting: list[str] = []
        self.mended: list[str] = []
        self.taken: list[tuple[str, NodeReport, bool]] = []
        self._news = asyncio.Event()

    def expect(
        self,
        nodes: Iterable[str],
        addresses: Mapping[str, str] | None = None,
        *,
        files: Mapping[str, str] | None = None,
        groups: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        """Take the list of nodes."""
        self.expected.append(set(nodes))
        self.addresses = dict(addresses or {})
        self.files = dict(files or {})
        self.groups = dict(groups or {})
        self._news.set()

    def recall(self, nodes: Iterable[str]) -> None:
        """Nothing stands in for anybody here."""

    def report(self, node: str, report: NodeReport) -> bool:
        """Take a report."""
        self.reports.append((node, report))
        self._news.set()
        return True

    def show(self, node: str, report: NodeReport) -> None:
        """Take what is shown like a report."""
        self.report(node, report)

    def take(self, node: str, report: NodeReport, *, is_backfill: bool) -> bool:
        """Take a sample."""
        self.taken.append((node, report, is_backfill))
        return True

    def trouble(
        self,
        node: str,
        reason: Reason | None,
        *,
        state: Literal["refused", "error"] = "error",
        is_lasting: bool = False,
    ) -> None:
        """Take a trouble."""
        if reason is None:
            self.mended.append(node)
        else:
            self.troubles.append((node, reason, state))
            self.lasting += [node] if is_lasting else []
        self._news.set()

    def count(self, node: str) -> int:
        """How many reports a node has given."""
        return sum(name == node for name, _ in self.reports)

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Wait until something is so."""
        async with asyncio.timeout(60):
            while not is_so():
                self._news.clear()
                await self._news.wait()

    async def reports_of(self, node: str, count: int) -> None:
        """Wait until a node has given so many reports."""
        await self.until(lambda: self.count(node) >= count)

    async def more_troubles_than(self, count: int) -> None:
        """Wait until there were more troubles than this."""
        await self.until(lambda: len(self.troubles) > count)

    async def trouble_of(self, node: str) -> tuple[str, str, str]:
        """Wait for a node's first trouble: code, state and text."""
        await self.until(lambda: any(name == node for name, _, _ in self.troubles))
        reason, state = next((reason, state) for name, reason, state in self.troubles if name == node)
        return reason.code, state, reason.text


class SettableDiscovery:
    """A list of nodes that a test changes."""

    kind = "settable"

    def __init__(self, *targets: Target) -> None:
        self._targets: Sequence[Target] = targets
        self._found: Found | None = None

    async def run(self, found: Found) -> None:
        """Hand over the list, and what a test makes of it later."""
        self._found = found
        found(self._targets)
        await asyncio.Event().wait()

    def change(self, *targets: Target) -> None:
        """Replace the list."""
        assert self._found is not None
        self._found(targets)


@asynccontextmanager
async def running(source: Source, sink: Sink) -> AsyncIterator[asyncio.Task[None]]:
    """Run a source for the length of a block."""
    task = asyncio.create_task(source.run(sink))
    try:
        yield task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
