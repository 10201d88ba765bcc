"""Nodes of an older board under this one: asked with their password, never trusted about their age."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from gpuboard.discovery.hosts_file import HostsFileDiscovery, HostsFileOptions
from gpuboard.fleet.clock import SteadyClock
from gpuboard.fleet.state import Fleet
from gpuboard.settings.base import Duration
from gpuboard.sources.pull import PullOptions, PullSource
from gpuboard.sources.pull.node_time import Age, own_age
from tests.fakes.http import always, answer_bytes, raw_server
from tests.fakes.sink import RecordingSink, running
from tests.sources.pull.agents import INTERVAL, at, pull
from tests.sources.pull.old_node import PASSWORD, OldNode, old_node

OPTIONS = PullOptions(protocol="gpu-cluster-monitor", timeout=Duration(5))
NOON = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@pytest.fixture
def node() -> Iterator[OldNode]:
    """An old node."""
    with old_node() as running_node:
        yield running_node


@pytest.fixture
def options(tmp_path: Path) -> PullOptions:
    """Options with the old password."""
    path = tmp_path / "password"
    path.write_text(PASSWORD + "\n")
    return replace(OPTIONS, password_file=str(path))


async def test_an_old_node_and_its_hosts_file_work_unchanged(
    node: OldNode, options: PullOptions, tmp_path: Path
) -> None:
    """Switch the board first, the nodes later."""
    hosts = tmp_path / "hosts.txt"
    hosts.write_text("127.0.0.1\n\n")
    discovery = HostsFileDiscovery(HostsFileOptions(hosts_file=str(hosts)))
    source = PullSource(replace(options, port=node.port), discovery, interval=INTERVAL)
    sink = RecordingSink()
    async with running(source, sink):
        await sink.reports_of("127.0.0.1", 1)
    name, report = sink.reports[0]
    assert (name, report.node) == ("127.0.0.1", "127.0.0.1")
    assert report.age_seconds < 5
    assert report.gpus is not None
    assert [len(gpu.processes or ()) for gpu in report.gpus] == [1, 0]
    assert report.host is not None
    assert report.host.hostname == "old-box"
    assert b"secret" not in str(report).encode()


async def test_a_wrong_password_is_refused_with_a_remedy(node: OldNode) -> None:
    """The old node answers 404, which means anything but that the page is missing."""
    sink = RecordingSink()
    async with running(pull(at("old", node.port), options=OPTIONS), sink):
        code, state, text = await sink.trouble_of("old")
    assert (code, state) == ("password-refused", "refused")
    assert "password_file" in text


async def test_a_frozen_old_node_grows_old_although_it_answers(node: OldNode, options: PullOptions) -> None:
    """The old board showed it as up for ever."""
    fleet = Fleet(SteadyClock())
    sink = fleet.sink("pull")
    sink.expect(["old"])
    entry = fleet.get("old")
    assert entry is not None

    async def turns(state: str) -> None:
        async with asyncio.timeout(60):
            while entry.freshness.state != state:
                await asyncio.sleep(INTERVAL)
                fleet.settle()

    async with running(pull(at("old", node.port), options=options), sink):
        await turns("live")
        node.is_running = False
        await turns("lost")
        answered = node.requests
        assert entry.freshness.reason is not None
        assert entry.freshness.reason.code == "frozen"
        node.is_running = True
        await turns("live")
        assert node.requests > answered


@pytest.mark.parametrize("minutes", [0, 5, 15, 30, 720])
async def test_of_a_node_that_froze_before_the_board_started_nothing_is_believed(
    node: OldNode, options: PullOptions, minutes: int
) -> None:
    """Its times have no zone, so quarters of an hour cannot be told. As soon as it goes on, all is well."""
    node.is_running = False
    node.sample(datetime.now(UTC) - timedelta(minutes=minutes))
    sink = RecordingSink()
    async with running(pull(at("old", node.port), options=options), sink):
        code, state, text = await sink.trouble_of("old")
        assert (code, state, sink.reports) == ("age-unknown", "error", [])
        assert "may be of any age" in text
        node.is_running = True
        await sink.reports_of("old", 1)
    assert sink.reports[0][1].age_seconds < 5


async def test_a_node_that_says_no_time_is_never_believed(node: OldNode, options: PullOptions) -> None:
    """Else whatever it says would be fresh for ever."""
    node.is_running = False
    node.last_update = ""
    sink = RecordingSink()
    async with running(pull(at("old", node.port), options=options), sink):
        code, _, text = await sink.trouble_of("old")
    assert (code, sink.reports) == ("age-unknown", [])
    assert "does not say when" in text


async def test_the_old_name_of_the_protocol_still_works(node: OldNode, options: PullOptions) -> None:
    """Settings are written once."""
    sink = RecordingSink()
    async with running(pull(at("old", node.port), options=replace(options, protocol="seed4")), sink):
        await sink.reports_of("old", 1)


@pytest.mark.parametrize(
    "answer",
    [b"", b"[]", b"{}", b'{"gpus": 7}', b'{"gpus": [{"index": 1e999}]}', b'{"gpus": []', b"\xff" * 100],
)
async def test_what_is_no_status_is_a_bad_report(answer: bytes) -> None:
    """And nothing else breaks."""
    sink = RecordingSink()
    async with (
        raw_server(always(answer_bytes(answer))) as fake,
        running(pull(at("old", fake.port), options=OPTIONS), sink),
    ):
        assert (await sink.trouble_of("old"))[0] == "bad-report"


@pytest.mark.parametrize("hours", [-12, -3.5, 0, 1, 5.75, 14])
def test_the_age_is_known_within_a_quarter_of_an_hour_in_every_time_zone(hours: float) -> None:
    """The node says local time without a zone, and its clock in UTC."""
    stamp = (NOON + timedelta(hours=hours) - timedelta(seconds=42)).replace(tzinfo=None).isoformat()
    assert own_age(stamp, NOON.timestamp()) == Age(42, is_known=False)


def test_an_age_that_no_zone_explains_is_an_age() -> None:
    """Two days are at least one and a half."""
    stamp = (NOON - timedelta(days=2)).replace(tzinfo=None).isoformat()
    assert own_age(stamp, NOON.timestamp()) == Age(timedelta(hours=36).total_seconds(), is_known=True)


@pytest.mark.parametrize("stamp", ["", "yesterday", "2026-03-09T12:00:00", "2026-03-01T12:00:03"])
def test_a_stamp_that_tells_nothing_is_no_age(stamp: str) -> None:
    """Nonsense, or a moment that has not come yet."""
    assert own_age(stamp, NOON.timestamp()) == Age(0, is_known=False)


def test_a_stamp_with_a_zone_is_taken_at_its_word() -> None:
    """A newer node may write one."""
    assert own_age("2026-03-01T11:00:00+00:00", NOON.timestamp()) == Age(3600, is_known=True)
