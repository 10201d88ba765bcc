"""The ssh source: one task, one connection and one running command per node."""

import asyncio
import logging
from typing import Literal

import asyncssh

from gpuboard.discovery.base import Discovery, Target
from gpuboard.model.errors import WireError
from gpuboard.model.report import NodeReport
from gpuboard.model.verdict import Reason
from gpuboard.outside.backoff import SECOND_TRY_SECONDS, Backoff
from gpuboard.sources.base import Sink
from gpuboard.sources.node_tasks import NodeTasks
from gpuboard.sources.reported_names import ReportedNames
from gpuboard.sources.ssh.connect import SshConnector
from gpuboard.sources.ssh.follow import HostFollower
from gpuboard.sources.ssh.options import SshOptions, Timing
from gpuboard.sources.ssh.report import NodeReader
from gpuboard.sources.ssh.words import SshError, explain, unreadable
from gpuboard.wire.clean import clean_text

log = logging.getLogger(__name__)


class SshSource:
    """Reads nodes over ssh; nothing is installed there."""

    kind = "ssh"

    def __init__(self, options: SshOptions, discovery: Discovery, *, pace: Timing | None = None) -> None:
        self._discovery = discovery
        self._takes_names = options.names == "reported"
        self._pace = pace or Timing.of(options)
        self._connector = SshConnector(options)
        self._tasks = NodeTasks(self.kind, interval=self._pace.interval)

    async def run(self, sink: Sink) -> None:
        """Hand over reports until cancelled."""
        sink = ReportedNames(sink) if self._takes_names else sink
        try:
            await self._discovery.run(
                lambda targets: self._tasks.follow(targets, sink, lambda target: self._keep(target, sink))
            )
        finally:
            await self._tasks.stop()

    async def _keep(self, target: Target, sink: Sink) -> None:
        """Follow one node for ever; whatever goes wrong with it stays here."""
        watch = NodeWatch(target, sink, connector=self._connector, pace=self._pace)
        backoff = Backoff(self._pace.interval, limit=self._pace.longest_retry, second_try=SECOND_TRY_SECONDS)
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
            # A connection that held and was lost says little; one that was never made says more.
            has_held = clock() - began >= self._pace.interval
            await asyncio.sleep(backoff.failed(may_be_soon=has_held))


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
        place = self._connector.place_of(target, connection)
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
