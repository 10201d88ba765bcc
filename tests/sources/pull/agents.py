"""Agents to ask: our own, really listening, and what is needed to ask them."""

import time
from pathlib import Path

from msgspec.structs import replace

from gpuboard.agent.outlet import TimedReport
from gpuboard.agent.serve import ListenOptions, ListenOutlet
from gpuboard.discovery.base import Target
from gpuboard.model.report import GpuReading, NodeReport
from gpuboard.settings.base import Duration
from gpuboard.sources.pull import PullOptions, PullSource
from tests.fakes.sink import SettableDiscovery

TOKEN = "0123456789abcdef0123456789abcdef"  # made up for these tests
INTERVAL = 0.05
TIMEOUT = 0.5


def report(sequence: int = 1, *, node: str = "its-own-name", interval: float | None = INTERVAL) -> NodeReport:
    """What an agent says."""
    gpu = GpuReading(uuid="GPU-1", index=0, utilization_percent=5.0, processes=())
    return NodeReport(node=node, boot_id="boot", sequence=sequence, interval_seconds=interval, gpus=(gpu,))


class Agent:
    """Our own agent, listening; a test decides when it samples."""

    def __init__(
        self, *, host: str = "127.0.0.1", token: str = TOKEN, interval: float | None = INTERVAL, **tls: str
    ) -> None:
        self._outlet = ListenOutlet(replace(ListenOptions(host=host, port=0, token=token), **tls))
        self._interval = interval
        self._sequence = 0
        self._outlet.start()
        self.sample()

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._outlet.port

    def sample(self) -> None:
        """Take a new sample."""
        self._sequence += 1
        self._outlet.offer(TimedReport(report(self._sequence, interval=self._interval), time.monotonic()))

    def stop(self) -> None:
        """Listen no more."""
        self._outlet.stop()


def at(node: str, port: int, host: str = "127.0.0.1") -> Target:
    """A node on this machine."""
    return Target(node=node, host=host, port=port)


def pull(*targets: Target, options: PullOptions | None = None) -> PullSource:
    """A source that asks these nodes, hastily."""
    return PullSource(
        options or PullOptions(timeout=Duration(TIMEOUT)), SettableDiscovery(*targets), interval=INTERVAL
    )


def with_token(folder: Path, text: str = TOKEN, **options: object) -> PullOptions:
    """Options with a token file."""
    path = folder / "agents.token"
    path.write_text(text)
    return replace(PullOptions(token_file=str(path), timeout=Duration(2)), **options)
