"""Databases that earlier versions of the board have written, opened by this one."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import httpx
import psycopg
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
from gpuboard.storage.base import Database
from gpuboard.storage.migrations import STEPS
from gpuboard.storage.sqlite import FILE_NAME
from gpuboard.wire.ingest import Hello, encode
from tests.board import running_board
from tests.databases import open_url
from tests.signing_in import signed_in

SCHEMAS = sorted((Path(__file__).parent / "schemas").glob("*.sql"), key=lambda path: int(path.stem[7:]))


class Earlier(NamedTuple):
    """What a board of this schema has left, opened by this one; and the token of its node."""

    schema: str
    database: Database
    token: str


def rebuilt(schema: Path, url: str) -> str:
    """Make the database that a file describes, where a board looks for it; the token of its node."""
    text = schema.read_text()
    if url.startswith("sqlite:///"):
        file = Path(url.removeprefix("sqlite:///"))
        file.parent.mkdir(mode=0o700)
        with closing(sqlite3.connect(file)) as connection:
            connection.executescript(text)
            connection.execute("PRAGMA journal_mode = WAL")
    else:
        # The one word that each has for itself.
        text = text.replace("DOUBLE NOT NULL", "DOUBLE PRECISION NOT NULL")
        with psycopg.connect(url, autocommit=True) as server:
            server.execute(text.encode())
    return text.splitlines()[0].removeprefix("-- token: ")


@pytest.fixture(params=SCHEMAS, ids=lambda path: path.stem)
def earlier(request: pytest.FixtureRequest, database_url: str) -> Iterator[Earlier]:
    """The database of every earlier schema, of each kind."""
    token = rebuilt(request.param, database_url)
    database = open_url(database_url)
    yield Earlier(request.param.stem, database, token)
    database.close()


def test_every_schema_but_the_newest_has_its_database() -> None:
    """From the first that a command could use."""
    assert [path.stem for path in SCHEMAS] == [f"schema-{number}" for number in range(1, len(STEPS))]


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
    "schema-10": [(WIDER, USE), (BLOCK, Use())],
}
TOLD: dict[str, set[str]] = {"schema-10": {"no-show"}}
PEOPLE: dict[str, list[tuple[str, str, bool]]] = {
    "schema-9": [("ana", "admin", True), ("ben", "viewer", False)],
    "schema-10": [("ana", "admin", True), ("ben", "viewer", False)],
}


async def test_people_and_bookings_of_an_earlier_board_are_there(earlier: Earlier) -> None:
    """As they were: who may come in, what is booked, and how that was used."""
    schema, database, _ = earlier
    store = BookingStore(database, lambda *_: None)
    _, bookings = await database.run(lambda: store.since(0.0))
    uses = await database.run(lambda: store.uses([one.id for one in bookings]))
    kept = [(replace(one, changed_at=None), uses[one.id]) for one in bookings]
    assert kept == BOOKINGS.get(schema, [])
    told = await database.run(lambda: store.told([MINE.id]))
    assert told == {one.id: TOLD.get(schema, set()) for one, _ in kept[:1]}
    people = await database.run(AccountAdmin(database).people)
    assert [(one.name, one.role, bool(one.password)) for one in people] == PEOPLE.get(schema, [])
    long_ago = AccountDesk(database, clock=lambda: 0.0)
    known = await database.run(long_ago.known)
    kinds = [("ben", "login"), ("ana", "personal")] if people else []
    assert [(one.person, one.kind) for one in known.tokens] == kinds
    assert [(one.person, one.way) for one in known.sessions] == ([("ana", "password")] if people else [])


async def test_what_an_earlier_board_has_written_is_brought_up_to_date(earlier: Earlier) -> None:
    """Whole, and its nodes' tokens are good."""
    database = earlier.database
    assert await database.run(database.find_damage) is None
    known = await Roster(NodeTokens(database)).find(earlier.token)
    assert known is not None
    assert known.node == "gpu01"


@pytest.mark.slow
@pytest.mark.parametrize("schema", SCHEMAS[-1:], ids=lambda path: path.stem)
def test_a_board_runs_on_after_the_upgrade(schema: Path, tmp_path: Path) -> None:
    """Its nodes come with their tokens, and people sign in."""
    token = rebuilt(schema, f"sqlite:///{tmp_path}/state/{FILE_NAME}")
    with running_board("--demo", "1", log=tmp_path / "log") as board:
        answer = httpx.post(
            f"{board.url}api/v1/reports",
            headers={"authorization": f"Bearer {token}", "content-type": "application/msgpack"},
            content=encode(Hello(node="gpu01", boot_id="boot-1")),
        )
        assert answer.status_code == 200
        assert signed_in(board, "ana").session()["person"] == "ana"
