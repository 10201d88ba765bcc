"""Consul: one contract for the real agent and its stand-in, and how the discovery behaves on both."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st

from gpuboard.discovery.base import Target
from gpuboard.discovery.consul import ConsulDiscovery, ConsulOptions
from gpuboard.discovery.consul_answer import read_catalog, read_health
from gpuboard.discovery.grace import Grace
from gpuboard.model.errors import WireError
from gpuboard.outside.resolve import is_of_here
from gpuboard.settings.base import Duration
from tests.board import running_board
from tests.fakes.consul import TOKEN, consul_double
from tests.fakes.consul_admin import Admin, Consul, trouble_is
from tests.fakes.lists import Lists, following
from tests.fakes.real_consul import real_consul

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("consul")]


@pytest_asyncio.fixture(params=["double", "real"])
async def consul(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Consul]:
    """The stand-in, then the real agent."""
    async with consul_double() if request.param == "double" else real_consul(tmp_path) as running:
        yield running


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuboard.discovery.consul._PAUSE_SECONDS", 0.02)
    monkeypatch.setattr("gpuboard.discovery.consul._RETRY_SECONDS", 0.05)
    monkeypatch.setattr("gpuboard.discovery.consul._RETRY_LIMIT_SECONDS", 0.2)


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    """The token as an admin keeps it."""
    path = tmp_path / "token"
    path.write_text(TOKEN + "\n")
    return path


def put(path: Path, text: str) -> None:
    """Write a file."""
    path.write_text(text)


def discovery(consul: Consul, token_file: Path | None, **options: Any) -> ConsulDiscovery:  # noqa: ANN401 - any option
    """A discovery that asks this Consul."""
    options.setdefault("grace", Duration(600))
    return ConsulDiscovery(
        ConsulOptions(
            consul=consul.url,
            service="gpu-host",
            token_file=None if token_file is None else str(token_file),
            **options,
        )
    )


async def test_contract_entries_and_their_fields(consul: Consul) -> None:
    """Unknown names are an empty list; addresses may be the node's; failing checks are left out on demand."""
    admin = Admin(consul)
    unknown = await admin.ask("GET", "/v1/health/service/nothing-like-it")
    assert (unknown.status_code, unknown.json()) == (200, [])
    assert int(unknown.headers["x-consul-index"]) >= 1
    await admin.register("gpu1.lab", "10.0.0.1", Port=8043)
    await admin.register("gpu2.lab", "10.0.0.2", Address="10.9.9.2")
    await admin.register("gpu3.lab", "10.0.0.3", status="critical")
    passing = (await admin.ask("GET", "/v1/health/service/gpu-host?passing=1")).json()
    assert sorted(
        (
            entry["Node"]["Node"],
            entry["Node"]["Address"],
            entry["Service"]["Address"],
            entry["Service"]["Port"],
        )
        for entry in passing
    ) == [("gpu1.lab", "10.0.0.1", "", 8043), ("gpu2.lab", "10.0.0.2", "10.9.9.2", 0)]
    catalog = (await admin.ask("GET", "/v1/catalog/service/gpu-host")).json()
    assert sorted(
        (entry["Node"], entry["Address"], entry["ServiceAddress"], entry["ServicePort"]) for entry in catalog
    ) == [
        ("gpu1.lab", "10.0.0.1", "", 8043),
        ("gpu2.lab", "10.0.0.2", "10.9.9.2", 0),
        ("gpu3.lab", "10.0.0.3", "", 0),
    ]


async def test_contract_blocking_queries(consul: Consul) -> None:
    """A query with an index waits for news, or for as long as it was told."""
    admin = Admin(consul)
    await admin.register("gpu1", "10.0.0.1")
    path = "/v1/health/service/gpu-host?passing=1"
    index = int((await admin.ask("GET", path)).headers["x-consul-index"])
    started = time.monotonic()
    nothing_new = await admin.ask("GET", f"{path}&index={index}&wait=1s")
    assert time.monotonic() - started > 0.9
    assert int(nothing_new.headers["x-consul-index"]) == index
    waiting = asyncio.create_task(admin.ask("GET", f"{path}&index={index}&wait=30s"))
    # Nothing comes of itself.
    await asyncio.sleep(0.2)
    assert not waiting.done()
    await admin.register("gpu2", "10.0.0.2")
    news = await waiting
    assert len(news.json()) == 2
    assert int(news.headers["x-consul-index"]) > index


async def test_contract_access(consul: Consul) -> None:
    """A wrong token is refused, but no token at all gets an empty list: the trap that empties boards."""
    admin = Admin(consul)
    await admin.register("gpu1", "10.0.0.1")
    path = "/v1/health/service/gpu-host?passing=1"
    assert (await admin.ask("GET", path, token="00000000-0000-4000-8000-000000000000")).status_code == 403
    without = await admin.ask("GET", path, token=None)
    assert (without.status_code, without.json()) == (200, [])


async def test_nodes_come_and_go_as_consul_says(consul: Consul, token_file: Path) -> None:
    """News arrive at once, not with the next poll; who is no longer named goes after its grace."""
    admin = Admin(consul)
    await admin.register("gpu1.lab", "10.0.0.1", Port=8043)
    async with following(discovery(consul, token_file, grace=Duration(2))) as lists:
        await lists.until(["gpu1"])
        first = Target(node="gpu1", whole_name="gpu1.lab", host="10.0.0.1", port=8043, may_be_here=False)
        assert list(lists.targets) == [first]
        await admin.register("gpu2.lab", "10.0.0.2", Address="10.9.9.2")
        await lists.until(["gpu1", "gpu2"])
        assert lists.targets[-1] == Target(
            node="gpu2", whole_name="gpu2.lab", host="10.9.9.2", may_be_here=False
        )
        await admin.deregister("gpu1.lab")
        await lists.until(["gpu2"])
    assert lists.all == [["gpu1"], ["gpu1", "gpu2"], ["gpu2"]]


def groups_now(lists: Lists) -> list[str]:
    """Of the only node."""
    (target,) = lists.targets
    return list(target.groups)


@pytest.mark.parametrize("passing", [True, False])
async def test_tags_and_metadata_become_groups(consul: Consul, token_file: Path, *, passing: bool) -> None:
    """By either answer; a new rack is news, and the tag that chooses the nodes is none of theirs."""
    admin = Admin(consul)
    await admin.register("gpu1", "10.0.0.1", Tags=["gpu", "vision"], Meta={"rack": "a7"})
    asking = discovery(consul, token_file, passing=passing, tag="gpu")
    async with following(asking) as lists:
        await lists.until(["gpu1"])
        assert groups_now(lists) == ["a7", "vision"]
        await admin.register("gpu1", "10.0.0.1", Tags=["gpu"], Meta={"rack": "b1"})
        async with asyncio.timeout(60):
            while groups_now(lists) != ["b1"]:  # noqa: ASYNC110 - its list is the same
                await asyncio.sleep(0.02)


async def test_tags_are_the_groups_of_nodes_that_the_board_tells(
    consul: Consul, token_file: Path, tmp_path: Path
) -> None:
    """Of a node that has never answered, too: somebody looks for its rack."""
    await Admin(consul).register("gpu1", "10.0.0.1", Tags=["rack=a7", "vision"])
    config = tmp_path / "gpuboard.toml"
    discover = f'{{ consul = "{consul.url}", service = "gpu-host", token_file = "{token_file}" }}'
    put(config, f'[[source]]\nkind = "pull"\ndiscover = {discover}\n')
    with running_board("--config", str(config), log=tmp_path / "log", until="healthz") as board:
        async with asyncio.timeout(60), httpx.AsyncClient(base_url=board.url) as client:
            while not (nodes := (await client.get("api/v1/fleet")).json()["nodes"]):  # noqa: ASYNC110 - it answers
                await asyncio.sleep(0.05)
    assert [(node["name"], node["groups"]) for node in nodes] == [("gpu1", ["a7", "vision"])]


async def test_an_outage_and_an_empty_consul_after_it_do_not_wipe_the_list(
    consul: Consul, token_file: Path
) -> None:
    """A restarted Consul knows nobody until all have registered again."""
    await Admin(consul).register("gpu1", "10.0.0.1")
    asking = discovery(consul, token_file)
    async with following(asking) as lists:
        await lists.until(["gpu1"])
        await consul.stop()
        await trouble_is(asking, "connection-refused")
        await consul.start()
        await trouble_is(asking, "consul-empty")
        assert lists.all == [["gpu1"]]
        await Admin(consul).register("gpu2", "10.0.0.2")
        await lists.until(["gpu1", "gpu2"])
        assert asking.trouble is None


async def test_a_refused_token_is_reported_and_a_new_one_is_taken_up(
    consul: Consul, token_file: Path
) -> None:
    """Without a restart of the board."""
    await Admin(consul).register("gpu1", "10.0.0.1")
    put(token_file, "00000000-0000-4000-8000-000000000000")
    asking = discovery(consul, token_file)
    async with following(asking) as lists:
        await trouble_is(asking, "consul-refused")
        assert asking.trouble is not None
        assert ("token_file" in asking.trouble.text, lists.all) == (True, [])
        put(token_file, TOKEN)
        await lists.until(["gpu1"])


async def test_a_forgotten_token_looks_empty_and_says_so(consul: Consul) -> None:
    """Consul answers with success and nobody."""
    await Admin(consul).register("gpu1", "10.0.0.1")
    asking = discovery(consul, None)
    async with following(asking) as lists:
        await lists.until([])
        assert asking.trouble is not None
        assert "token" in asking.trouble.text


async def test_a_token_does_not_travel_in_clear(token_file: Path) -> None:
    """Consul on another machine needs https, or the admin's word."""
    options = ConsulOptions(consul="http://192.0.2.1:8500", service="x", token_file=str(token_file))
    asking = ConsulDiscovery(options)
    async with following(asking) as lists:
        await trouble_is(asking, "secret-in-clear")
        assert lists.all == []


def target(node: str, host: str = "h") -> Target:
    """Some node."""
    return Target(node=node, host=host)


def nodes(targets: Sequence[Target]) -> str:
    """The names, in one word."""
    return "".join(each.node for each in targets)


def test_who_vanishes_keeps_a_grace() -> None:
    """Each node its own, counted from when it was last named."""
    grace = Grace(600, limit=100)
    assert nodes(grace.update([target("a"), target("b")], 0)) == "ab"
    assert nodes(grace.update([target("a")], 300)) == "ab"
    assert nodes(grace.update([target("a")], 601)) == "a"
    assert nodes(grace.update([], 1200)) == "a"
    assert nodes(grace.update([], 1202)) == ""


def test_no_grace_runs_while_the_list_cannot_be_had() -> None:
    """After an outage of an hour, everybody has the time again that was left before it."""
    grace = Grace(600, limit=100)
    grace.update([target("a")], 0)
    grace.update([], 500)
    for moment in range(600, 4100, 100):
        assert nodes(grace.hold(moment)) == "a"
    assert nodes(grace.update([], 4090)) == "a"
    assert nodes(grace.update([], 4201)) == ""


def test_who_moves_is_followed_at_once() -> None:
    """The newest address stands."""
    grace = Grace(600, limit=100)
    grace.update([target("a", "old")], 0)
    assert grace.update([target("a", "new")], 1)[0].host == "new"


def test_nodes_that_cannot_be_named_or_asked_are_left_out() -> None:
    """One bad registration must not cost the others."""
    data = b"""[{"Node": "gpu 1", "Address": "10.0.0.1"}, {"Node": "gpu2", "Address": "a b"},
        {"Node": "gpu3", "Address": ""}, {"Node": "GPU4", "Address": "::1", "ServicePort": 99999}]"""
    found = [(target.node, target.host, target.port) for target in read_catalog(data)]
    assert found == [("gpu3", "gpu3", None), ("gpu4", "::1", None)]
    assert [each.host for each in read_catalog(data, connect="name")] == ["gpu2", "gpu3", "GPU4"]


VALUES = st.none() | st.integers() | st.text(max_size=5)
ENTRIES = st.lists(
    st.dictionaries(st.sampled_from(["Node", "Address", "Service", "ServicePort"]), VALUES, max_size=3),
    max_size=2,
)


@pytest.mark.parametrize("read", [read_catalog, read_health])
@given(data=st.binary(max_size=50) | ENTRIES.map(msgspec.json.encode))
def test_any_bytes_are_an_answer_or_a_wire_error(read: Any, data: bytes) -> None:  # noqa: ANN401 - one of two readers
    """Consul's port may be somebody else's today."""
    with suppress(WireError):
        read(data)


def names(count: int, *, start: int = 0) -> list[Target]:
    """A list of so many."""
    return [Target(node=f"gpu{number}", host="10.0.0.1") for number in range(start, start + count)]


def test_of_too_many_nodes_those_that_were_known_stay() -> None:
    """Whoever may register services could else drown the real ones, or the board, in invented ones."""
    grace = Grace(600, limit=10)
    grace.update(names(6), now=0)
    kept = grace.update([*names(60_000, start=100), *names(6)], now=1)
    assert len(kept) == 10
    assert {f"gpu{number}" for number in range(6)} <= {target.node for target in kept}
    assert grace.left_out == 60_000 - 4
    # Others each time are no more than that either.
    assert len(grace.update(names(60_000, start=200_000), now=2)) == 10
    assert {target.node for target in grace.update(names(6), now=700)} == {f"gpu{n}" for n in range(6)}
    assert grace.left_out == 0


async def test_too_many_nodes_are_said_in_words(token_file: Path) -> None:
    """The board shows it as the trouble of this list."""
    async with consul_double() as consul:
        admin = Admin(consul)
        for number in range(5):
            await admin.register(f"gpu{number}.lab", f"10.0.0.{number}")
        looking = discovery(consul, token_file, max_nodes=3)
        async with following(looking) as lists:
            await lists.until(["gpu0", "gpu1", "gpu2"])
            assert looking.trouble is not None
            assert looking.trouble.code == "too-many"
            assert "more than 3 nodes; 2 are left out" in looking.trouble.text


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "::ffff:127.0.0.1", "169.254.169.254", "0.0.0.0"])
def test_consul_does_not_send_us_to_ourselves(address: str) -> None:
    """Its nodes are marked, and whoever asks them refuses such addresses, also behind a name."""
    (target,) = read_catalog(msgspec.json.encode([{"Node": "gpu01", "Address": address}]))
    assert not target.may_be_here
    assert is_of_here(address)
