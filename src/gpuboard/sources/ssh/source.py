"""The ssh source: one task, one connection and one running command per node."""

import asyncio
import logging
import random
from collections.abc import Sequence
from typing import Final, Literal

import asyncssh

from gpuboard.discovery.base import Discovery, Target
from gpuboard.model.errors import WireError
from gpuboard.model.report import NodeReport
from gpuboard.model.verdict import Reason
from gpuboard.outside.backoff import Backoff
from gpuboard.sources.base import Sink
from gpuboard.sources.reported_names import ReportedNames
from gpuboard.sources.ssh.connect import SshConnector, place_of
from gpuboard.sources.ssh.follow import HostFollower
from gpuboard.sources.ssh.options import SshOptions, Timing
from gpuboard.sources.ssh.report import NodeReader
from gpuboard.sources.ssh.words import SshError, explain, unreadable
from gpuboard.wire.clean import clean_text

log = logging.getLogger(__name__)

# First logins are spread out: this much per node, but never over more than one interval.
_SPREAD_SECONDS: Final = 0.01
# After a connection that held and was lost: that alone must not turn a node grey, and a dead node must not be
# offered for intervals.
_SECOND_TRY_SECONDS: Final = 2.0


class SshSource:
    """Reads nodes over ssh; nothing is installed there."""

    kind = "ssh"

    def __init__(self, options: SshOptions, discovery: Discovery, *, pace: Timing | None = None) -> None:
        self._discovery = discovery
        self._takes_names = options.names == "reported"
        self._pace = pace or Timing.of(options)
        self._connector = SshConnector(options)
        self._tasks: dict[str, tuple[Target, asyncio.Task[None]]] = {}

    async def run(self, sink: Sink) -> None:
        """Hand over reports until cancelled."""
        sink = ReportedNames(sink) if self._takes_names else sink
        try:
            await self._discovery.run(lambda targets: self._look_after(targets, sink))
        finally:
            tasks = [task for _, task in self._tasks.values()]
            self._tasks.clear()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _look_after(self, targets: Sequence[Target], sink: Sink) -> None:
        """Start a task for every new node and stop those of nodes that are gone."""
        wanted: dict[str, Target] = {}
        for target in targets:
            wanted.setdefault(target.node, target)
        sink.expect(wanted, {node: target.host for node, target in wanted.items()})
        for node, (target, task) in list(self._tasks.items()):
            if wanted.get(node) != target:
                task.cancel()
                del self._tasks[node]
        spread = min(self._pace.interval, _SPREAD_SECONDS * len(wanted))
        for node, target in wanted.items():
            if node not in self._tasks:
                task = asyncio.create_task(self._keep(target, sink, spread), name=f"ssh {node}")
                self._tasks[node] = (target, task)

    async def _keep(self, target: Target, sink: Sink, spread: float) -> None:
        """Follow one node for ever; whatever goes wrong with it stays here."""
        await asyncio.sleep(random.uniform(0, spread))  # noqa: S311 - nobody gains from guessing it
        watch = NodeWatch(target, sink, connector=self._connector, pace=self._pace)
        backoff = Backoff(self._pace.interval, limit=self._pace.longest_retry)
        clock = asyncio.get_running_loop().time
        while True:
            has_flooded, began = False, clock()
            state: Literal["refused", "error"] = "error"
            try:
                await watch.follow()
            except SshError as error:
                has_flooded = error.code == "flood"
                watch.log_failure(error)
                reason, state = error.as_reason, error.state
            except Exception as error:
                log.exception("node failed by a mistake of ours: source=ssh node=%s", target.node)
                reason = Reason(code="internal", text=f"a mistake in gpuboard: {clean_text(repr(error))}")
            # Each connection has something to spare: whoever was cut off may not begin anew at once.
            if watch.heard and not has_flooded:
                backoff.succeeded()
            sink.trouble(target.node, reason, state=state, is_lasting=backoff.is_failing)
            has_held = not backoff.is_failing and clock() - began >= self._pace.interval
            pause = backoff.failed()
            await asyncio.sleep(min(pause, _second_try()) if has_held else pause)


def _second_try() -> float:
    """After how long a node is tried again whose connection was lost; not all of a dead switch at once."""
    return random.uniform(0.5, 1.0) * _SECOND_TRY_SECONDS  # noqa: S311 - nobody gains from guessing it


class NodeWatch:
    """One node: what is known of it over all its connections."""

    def __init__(self, target: Target, sink: Sink, *, connector: SshConnector, pace: Timing) -> None:
        self._target = target
        self._sink = sink
        self._connector = connector
        self._pace = pace
        self._reader = NodeReader(target.node, interval=pace.interval)
        # Whether the connection brought any report.
        self.heard = False
        # The failure that was logged last, while it lasts.
        self._failing = ""

    def log_failure(self, error: SshError) -> None:
        """Say what is wrong, once and not again with every try."""
        level = logging.DEBUG if error.code == self._failing else logging.WARNING
        log.log(level, "node failed: source=ssh node=%s reason=%s", self._target.node, error.reason)
        self._failing = error.code

    async def follow(self) -> None:
        """Log in and hand over reports, until something goes wrong.

        Raises:
            SshError: why it ended.
        """
        self.heard = False
        target = self._target
        connection = await self._connector.open(
            target, within=self._pace.timeout, keepalive=self._pace.keepalive
        )
        place = place_of(target, connection)
        try:
            follower = HostFollower(connection, self._reader, place=place, pace=self._pace)
            await follower.follow(self._deliver)
        except WireError as error:
            raise unreadable(target.node, error) from None
        except asyncssh.Error as error:
            raise explain(error, place) from error
        finally:
            connection.abort()

    def _deliver(self, report: NodeReport) -> None:
        self.heard = True
        if self._failing:
            log.info("node is back: source=ssh node=%s", self._target.node)
            self._failing = ""
        self._sink.report(self._target.node, report)
