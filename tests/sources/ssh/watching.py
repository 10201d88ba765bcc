"""What the tests of the ssh source share: a quick pace, and a sink that remembers the time."""

import asyncio
import contextlib
import itertools
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Literal

from gpuboard.discovery.base import Target
from gpuboard.model.report import NodeReport
from gpuboard.model.verdict import Reason
from gpuboard.sources.ssh import SshOptions, SshSource, Timing
from tests.fakes.sink import SettableDiscovery, running

# Often, but with time enough for a busy machine.
QUICK = Timing(interval=0.25, timeout=5.0, longest_retry=0.5)
# For nodes that are not going to answer.
IMPATIENT = Timing(interval=0.25, timeout=2.0, longest_retry=0.5)
# For nodes that are going to say something, however long a busy machine takes for it.
PATIENT = Timing(interval=0.25, timeout=30.0, longest_retry=0.5)


class Recorder:
    """A sink that remembers everything, with the time it came."""

    def __init__(self) -> None:
        self.expected: set[str] = set()
        self.addresses: dict[str, str] = {}
        self.reports: dict[str, list[tuple[float, NodeReport]]] = {}
        self.troubles: dict[str, list[tuple[Reason, str]]] = {}
        self.lasting: list[str] = []

    def expect(
        self,
        nodes: Iterable[str],
        addresses: Mapping[str, str] | None = None,
        *,
        files: Mapping[str, str] | None = None,  # noqa: ARG002 - there are none over ssh
        groups: Mapping[str, tuple[str, ...]] | None = None,  # noqa: ARG002 - no matter here
    ) -> None:
        """Note the nodes."""
        self.expected = set(nodes)
        self.addresses = dict(addresses or {})

    def recall(self, nodes: Iterable[str]) -> None:
        """Nobody stands in for anybody here."""

    def report(self, node: str, report: NodeReport) -> bool:
        """Note a report."""
        self.reports.setdefault(node, []).append((time.monotonic(), report))
        return True

    def show(self, node: str, report: NodeReport) -> None:
        """Treat what is shown as a report."""
        self.report(node, report)

    def take(self, node: str, report: NodeReport, *, is_backfill: bool) -> bool:
        """Have no use for the past."""
        del node, report, is_backfill
        return True

    def trouble(
        self,
        node: str,
        reason: Reason | None,
        *,
        state: Literal["refused", "error"] = "error",
        is_lasting: bool = False,
    ) -> None:
        """Note what went wrong."""
        if reason is not None:
            self.troubles.setdefault(node, []).append((reason, state))
        if is_lasting:
            self.lasting.append(node)

    def count(self, node: str) -> int:
        """How many reports a node has handed in."""
        return len(self.reports.get(node, []))

    def last(self, node: str) -> NodeReport:
        """The newest report of a node."""
        return self.reports[node][-1][1]

    def last_trouble(self, node: str) -> tuple[str, str, str]:
        """Code, state and words of what last went wrong with a node."""
        reason, state = self.troubles[node][-1]
        return reason.code, state, reason.text

    def codes(self, node: str) -> set[str]:
        """Everything that went wrong with a node."""
        return {reason.code for reason, _ in self.troubles.get(node, [])}

    def problems(self, node: str) -> set[str]:
        """The kinds of problems in the newest report of a node."""
        return {problem.kind for problem in self.last(node).problems} if self.count(node) else set()

    def words(self, node: str) -> str:
        """What the newest report of a node says about its problems."""
        return "; ".join(problem.text for problem in self.last(node).problems) if self.count(node) else ""

    def longest_gap(self, node: str, *, since: float) -> float:
        """The longest time without a report of a node, until now."""
        times = [since, *(at for at, _ in self.reports[node] if at > since), time.monotonic()]
        return max(later - earlier for earlier, later in itertools.pairwise(times))


def target(node: str, port: int | None = None, *, host: str = "127.0.0.1", user: str | None = None) -> Target:
    """A node on the test's own sshd."""
    return Target(node=node, host=host, port=port, user=user)


@contextlib.asynccontextmanager
async def watching(
    options: SshOptions, *targets: Target, pace: Timing = QUICK, discovery: SettableDiscovery | None = None
) -> AsyncIterator[Recorder]:
    """A running source."""
    recorder = Recorder()
    source = SshSource(options, discovery or SettableDiscovery(*targets), pace=pace)
    async with running(source, recorder):
        yield recorder


async def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait for something to become true."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        await asyncio.sleep(0.02)
