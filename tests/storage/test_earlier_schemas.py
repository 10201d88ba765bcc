"""Databases that earlier versions of the board have written, opened by this one."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from msgspec.structs import replace

from gpuboard.accounts.admin import AccountAdmin
from gpuboard.accounts.desk import AccountDesk
from gpuboard.accounts.roster import Roster
from gpuboard.accounts.tokens import NodeTokens
from gpuboard.bookings.store import BookingStore
from gpuboard.bookings.use import Use
from gpuboard.model.booking import Booking
from gpuboard.model.verdict import WHOLE_NODE
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


# Of those that had any: bookings with how they were used, and people with what lets them in.
MINE = Booking(
    id="0a1b2c3d4e",
    who="ana",
    places=(("gpu01", 0),),
    gpus=1,
    start=1795000000.0,
    end=1795003600.0,
    comment="a paper",
    created_at=1794999000.0,
)
WIDER = replace(MINE, who="Ana", places=(("gpu01", 0), ("gpu02", WHOLE_NODE)), gpus=9, through="gpu01")
BLOCK = replace(
    MINE,
    id="0a1b2c3d4f",
    kind="block",
    places=(("gpu02", 1),),
    start=MINE.end,
    end=MINE.end + 3600,
    comment=None,
)
USE = Use(used_seconds=100.0, unused_seconds=50.0, came_at=1795000100.0)
BOOKINGS = {
    "schema-8": [(MINE, Use())],
    "schema-9": [(WIDER, USE), (BLOCK, Use())],
}
PEOPLE: dict[str, list[tuple[str, str, bool]]] = {
    "schema-9": [("ana", "admin", True), ("ben", "viewer", False)],
}


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda path: path.stem)
async def test_people_and_bookings_of_an_earlier_board_are_there(schema: Path, tmp_path: Path) -> None:
    """As they were: who may come in, what is booked, and how that was used."""
    await asyncio.to_thread(rebuilt, schema, tmp_path / "state")
    database = await asyncio.to_thread(open_database, tmp_path / "state")
    try:
        store = BookingStore(database, lambda *_: None)
        _, bookings = await database.run(lambda: store.since(0.0))
        uses = await database.run(lambda: store.uses([one.id for one in bookings]))
        kept = [(replace(one, changed_at=None), uses[one.id]) for one in bookings]
        assert kept == BOOKINGS.get(schema.stem, [])
        assert await database.run(lambda: store.told(["0a1b2c3d4e"])) == {
            one.id: set() for one, _ in kept[:1]
        }
        people = await database.run(AccountAdmin(database).people)
        assert [(one.name, one.role, bool(one.password)) for one in people] == PEOPLE.get(schema.stem, [])
        long_ago = AccountDesk(database, clock=lambda: 0.0)
        known = await database.run(long_ago.known)
        kinds = [("ben", "login"), ("ana", "personal")] if people else []
        assert [(one.person, one.kind) for one in known.tokens] == kinds
        assert [(one.person, one.way) for one in known.sessions] == ([("ana", "password")] if people else [])
    finally:
        await asyncio.to_thread(database.close)


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
