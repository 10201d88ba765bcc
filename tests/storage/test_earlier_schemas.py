"""Databases that earlier versions of the board have written, opened by this one."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from gpuboard.accounts.roster import Roster
from gpuboard.accounts.tokens import NodeTokens
from gpuboard.storage.migrations import STEPS
from gpuboard.storage.sqlite import FILE_NAME
from gpuboard.wire.ingest import Hello, encode
from tests.board import running_board
from tests.databases import open_database
from tests.signing_in import signed_in

SCHEMAS = sorted((Path(__file__).parent / "schemas").glob("*.sql"), key=lambda path: path.name)


def rebuilt(schema: Path, state: Path) -> str:
    """The database that a file describes, where a board looks for it; the token of its node."""
    state.mkdir(mode=0o700)
    text = schema.read_text()
    with closing(sqlite3.connect(state / FILE_NAME)) as connection:
        connection.executescript(text)
        connection.execute("PRAGMA journal_mode = WAL")
    return text.splitlines()[0].removeprefix("-- token: ")


def test_every_schema_but_the_newest_has_its_database() -> None:
    """The first was never on a disk of anybody: no command could use it yet."""
    assert [path.stem for path in SCHEMAS] == [f"schema-{number}" for number in range(2, len(STEPS))]


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda path: path.stem)
async def test_what_an_earlier_board_has_written_is_brought_up_to_date(schema: Path, tmp_path: Path) -> None:
    """Whole, and its nodes' tokens are good."""
    token = await asyncio.to_thread(rebuilt, schema, tmp_path / "state")
    database = await asyncio.to_thread(open_database, tmp_path / "state")
    try:
        assert await database.run(database.find_damage) is None
        roster = Roster(NodeTokens(database))
        known = await roster.find(token)
        assert known is not None
        assert known.node == "gpu01"
    finally:
        await asyncio.to_thread(database.close)


@pytest.mark.slow
@pytest.mark.parametrize("schema", SCHEMAS[-1:], ids=lambda path: path.stem)
def test_a_board_runs_on_after_the_upgrade(schema: Path, tmp_path: Path) -> None:
    """Its nodes come with their tokens, and people sign in."""
    token = rebuilt(schema, tmp_path / "state")
    with running_board("--demo", "1", log=tmp_path / "log") as board:
        answer = httpx.post(
            f"{board.url}api/v1/reports",
            headers={"authorization": f"Bearer {token}", "content-type": "application/msgpack"},
            content=encode(Hello(node="gpu01", boot_id="boot-1")),
        )
        assert answer.status_code == 200
        assert signed_in(board, "ana").session()["person"] == "ana"
