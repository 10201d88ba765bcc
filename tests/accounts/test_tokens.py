"""Codes become tokens, tokens are replaced and revoked."""

from pathlib import Path

import pytest

from gpuboard.accounts.tokens import NodeTokens
from gpuboard.model.errors import AccessRefused, UsageError, WireError
from gpuboard.storage.base import Database
from gpuboard.storage.sqlite import FILE_NAME
from gpuboard.wire.enrolment import node_of_token, show_code
from tests.databases import open_database, open_url


class HandClock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.time = 1_800_000_000.0

    def __call__(self) -> float:
        """The time a test has set."""
        return self.time


@pytest.fixture
def clock() -> HandClock:
    """A clock that a test moves."""
    return HandClock()


@pytest.fixture
def tokens(database: Database, clock: HandClock) -> NodeTokens:
    """No token yet."""
    return NodeTokens(database, clock=clock)


def test_a_code_becomes_a_token_of_its_node(tokens: NodeTokens) -> None:
    """However the code is typed."""
    code = tokens.invite("gpu01")
    node, token = tokens.redeem(f" {show_code(code).lower()} ")
    assert (node, node_of_token(token)) == ("gpu01", "gpu01")
    assert [known.node for known in tokens.known()] == ["gpu01"]


def test_a_code_works_once(tokens: NodeTokens) -> None:
    """Whoever comes second is refused."""
    code = tokens.invite("gpu01")
    tokens.redeem(code)
    with pytest.raises(AccessRefused, match="gpuboard node enroll"):
        tokens.redeem(code)


def test_a_code_works_for_an_hour(tokens: NodeTokens, clock: HandClock) -> None:
    """And not a second longer."""
    early, late = tokens.invite("gpu01"), tokens.invite("gpu02")
    clock.time += 3599
    assert tokens.redeem(early)[0] == "gpu01"
    clock.time += 1
    with pytest.raises(AccessRefused):
        tokens.redeem(late)


def test_a_second_code_replaces_the_first(tokens: NodeTokens) -> None:
    """One that was read aloud by mistake can be made worthless."""
    first = tokens.invite("gpu01")
    tokens.invite("gpu01")
    with pytest.raises(AccessRefused):
        tokens.redeem(first)


@pytest.mark.parametrize("code", ["", "A" * 20, "'; DROP TABLE node_tokens; --", "\ud800", "x" * 10_000])
def test_guessed_codes_are_refused(tokens: NodeTokens, code: str) -> None:
    """Whatever they look like."""
    tokens.invite("gpu01")
    with pytest.raises(AccessRefused):
        tokens.redeem(code)


@pytest.mark.parametrize("name", ["", "GPU 1", "../etc", "a" * 64, "-a", "a\n", "gpu~1"])
def test_only_a_nodes_name_can_be_invited(tokens: NodeTokens, name: str) -> None:
    """Said at once, on the board, not later on the node."""
    with pytest.raises(UsageError):
        tokens.invite(name)


def test_enrolling_again_leaves_the_old_token_a_day(tokens: NodeTokens, clock: HandClock) -> None:
    """So that the file can be exchanged without a gap."""
    tokens.redeem(tokens.invite("gpu01"))
    clock.time += 1000
    tokens.redeem(tokens.invite("gpu01"))
    counts = [len(tokens.known())]
    clock.time += 24 * 3600 - 1
    counts.append(len(tokens.known()))
    clock.time += 1
    counts.append(len(tokens.known()))
    assert counts == [2, 2, 1]


def test_enrolling_a_third_time_does_not_prolong_the_first(tokens: NodeTokens, clock: HandClock) -> None:
    """A day is a day."""
    for _ in range(3):
        tokens.redeem(tokens.invite("gpu01"))
        clock.time += 23 * 3600
    # The first ended a day after the second came; the second has an hour left.
    assert len(tokens.known()) == 2


def test_revoking_takes_tokens_and_codes_at_once(tokens: NodeTokens) -> None:
    """All of them, and only that node's."""
    for node in ("gpu01", "gpu02"):
        tokens.redeem(tokens.invite(node))
    code = tokens.invite("gpu01")
    assert (tokens.revoke("gpu01"), tokens.revoke("gpu01")) == (True, False)
    assert [known.node for known in tokens.known()] == ["gpu02"]
    with pytest.raises(AccessRefused):
        tokens.redeem(code)


def test_neither_tokens_nor_codes_are_in_the_database(tmp_path: Path) -> None:
    """A stolen copy lets nobody in."""
    database = open_database(tmp_path)
    tokens = NodeTokens(database)
    _, token = tokens.redeem(tokens.invite("gpu01"))
    code = tokens.invite("gpu02")
    secret = token.rpartition("~")[2]
    raw = b"".join(path.read_bytes() for path in tmp_path.glob(f"{FILE_NAME}*"))
    database.close()
    assert raw
    assert secret.encode() not in raw
    assert code.encode() not in raw


def test_records_tell_who_waits_and_who_was_heard(tokens: NodeTokens, clock: HandClock) -> None:
    """What `gpuboard node list` shows."""
    tokens.redeem(tokens.invite("gpu02"))
    tokens.invite("gpu01")
    tokens.note_use({known.digest: clock.time + 5 for known in tokens.known()})
    seen = [(r.node, r.tokens, r.last_used_at, r.code_expires_at) for r in tokens.records()]
    assert seen == [("gpu01", 0, None, clock.time + 3600), ("gpu02", 1, clock.time + 5, None)]


def test_every_change_is_heard_by_other_processes(tokens: NodeTokens, database_url: str) -> None:
    """They compare one word instead of reading everything."""
    other_database = open_url(database_url)
    other = NodeTokens(other_database)
    words = [other.generation()]
    code = tokens.invite("gpu01")
    tokens.redeem(code)
    words.append(other.generation())
    tokens.revoke("gpu01")
    words.append(other.generation())
    other_database.close()
    assert len(set(words)) == 3


def test_time_that_is_over_is_swept_away(tokens: NodeTokens, clock: HandClock, database: Database) -> None:
    """The table does not grow for ever."""
    for _ in range(3):
        tokens.redeem(tokens.invite("gpu01"))
        clock.time += 25 * 3600
    tokens.note_use({})
    with database.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM node_tokens").scalar_one() == 1


@pytest.mark.parametrize(
    "text",
    ["", "gpuboard~gpu01~short", "gpuboard~GPU~" + "a" * 43, "other~gpu01~" + "a" * 43, "gpuboard~gpu01"],
)
def test_text_that_is_no_token_is_refused_and_not_repeated(text: str) -> None:
    """It may be another program's secret."""
    with pytest.raises(WireError) as refused:
        node_of_token(text)
    assert not text or text not in str(refused.value)
