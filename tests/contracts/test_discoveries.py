"""What every way of finding nodes promises, asked of each of them with the real thing."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Protocol

import pytest
import pytest_asyncio

from gpuboard.discovery.base import Discovery
from gpuboard.discovery.consul import ConsulDiscovery, ConsulOptions
from gpuboard.discovery.hosts_file import HostsFileDiscovery, HostsFileOptions
from gpuboard.discovery.registry import DISCOVERIES, make
from gpuboard.discovery.ssh_config import SshConfigDiscovery, SshConfigOptions
from gpuboard.model.component import Troubled
from gpuboard.model.node import is_node_name
from gpuboard.settings.base import Duration
from tests.fakes.consul import TOKEN, consul_double
from tests.fakes.consul_admin import Admin, Consul
from tests.fakes.lists import following
from tests.fakes.real_consul import real_consul

# One real Consul at a time is enough for a machine.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("consul")]

EVERY = 0.02


class Place(Protocol):
    """Where a list of nodes is kept, and what can happen to it."""

    discovery: Discovery

    async def list_nodes(self, *nodes: str) -> None:
        """Name these, and no others that were not named before."""

    async def fall_silent(self) -> None:
        """Be gone, with all that is in it."""

    async def come_back(self) -> None:
        """Be there again, empty."""


class InFile:
    """A list in a file: one host a line, or the hosts of an ssh configuration."""

    def __init__(self, path: Path, discovery: Discovery, line: str) -> None:
        self._path = path
        self._line = line
        self.discovery = discovery

    async def list_nodes(self, *nodes: str) -> None:
        """Write them down."""
        text = "".join(self._line.format(node) for node in nodes)
        await asyncio.to_thread(self._path.write_text, text)

    async def fall_silent(self) -> None:
        """Remove it."""
        await asyncio.to_thread(self._path.unlink, missing_ok=True)

    async def come_back(self) -> None:
        """An editor that has not written yet."""
        await asyncio.to_thread(self._path.touch)


class InConsul:
    """A list in Consul, or in what stands in for it."""

    def __init__(self, consul: Consul, token_file: Path) -> None:
        self._consul = consul
        self.discovery: Discovery = ConsulDiscovery(
            ConsulOptions(
                consul=consul.url, service="gpu-host", token_file=str(token_file), grace=Duration(600)
            )
        )

    async def list_nodes(self, *nodes: str) -> None:
        """Register them."""
        for node in nodes:
            await Admin(self._consul).register(node, "10.0.0.1", Port=8043)

    async def fall_silent(self) -> None:
        """Stop it."""
        await self._consul.stop()

    async def come_back(self) -> None:
        """Start it; it has forgotten everybody."""
        await self._consul.start()


@asynccontextmanager
async def hosts_file(folder: Path) -> AsyncIterator[Place]:
    """One host a line."""
    path = folder / "hosts.txt"
    yield InFile(path, HostsFileDiscovery(HostsFileOptions(hosts_file=str(path)), every=EVERY), "{}\n")


@asynccontextmanager
async def ssh_config(folder: Path) -> AsyncIterator[Place]:
    """As people have it at home."""
    path = folder / "config"
    yield InFile(path, SshConfigDiscovery(SshConfigOptions(ssh_config=str(path)), every=EVERY), "Host {}\n")


@asynccontextmanager
async def of(consul: AbstractAsyncContextManager[Consul], folder: Path) -> AsyncIterator[Place]:
    """A Consul that is running."""
    token_file = folder / "token"
    await asyncio.to_thread(token_file.write_text, TOKEN)
    async with consul as running:
        yield InConsul(running, token_file)


Made = Callable[[Path], AbstractAsyncContextManager[Place]]
# A way of the table that is not here fails below.
KINDS: dict[str, Made] = {
    "hosts_file": hosts_file,
    "ssh_config": ssh_config,
    "consul": lambda folder: of(real_consul(folder), folder),
    "consul stand-in": lambda folder: of(consul_double(), folder),
}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuboard.discovery.consul._PAUSE_SECONDS", 0.02)
    monkeypatch.setattr("gpuboard.discovery.consul._RETRY_SECONDS", 0.05)
    monkeypatch.setattr("gpuboard.discovery.consul._RETRY_LIMIT_SECONDS", 0.2)


@pytest_asyncio.fixture(params=list(KINDS))
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    """Each place in turn, with nothing in it."""
    async with KINDS[request.param](tmp_path) as made:
        yield made


async def trouble_is(discovery: Discovery, *, there: bool) -> None:
    """Wait until a list is out of date, or no longer."""
    assert isinstance(discovery, Troubled)
    async with asyncio.timeout(60):
        while (discovery.trouble is not None) != there:  # noqa: ASYNC110 - it has no event
            await asyncio.sleep(EVERY)


def test_every_way_of_the_table_is_asked_here() -> None:
    """A new one must keep the same promises."""
    assert DISCOVERIES.keys() == {"hosts", *KINDS} - {"consul stand-in"}


async def test_a_list_that_cannot_change_is_told_once() -> None:
    """As it stands in the settings."""
    async with following(make({"hosts": ["gpu[1-2].lab"]})) as lists:
        await lists.until(["gpu1", "gpu2"])
    assert len(lists.all) == 1


async def test_every_way_tells_the_whole_list_and_each_change_once(place: Place) -> None:
    """Under names that nodes may have."""
    await place.list_nodes("gpu1.lab", "gpu2.lab")
    async with following(place.discovery) as lists:
        await lists.until(["gpu1", "gpu2"])
        await place.list_nodes("gpu1.lab", "gpu2.lab", "gpu3.lab")
        await lists.until(["gpu1", "gpu2", "gpu3"])
        assert all(is_node_name(target.node) and target.host for target in lists.targets)
        await trouble_is(place.discovery, there=False)
    assert lists.all == [["gpu1", "gpu2"], ["gpu1", "gpu2", "gpu3"]]


async def test_an_outage_or_an_emptied_list_wipes_nothing(place: Place) -> None:
    """What was known stays, and why it may be out of date is told; when the list is back, all is well."""
    await place.list_nodes("gpu1", "gpu2")
    async with following(place.discovery) as lists:
        await lists.until(["gpu1", "gpu2"])
        await place.fall_silent()
        await trouble_is(place.discovery, there=True)
        await place.come_back()
        await trouble_is(place.discovery, there=True)
        await place.list_nodes("gpu1", "gpu2", "gpu3")
        await lists.until(["gpu1", "gpu2", "gpu3"])
        await trouble_is(place.discovery, there=False)
    assert lists.all[0] == ["gpu1", "gpu2"]
    assert all({"gpu1", "gpu2"} <= set(told) for told in lists.all)


async def test_a_place_that_is_silent_at_the_start_is_waited_for(place: Place) -> None:
    """Nobody is told meanwhile that there are no nodes: a board would take those of before away."""
    await place.fall_silent()
    async with following(place.discovery) as lists:
        await trouble_is(place.discovery, there=True)
        assert lists.all == []
        await place.come_back()
        await place.list_nodes("gpu1")
        await lists.until(["gpu1"])
        await trouble_is(place.discovery, there=False)
