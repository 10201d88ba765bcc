"""A token for each node: everybody hears their own, nobody another's."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuboard.discovery.base import Target
from gpuboard.discovery.hosts import name_nodes
from gpuboard.model.report import NodeReport
from gpuboard.settings.base import Duration
from gpuboard.sources.pull import PullOptions, PullSource
from gpuboard.wire.report import encode_report
from tests.fakes.http import RawServer, always, answer_bytes, raw_server
from tests.fakes.sink import RecordingSink, SettableDiscovery, running
from tests.sources.pull.agents import INTERVAL, Agent, at, pull

FIRST = "first-0123456789abcdef"
SECOND = "second-0123456789abcdef"
GOOD = always(answer_bytes(encode_report(NodeReport(node="x"))))


def own_tokens(folder: Path, **tokens: str) -> PullOptions:
    """Options with a folder of tokens, as an administrator leaves them there."""
    for name, token in tokens.items():
        put(folder / name.replace("_", "."), token)
    return PullOptions(token_folder=str(folder), timeout=Duration(2))


def put(path: Path, token: str) -> None:
    """Write a token for the account of the board only."""
    path.write_text(f"{token}\n")
    path.chmod(0o640)


def heard(server: RawServer) -> set[str]:
    """What a node was sent to believe us."""
    return {request.headers.get("authorization", "nothing") for request in server.requests}


@pytest.fixture
def agents() -> Iterator[tuple[Agent, Agent]]:
    """Two agents that listen, each with a token of its own."""
    pair = Agent(token=FIRST), Agent(token=SECOND)
    yield pair
    for agent in pair:
        agent.stop()


async def test_each_agent_believes_its_own_token(agents: tuple[Agent, Agent], tmp_path: Path) -> None:
    """And would refuse the other's."""
    sink = RecordingSink()
    options = own_tokens(tmp_path, gpu1=FIRST, gpu2=SECOND)
    targets = at("gpu1", agents[0].port), at("gpu2", agents[1].port)
    async with running(pull(*targets, options=options), sink):
        await sink.reports_of("gpu1", 1)
        await sink.reports_of("gpu2", 1)
    assert sink.troubles == []


async def test_no_node_hears_the_token_of_another(tmp_path: Path) -> None:
    """However often they are asked."""
    sink = RecordingSink()
    options = own_tokens(tmp_path, gpu1=FIRST, gpu2=SECOND)
    async with raw_server(GOOD) as first, raw_server(GOOD) as second:
        async with running(pull(at("gpu1", first.port), at("gpu2", second.port), options=options), sink):
            await sink.until(lambda: min(sink.count("gpu1"), sink.count("gpu2")) >= 5)
        assert (heard(first), heard(second)) == ({f"Bearer {FIRST}"}, {f"Bearer {SECOND}"})


async def test_a_short_name_that_comes_to_mean_another_node_does_not_take_the_token_along(
    tmp_path: Path,
) -> None:
    """The board calls both gpu1, as long as only one of them is on the list."""
    sink = RecordingSink()
    options = own_tokens(tmp_path, gpu1_north=FIRST)
    async with raw_server(GOOD) as north, raw_server(GOOD) as south:
        discovery = SettableDiscovery(*name_nodes([at("gpu1.north", north.port)]))
        async with running(PullSource(options, discovery, interval=INTERVAL), sink):
            await sink.reports_of("gpu1", 1)
            discovery.change(*name_nodes([at("gpu1.south", south.port)]))
            code, _, text = await sink.trouble_of("gpu1")
        assert (code, "gpu1.south" in text) == ("file-missing", True)
        assert (heard(north), heard(south)) == ({f"Bearer {FIRST}"}, set())


async def test_a_node_without_a_token_is_not_asked_and_the_others_are(tmp_path: Path) -> None:
    """Its trouble names the file that is missing."""
    sink = RecordingSink()
    options = own_tokens(tmp_path, gpu1=FIRST)
    async with raw_server(GOOD) as first, raw_server(GOOD) as second:
        async with running(pull(at("gpu1", first.port), at("gpu2", second.port), options=options), sink):
            await sink.reports_of("gpu1", 3)
            code, _, text = await sink.trouble_of("gpu2")
        assert (code, str(tmp_path / "gpu2") in text) == ("file-missing", True)
        assert second.connections == 0


async def test_a_token_that_everybody_can_read_is_not_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Until it is closed; the words say how, and never what it is."""
    sink = RecordingSink()
    options = own_tokens(tmp_path, gpu1=FIRST)
    file = tmp_path / "gpu1"
    file.chmod(0o644)
    async with raw_server(GOOD) as node, running(pull(at("gpu1", node.port), options=options), sink):
        code, _, text = await sink.trouble_of("gpu1")
        assert (code, f"chmod o= {file}" in text, node.connections) == ("file-open", True, 0)
        file.chmod(0o640)
        await sink.reports_of("gpu1", 1)
    assert FIRST not in caplog.text + text


async def test_a_new_token_is_taken_up_after_a_refusal(agents: tuple[Agent, Agent], tmp_path: Path) -> None:
    """Without a restart of the board."""
    sink = RecordingSink()
    options = own_tokens(tmp_path, gpu1=SECOND)
    async with running(pull(at("gpu1", agents[0].port), options=options), sink):
        code, state, text = await sink.trouble_of("gpu1")
        assert (code, state, "token_folder" in text) == ("token-refused", "refused", True)
        put(tmp_path / "gpu1", FIRST)
        await sink.reports_of("gpu1", 1)


def test_only_a_shortened_name_has_a_whole_one() -> None:
    """Plain names and names that two nodes share are whole already."""
    listed = [at("gpu1.lab", 1), at("gpu2", 1), at("gpu3.north", 1), at("gpu3.south", 1)]
    named: list[Target] = list(name_nodes(listed))
    assert [(target.node, target.whole_name) for target in named] == [
        ("gpu1", "gpu1.lab"),
        ("gpu2", None),
        ("gpu3.north", None),
        ("gpu3.south", None),
    ]
