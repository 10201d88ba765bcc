"""The pull source: one task for each node that the discovery finds."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from gpuboard.discovery.base import Discovery, Target
from gpuboard.outside.resolve import Resolver
from gpuboard.outside.secrets import FileValue, SecretFolder, secret_in, tls_by
from gpuboard.sources.base import Sink
from gpuboard.sources.node_tasks import NodeTasks
from gpuboard.sources.pull.cluster_monitor import ClusterMonitorProtocol
from gpuboard.sources.pull.gpu_monitor import GpuMonitorProtocol
from gpuboard.sources.pull.options import PullOptions
from gpuboard.sources.pull.poller import Asking, Poller
from gpuboard.sources.pull.protocols import AgentProtocol, NodeProtocol
from gpuboard.sources.reported_names import ReportedNames

log: Final = logging.getLogger(__name__)

PROTOCOLS: Final[Mapping[str, Callable[[str], NodeProtocol]]] = {
    "gpuboard": AgentProtocol,
    "gpu-cluster-monitor": ClusterMonitorProtocol,
    # Its name in the first settings.
    "seed4": ClusterMonitorProtocol,
    "gpu-monitor": GpuMonitorProtocol,
}

# A node that comes back is seen again after this long at the latest.
RETRY_LIMIT_SECONDS: Final = 30.0
# Whoever looks once asks so many at the same time.
AT_ONCE: Final = 100


class PullSource:
    """Asks agents for their reports."""

    kind = "pull"

    def __init__(self, options: PullOptions, discovery: Discovery, *, interval: float | None = None) -> None:
        """Prepare to ask; `interval` is for tests, which have less time than people."""
        self._discovery = discovery
        self._takes_names = options.names == "reported"
        self._way = Asking(
            protocol=PROTOCOLS[options.protocol],
            port=options.default_port,
            interval=interval or options.interval,
            deadline=options.timeout,
            retry_limit=max(options.interval, RETRY_LIMIT_SECONDS) if interval is None else interval,
            secret_for=_secret_for(options),
            tls=tls_by(options.ca_file) if options.tls else None,
            allow_plaintext=options.allow_plaintext,
            resolver=Resolver(),
        )
        self._tasks = NodeTasks(self.kind, interval=self._way.interval)

    async def run(self, sink: Sink) -> None:
        """Ask all nodes until cancelled."""
        if self._way.allow_plaintext and self._way.secret_for is not None and self._way.tls is None:
            log.warning(
                "SECRET SENT UNENCRYPTED: source=pull reason=allow_plaintext is set and tls is not; "
                "whoever listens on the network can read the token"
            )
        try:
            named = ReportedNames(sink) if self._takes_names else sink
            await self._discovery.run(
                lambda targets: self._tasks.follow(
                    targets, named, lambda target: Poller(target, self._way, named).run()
                )
            )
        finally:
            await self._tasks.stop()

    async def read_once(self, targets: Sequence[Target], sink: Sink) -> None:
        """Ask each of these nodes once; what it says, or why it does not, is the sink's."""
        named = ReportedNames(sink) if self._takes_names else sink
        named.expect([target.node for target in targets], {target.node: target.host for target in targets})
        gate = asyncio.Semaphore(AT_ONCE)

        async def ask(target: Target) -> None:
            async with gate:
                await Poller(target, self._way, named, speaks=False).ask_once()

        await asyncio.gather(*map(ask, targets))


def _secret_for(options: PullOptions) -> Callable[[Target], FileValue[str]] | None:
    """Which secret each node is sent: that of its own file, the one of all, or none."""
    if options.token_folder is not None:
        folder = SecretFolder(options.token_folder)
        # By its whole name: which node a short one means changes with who else is on the list.
        return lambda target: folder.secret_of(target.whole_name or target.node)
    file = options.token_file or options.password_file
    if file is None:
        return None
    shared = secret_in(file)
    return lambda _: shared
