"""A real Consul that answers over TLS only, with a certificate of an authority of its own."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from gpuboard.discovery.consul import ConsulDiscovery, ConsulOptions
from tests.fakes.consul import TOKEN
from tests.fakes.consul_admin import Admin, trouble_is
from tests.fakes.lists import following
from tests.fakes.real_consul import Papers, RealConsul, real_consul
from tests.tls import Authority

pytestmark = pytest.mark.xdist_group("consul")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuboard.discovery.consul._PAUSE_SECONDS", 0.02)
    monkeypatch.setattr("gpuboard.discovery.consul._RETRY_SECONDS", 0.05)
    monkeypatch.setattr("gpuboard.discovery.consul._RETRY_LIMIT_SECONDS", 0.2)


def papers(folder: Path, authority: str) -> Papers:
    """A certificate for this machine, and the authority that has signed it."""
    own = folder / authority
    own.mkdir()
    signing = Authority(own, authority)
    return Papers(*signing.certificate("127.0.0.1"), signing.ca_file)


@pytest_asyncio.fixture
async def consul(tmp_path: Path) -> AsyncIterator[RealConsul]:
    """The real agent; the lab's own authority has signed its certificate."""
    async with real_consul(tmp_path, papers(tmp_path, "lab")) as running:
        yield running


def asking(consul: RealConsul, folder: Path, *, ca_file: Path | None) -> ConsulDiscovery:
    """A discovery with a token, which believes whom this authority has signed."""
    token = folder / "token"
    token.write_text(TOKEN)
    return ConsulDiscovery(
        ConsulOptions(
            consul=consul.url,
            service="gpu-host",
            token_file=str(token),
            ca_file=None if ca_file is None else str(ca_file),
        )
    )


async def test_nodes_come_over_tls_with_an_own_authority_and_a_token(
    consul: RealConsul, tmp_path: Path
) -> None:
    """News too: blocking queries work as they do without TLS."""
    assert consul.papers is not None
    await Admin(consul).register("gpu1", "10.0.0.1", Port=8043)
    discovery = asking(consul, tmp_path, ca_file=consul.papers.ca_file)
    async with following(discovery) as lists:
        await lists.until(["gpu1"])
        await Admin(consul).register("gpu2", "10.0.0.2")
        await lists.until(["gpu1", "gpu2"])
    assert discovery.trouble is None


async def test_a_consul_whom_another_authority_signed_is_refused_and_the_list_is_kept(
    consul: RealConsul, tmp_path: Path
) -> None:
    """Somebody else may have taken its place; when the right one is back, so is its list."""
    right = consul.papers
    assert right is not None
    await Admin(consul).register("gpu1", "10.0.0.1")
    discovery = asking(consul, tmp_path, ca_file=right.ca_file)
    async with following(discovery) as lists:
        await lists.until(["gpu1"])
        await consul.stop()
        consul.papers = papers(tmp_path, "stranger")
        await consul.start()
        # A stranger's list is not believed.
        await Admin(consul).register("gpu9", "10.0.0.9")
        await trouble_is(discovery, "certificate")
        assert discovery.trouble is not None
        assert f"127.0.0.1:{consul.port} is not trusted" in discovery.trouble.text
        assert "ca_file" in discovery.trouble.text
        assert lists.all == [["gpu1"]]
        await consul.stop()
        consul.papers = right
        await consul.start()
        await Admin(consul).register("gpu2", "10.0.0.2")
        await lists.until(["gpu1", "gpu2"])
    assert discovery.trouble is None


@pytest.mark.parametrize("whose", ["nobody's", "a stranger's"])
async def test_the_wrong_authority_in_the_settings_is_named(
    consul: RealConsul, tmp_path: Path, whose: str
) -> None:
    """There is no list yet, but a reason that says what to change."""
    await Admin(consul).register("gpu1", "10.0.0.1")
    ca_file = None if whose == "nobody's" else papers(tmp_path, "stranger").ca_file
    discovery = asking(consul, tmp_path, ca_file=ca_file)
    async with following(discovery) as lists:
        await trouble_is(discovery, "certificate")
        assert discovery.trouble is not None
        assert ("ca_file" in discovery.trouble.text, lists.all) == (True, [])
