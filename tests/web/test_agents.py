"""The door for agents, where timing matters: what happens between two steps of one connection."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from litestar.exceptions import HTTPException

from gpuboard.accounts.roster import Roster
from gpuboard.accounts.tokens import NodeTokens
from gpuboard.sources.ledger import CountingLedger
from gpuboard.sources.push import PushSource
from gpuboard.web.agents import AgentDoor, short_reason
from gpuboard.wire.enrolment import make_token
from gpuboard.wire.ingest import CLOSE_TOKEN_GONE
from tests.databases import open_database


class Socket:
    """Notes how it was closed."""

    code: int | None = None

    async def close(self, code: int, reason: str) -> None:
        """End."""
        assert reason
        self.code = code


async def test_a_token_revoked_while_its_line_is_made_is_cut_off(tmp_path: Path) -> None:
    """The moment between the question and the line belongs to nobody."""
    database = await asyncio.to_thread(open_database, tmp_path)
    tokens = NodeTokens(database)
    roster = Roster(tokens)
    door = AgentDoor(
        PushSource(CountingLedger()), roster, lambda code: database.run(partial(tokens.redeem, code))
    )
    _, token = await asyncio.to_thread(lambda: tokens.redeem(tokens.invite("gpu01")))
    await roster.look()
    known = await door.admit({"authorization": f"Bearer {token}"}, "192.0.2.1")
    await asyncio.to_thread(tokens.revoke, "gpu01")
    await roster.look()
    socket: Any = Socket()
    line = door.open(socket, known, "192.0.2.1")
    await asyncio.gather(*door._closing)
    await asyncio.to_thread(database.close)
    assert (line.is_cut, socket.code, door.connected()) == (True, CLOSE_TOKEN_GONE, {})


@pytest.mark.parametrize("has_tokens", [True, False])
async def test_a_board_that_has_lost_all_tokens_says_so_when_it_refuses_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, *, has_tokens: bool
) -> None:
    """Else each node looks as if it were its own fault."""
    database = await asyncio.to_thread(open_database, tmp_path)
    tokens = NodeTokens(database)
    roster = Roster(tokens)
    door = AgentDoor(
        PushSource(CountingLedger()), roster, lambda code: database.run(partial(tokens.redeem, code))
    )
    if has_tokens:
        await asyncio.to_thread(lambda: tokens.redeem(tokens.invite("gpu02")))
    await roster.look()
    token = make_token("gpu01", "x" * 43)
    with pytest.raises(HTTPException):
        await door.admit({"authorization": f"Bearer {token}"}, "192.0.2.1")
    await asyncio.to_thread(database.close)
    assert "token refused: address=192.0.2.1" in caplog.text
    assert ("the board has no tokens at all" in caplog.text) != has_tokens


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("too late", "too late"),
        (f"this is wrong; {'do that ' * 20}", "this is wrong"),
        ("word " * 40, f"{'word ' * 22}word…"),
        ("ü" * 100, f"{'ü' * 57}…"),
    ],
)
def test_a_reason_that_is_too_long_for_its_frame_ends_with_a_whole_word(reason: str, said: str) -> None:
    """A frame holds 123 bytes; half a word helps nobody."""
    assert (short_reason(reason), len(said.encode()) <= 123) == (said, True)
