"""What every source promises, asked of each of them with real parts."""

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from gpuboard.agent.drop import write_drop
from gpuboard.agent.outlet import TimedReport
from gpuboard.discovery.base import Target
from gpuboard.model.errors import SourceError
from gpuboard.model.problems import SILENT
from gpuboard.probes.simulated import simulate
from gpuboard.settings.base import Duration
from gpuboard.sources.base import Source
from gpuboard.sources.folder import FolderOptions, FolderSource
from gpuboard.sources.ledger import CountingLedger
from gpuboard.sources.local import LocalOptions, LocalSource
from gpuboard.sources.push import PushSource
from gpuboard.sources.registry import SOURCES
from gpuboard.sources.simulated import SimulatedOptions, SimulatedSource
from gpuboard.sources.ssh import SshSource
from gpuboard.wire.ingest import Hello, Live, Sample, encode
from gpuboard.wire.report import encode_report
from tests.fakes.sink import RecordingSink, SettableDiscovery, running
from tests.pushing import report_of
from tests.sources.pull.agents import Agent, at, pull, with_token
from tests.sources.ssh.server import running_server
from tests.sources.ssh.watching import QUICK


class Subject(NamedTuple):
    """A source with the nodes that it must report, and what makes new samples come."""

    source: Source
    nodes: set[str]
    stir: Callable[[], None]


def nothing() -> None:
    """Samples come by themselves."""


@asynccontextmanager
async def simulated(_folder: Path) -> AsyncIterator[Subject]:
    """Two invented nodes; one that is silent on purpose is not among them."""
    options = SimulatedOptions(nodes=2, interval=Duration(0.1))
    yield Subject(SimulatedSource(options, now=time.time), {"vision-01", "nlp-01"}, nothing)


@asynccontextmanager
async def local(_folder: Path) -> AsyncIterator[Subject]:
    """This machine, through a real agent as a child."""
    command = [sys.executable, "-m", "gpuboard", "agent", "--probe", "simulated", "--interval", "0.1s"]
    yield Subject(LocalSource(LocalOptions(), node="here", command=command), {"here"}, nothing)


@asynccontextmanager
async def folder(path: Path) -> AsyncIterator[Subject]:
    """A node that drops files."""

    def drop() -> None:
        write_drop(path, "dropped", TimedReport(simulate("dgx-01", time.time()), 0.0))

    await asyncio.to_thread(drop)
    source = FolderSource(FolderOptions(path=str(path), interval=Duration(0.05)))
    yield Subject(source, {"dropped"}, drop)


@asynccontextmanager
async def pulled(path: Path) -> AsyncIterator[Subject]:
    """An agent that listens."""
    agent = await asyncio.to_thread(Agent)
    options = await asyncio.to_thread(with_token, path)
    yield Subject(pull(at("asked", agent.port), options=options), {"asked"}, agent.sample)
    await asyncio.to_thread(agent.stop)


@asynccontextmanager
async def ssh(path: Path) -> AsyncIterator[Subject]:
    """A node that has nothing but sshd."""
    server = running_server(path)
    running_one = await asyncio.to_thread(server.__enter__)
    targets = SettableDiscovery(Target(node="remote", host="127.0.0.1"))
    yield Subject(SshSource(running_one.options(), targets, pace=QUICK), {"remote"}, nothing)
    await asyncio.to_thread(server.__exit__, None, None, None)


@asynccontextmanager
async def pushed(_folder: Path) -> AsyncIterator[Subject]:
    """An agent that connects; the web hands over what it sends."""
    source = PushSource(CountingLedger())
    source.set_nodes(["pushing"])
    numbers = iter(range(1, 1_000_000))

    def push() -> None:
        report = msgspec.structs.replace(report_of("pushing"), sequence=next(numbers))
        raw = msgspec.Raw(encode_report(report, "msgpack"))
        sample = Sample(sequence=report.sequence or 0, waited_seconds=0.0, report=raw)
        # Not yet listened to: an agent would come back a moment later.
        with contextlib.suppress(SourceError):
            source.accept("pushing", encode(Hello(node="pushing", boot_id="boot-1")))
            source.accept("pushing", encode(Live(sample=sample, follows=None)))

    yield Subject(source, {"pushing"}, push)


Made = Callable[[Path], AbstractAsyncContextManager[Subject]]
KINDS: dict[str, Made] = {
    "simulated": simulated, "local": local, "folder": folder, "pull": pulled, "ssh": ssh, "push": pushed,
}  # fmt: skip


@pytest.fixture(params=list(KINDS))
async def subject(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Subject]:
    """Each source in turn."""
    async with KINDS[request.param](tmp_path) as made:
        yield made


def test_every_kind_of_source_is_held_to_this() -> None:
    """A new one in the registry without its place here is not whole."""
    assert KINDS.keys() == SOURCES.keys()


def test_a_node_of_every_kind_of_source_says_what_to_do_when_it_falls_silent() -> None:
    """Its remedy is known by the kind of its source."""
    assert SILENT.keys() == SOURCES.keys()


async def until_heard(subject: Subject, sink: RecordingSink, times: int) -> None:
    """Wait until every node has reported so often."""
    async with asyncio.timeout(60):
        while any(sink.count(node) < times for node in subject.nodes):
            await asyncio.to_thread(subject.stir)
            await asyncio.sleep(0.1)


async def test_every_source_names_its_nodes_and_brings_their_reports(subject: Subject) -> None:
    """Again and again, each under the node's own name."""
    sink = RecordingSink()
    async with running(subject.source, sink):
        await until_heard(subject, sink, 2)
    assert subject.nodes <= set().union(*sink.expected)
    assert {(name, report.node) for name, report in sink.reports} == {(n, n) for n in subject.nodes}


async def test_every_report_has_gpus_an_age_and_an_interval(subject: Subject) -> None:
    """Without an interval nobody could say when it is late."""
    sink = RecordingSink()
    async with running(subject.source, sink):
        await until_heard(subject, sink, 1)
    for _, report in sink.reports:
        assert report.gpus
        assert report.age_seconds >= 0
        assert report.interval_seconds


async def test_every_source_stops_when_it_is_told_to(subject: Subject) -> None:
    """Whatever it is doing just then."""
    sink = RecordingSink()
    async with asyncio.timeout(60), running(subject.source, sink):
        await until_heard(subject, sink, 1)
