"""Files of the board's own that keep it from asking a node: the trouble is theirs, and so is the remedy."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from gpuboard.fleet.node import Node
from gpuboard.fleet.state import Fleet
from gpuboard.model.codes import CODES
from gpuboard.settings.base import Duration
from gpuboard.sources.pull import PullOptions
from gpuboard.sources.pull.own_files import REMEDIES
from tests.clock import HandClock
from tests.fakes.sink import running
from tests.sources.pull.agents import at, pull


def test_every_remedy_is_for_a_code_there_is() -> None:
    """A code that is renamed would lose its remedy."""
    assert REMEDIES.keys() <= CODES


@pytest.mark.parametrize(
    ("harm", "helps"),
    [
        (lambda _: None, "write it on the board's machine"),
        (Path.mkdir, "let the board's account read it"),
        (Path.touch, "write the secret into it as one line"),
    ],
    ids=["missing", "no file", "empty"],
)
async def test_a_token_file_that_cannot_be_used_is_named_with_what_to_do(
    tmp_path: Path, harm: Callable[[Path], None], helps: str
) -> None:
    """Nobody is sent to the node, which was not even asked."""
    path = tmp_path / "agents.token"
    harm(path)
    node = await troubled(PullOptions(token_file=str(path), timeout=Duration(2)))
    assert node.seen is not None
    reason = node.seen.freshness.reason
    assert reason is not None
    assert (str(path) in reason.text, helps in reason.text) == (True, True)
    assert reason.values["remedy"] in reason.text
    assert [problem.kind for problem in node.seen.problems] == []


async def test_a_missing_ca_file_is_no_missing_token(tmp_path: Path) -> None:
    """What belongs there is a certificate."""
    options = PullOptions(tls=True, ca_file=str(tmp_path / "ca.pem"), timeout=Duration(2))
    node = await troubled(options)
    assert node.seen is not None
    reason = node.seen.freshness.reason
    assert reason is not None
    assert (f"{tmp_path}/ca.pem" in reason.text, "as PEM" in reason.text) == (True, True)
    assert ("token" in reason.text, node.seen.problems) == (False, ())


async def test_trouble_that_says_what_to_do_gets_no_other_advice(tmp_path: Path) -> None:
    """Looking at the agent is in vain where the board does not even send it the secret."""
    (tmp_path / "token").write_text("secret")
    (tmp_path / "token").chmod(0o600)
    options = PullOptions(token_file=str(tmp_path / "token"), timeout=Duration(2))
    node = await troubled(options, host="192.0.2.1")
    assert node.seen is not None
    reason = node.seen.freshness.reason
    assert reason is not None
    assert (reason.code, "allow_plaintext" in reason.text) == ("secret-in-clear", True)
    assert node.seen.problems == ()


async def troubled(options: PullOptions, *, host: str = "127.0.0.1") -> Node:
    """A node that cannot be asked, as the fleet knows it."""
    fleet = Fleet(HandClock())
    async with running(pull(at("gpu01", 1, host), options=options), fleet.sink("pull")), asyncio.timeout(60):
        while (node := fleet.get("gpu01")) is None or node.trouble is None:  # noqa: ASYNC110 - it has no event
            await asyncio.sleep(0.01)
    fleet.settle()
    return node
