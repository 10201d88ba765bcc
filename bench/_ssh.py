"""Nodes read over ssh, in a process of its own: by our source, or with a new login for every sample.

Orders on stdin, figures on stdout. Both ways run the same command, cut it into frames and make reports of it
with the same parsers; both leave out what the board does with a report.
"""

import asyncio
import contextlib
import logging
import os
import sys
import time
from collections.abc import Iterable, Mapping
from typing import Final, Literal

import asyncssh
import msgspec
import uvloop
from msgspec import Struct

from bench._load import Spread
from gpuboard.discovery.base import Found, Target
from gpuboard.model.report import NodeReport
from gpuboard.model.verdict import Reason
from gpuboard.settings.base import Duration
from gpuboard.sources.ssh import SshOptions, SshSource
from gpuboard.sources.ssh.command import SCRIPT, once_command
from gpuboard.sources.ssh.frames import Framer
from gpuboard.sources.ssh.report import NodeReader

LOGINS_AT_ONCE: Final = 16
LOOK_SECONDS: Final = 0.25
PATIENCE_SECONDS: Final = 240.0


class SshOrder(Struct, frozen=True, kw_only=True):
    """Which nodes to read, how, and for how long."""

    way: Literal["source", "logins"]
    user: str
    key_file: str
    known_hosts: str
    port: int
    # Nodes that all are one sshd, and ports at which nobody answers.
    nodes: int
    dead_ports: tuple[int, ...] = ()
    interval_seconds: float
    seconds: float


class SshFigures(Struct, frozen=True, kw_only=True):
    """What was seen while it was measured."""

    reports: int
    gpus: int
    troubles: int
    age_p50: float
    age_p95: float


class Ages:
    """A sink that counts, and knows how old the newest data of every node is."""

    def __init__(self) -> None:
        self.taken: dict[str, float] = {}
        self.reports = 0
        self.gpus = 0
        self.troubles = 0

    def expect(
        self,
        nodes: Iterable[str],
        addresses: Mapping[str, str] | None = None,
        *,
        files: Mapping[str, str] | None = None,
        groups: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        """Know them already."""

    def recall(self, nodes: Iterable[str]) -> None:
        """Nobody stands in for anybody here."""

    def report(self, node: str, report: NodeReport) -> bool:
        """Note when the data was true."""
        self.taken[node] = time.monotonic() - report.age_seconds
        self.reports += 1
        self.gpus += len(report.gpus or ())
        return True

    def show(self, node: str, report: NodeReport) -> None:
        """Treat what is shown as a report."""
        self.report(node, report)

    def take(self, node: str, report: NodeReport, *, is_backfill: bool) -> bool:
        """Have no use for the past."""
        del node, report, is_backfill
        return True

    def trouble(
        self, node: str, reason: Reason | None, *, state: str = "error", is_lasting: bool = False
    ) -> None:
        """Count those that should have none."""
        del is_lasting
        if reason is not None and not node.startswith("dead"):
            self.troubles += 1
            print(f"{node}: {state}: {reason.text}", file=sys.stderr)

    async def heard_of(self, nodes: int) -> None:
        """Wait until so many nodes have reported."""
        while len(self.taken) < nodes:  # noqa: ASYNC110 - no event in the way of what is measured
            await asyncio.sleep(LOOK_SECONDS)

    def start(self) -> None:
        """Forget the counts: the warm-up does not matter."""
        self.reports = self.gpus = self.troubles = 0

    async def watch(self, seconds: float) -> SshFigures:
        """Look at all ages again and again."""
        spread = Spread()
        self.start()
        until = time.monotonic() + seconds
        while (now := time.monotonic()) < until:
            spread.add(now - taken for taken in self.taken.values())
            await asyncio.sleep(LOOK_SECONDS)
        return self.figures(spread)

    def figures(self, spread: Spread) -> SshFigures:
        """What was counted."""
        return SshFigures(
            reports=self.reports,
            gpus=self.gpus,
            troubles=self.troubles,
            age_p50=spread.at(0.5),
            age_p95=spread.at(0.95),
        )


class Nodes:
    """A discovery of nodes on this machine."""

    kind = "bench"

    def __init__(self, order: SshOrder) -> None:
        alive = [Target(node=f"node{place:03}", host="127.0.0.1") for place in range(order.nodes)]
        dead = [Target(node=f"dead{port}", host="127.0.0.1", port=port) for port in order.dead_ports]
        # Dead ones first: nobody is served before them by chance.
        self._targets = [*dead, *alive]

    async def run(self, found: Found) -> None:
        """Hand over the list; it stays."""
        found(self._targets)
        await asyncio.Event().wait()


async def by_source(order: SshOrder) -> SshFigures:
    """Our source: connections that stay, on which samples come by themselves."""
    options = SshOptions(
        user=order.user,
        key_file=order.key_file,
        known_hosts=order.known_hosts,
        ssh_config=os.devnull,
        port=order.port,
        interval=Duration(order.interval_seconds),
        # One machine plays all nodes: slowly, so that it is not still busy with logins when it should answer.
        max_connections=2,
    )
    # That dead nodes are dead is no news; the sink prints what is.
    logging.disable(logging.WARNING)
    ages = Ages()
    task = asyncio.create_task(SshSource(options, Nodes(order)).run(ages))
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await ages.heard_of(order.nodes)
        # Now every connection is up; what comes in a hurry after that has passed too.
        await asyncio.sleep(order.interval_seconds)
        print("measuring", flush=True)
        figures = await ages.watch(order.seconds)
        print("measured", flush=True)
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
    return figures


async def by_logins(order: SshOrder) -> SshFigures:
    """The peer: for every sample of every node a connection of its own, some at the same time."""
    asyncssh.set_log_level("WARNING")
    ages, at_once = Ages(), asyncio.Semaphore(LOGINS_AT_ONCE)
    readers = [NodeReader(f"node{place:03}", interval=order.interval_seconds) for place in range(order.nodes)]

    async def read(place: int) -> None:
        async with at_once:
            ages.report(f"node{place:03}", await _log_in_and_read(order, readers[place]))

    await asyncio.gather(*(read(place) for place in range(LOGINS_AT_ONCE)))
    ages.start()
    print("measuring", flush=True)
    until = time.monotonic() + order.seconds
    while time.monotonic() < until:
        await asyncio.gather(*(read(place) for place in range(order.nodes)))
    print("measured", flush=True)
    return ages.figures(Spread())


async def _log_in_and_read(order: SshOrder, reader: NodeReader) -> NodeReport:
    async with asyncssh.connect(
        "127.0.0.1",
        order.port,
        username=order.user,
        client_keys=[order.key_file],
        known_hosts=order.known_hosts,
        config=None,
        agent_path=None,
    ) as connection:
        done = await connection.run(once_command(), input=SCRIPT.encode(), encoding=None)
    assert isinstance(done.stdout, bytes)
    (frame,) = Framer().feed(done.stdout)
    return reader.read_sample(frame)


if __name__ == "__main__":
    wanted = msgspec.json.decode(sys.stdin.buffer.read(), type=SshOrder)
    seen = uvloop.run({"source": by_source, "logins": by_logins}[wanted.way](wanted))
    print(msgspec.json.encode(seen).decode(), flush=True)
