"""A damaged database is said; it never ends in a mistake of ours, and never goes unseen."""

import asyncio
import contextlib
import os
import re
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from gpuboard.accounts.tokens import NodeTokens
from gpuboard.assembly.agents import AgentSide
from gpuboard.assembly.storage import Part, open_storage, remember_owners, remember_places, storage_of
from gpuboard.fleet.clock import SteadyClock
from gpuboard.fleet.state import Fleet
from gpuboard.model.errors import StorageError
from gpuboard.settings.board import BoardTable, Settings, StorageTable
from gpuboard.sources.ledger import CountingLedger
from gpuboard.sources.push.positions import NodePositions
from gpuboard.storage.base import DAMAGED, Database
from gpuboard.storage.registry import make_database
from gpuboard.storage.sqlite import FILE_NAME
from gpuboard.storage.sqlite import database as database_module
from gpuboard.storage.sqlite.integrity import find_damage
from gpuboard.storage.sqlite.lock import BoardLock, holder_of
from gpuboard.web.components import Components
from gpuboard.wire.component import ComponentView
from tests.databases import open_database

# A damage that a running board has to find waits for its next look: seconds each.
pytestmark = pytest.mark.slow

PAGE = 4096
Damage = Callable[[Path], None]


def fill(directory: Path) -> Path:
    """A database with many nodes in it."""
    database = open_database(directory)
    tokens = NodeTokens(database)
    for number in range(60):
        tokens.redeem(tokens.invite(f"gpu{number:03}"))
    with database.write() as connection:
        for number in range(60):
            row = (f"gpu{number:03}", "boot", "[]", 1, 1)
            connection.exec_driver_sql("INSERT INTO node_positions VALUES (?, ?, ?, ?, ?)", row)
    database.close()
    return directory / FILE_NAME


def database_of_board(directory: Path) -> Database:
    """The database as a board opens it."""
    database = make_database(StorageTable(), str(directory))
    database.open(as_board=True)
    return database


def run_sql(statement: str) -> Damage:
    """Damage by a statement that SQLite itself allows."""

    def damage(path: Path) -> None:
        connection = sqlite3.connect(path)
        connection.execute(statement)
        connection.commit()
        connection.close()

    return damage


def write(at: int, data: bytes) -> Damage:
    """Damage by a disk that keeps something else; from the end if `at` is negative."""

    def damage(path: Path) -> None:
        with path.open("r+b") as file:
            file.seek(at, os.SEEK_END if at < 0 else os.SEEK_SET)
            file.write(data)

    return damage


def cut(size: int) -> Damage:
    """Damage by a disk that lost the end."""

    def damage(path: Path) -> None:
        os.truncate(path, path.stat().st_size - size)

    return damage


CASES: dict[str, Damage] = {
    "no header": write(0, b"\0" * 100),
    "another file": write(0, b"hello world" * 500),
    "first page": write(100, b"\xff" * 3000),
    "page size": write(16, b"\x13\x37"),
    "half a page lost": cut(1000),
    "many pages lost": cut(6 * PAGE),
    "free list": write(32, b"\0\0\0\x09\0\0\0\x05"),
    "last page zero": write(-PAGE, b"\0" * PAGE),
    "last page ones": write(-PAGE, b"\xff" * PAGE),
    "an index": write(6 * PAGE, b"\xff" * PAGE),
    "no tokens": run_sql("DROP TABLE node_tokens"),
    "no positions": run_sql("DROP TABLE node_positions"),
    "no facts": run_sql("DROP TABLE facts"),
    "no versions": run_sql("DROP TABLE schema_versions"),
    "a newer schema": run_sql("INSERT INTO schema_versions VALUES (99, 0)"),
    "boots are no list": run_sql("UPDATE node_positions SET earlier_boots = '{'"),
    "shown is no number": run_sql("UPDATE node_positions SET shown = 'many'"),
    "taken is half": run_sql("UPDATE node_positions SET taken = 1.5"),
    "made at no time": run_sql("UPDATE node_tokens SET created_at = 'soon'"),
    "expires at no time": run_sql("UPDATE node_tokens SET expires_at = 'soon'"),
    "used at bytes": run_sql("UPDATE node_tokens SET last_used_at = x'00ff'"),
    "digests are bytes": run_sql("UPDATE node_tokens SET digest = CAST(rowid AS BLOB)"),
    "names are no text": run_sql("UPDATE node_tokens SET node = CAST(x'ff' AS TEXT)"),
    "facts are no text": run_sql("UPDATE facts SET value = CAST(x'ff' AS TEXT)"),
}


def troubles(directory: Path, *, meanwhile: Callable[[], None] = lambda: None) -> list[ComponentView]:
    """What a board says about its storage, as soon as it says something."""
    components = Components()
    settings = Settings(board=BoardTable(state_dir=str(directory)))
    storage, fleet = storage_of(settings, "http://x/"), Fleet(SteadyClock())
    remember_owners(storage, fleet)
    remember_places(storage, fleet)
    agents = AgentSide(storage, CountingLedger(), forget=fleet.forget)
    assert open_storage(storage, settings, components)
    meanwhile()
    try:
        asyncio.run(_until_trouble((*agents.parts(), *storage.parts()), components))
    finally:
        storage.close()
    return components.troubles()


async def _until_trouble(named: Sequence[Part], components: Components) -> None:
    parts = [asyncio.ensure_future(start()) for _, start in named]
    try:
        async with asyncio.timeout(60):
            while not components.troubles():
                mistakes = [part.exception() for part in parts if part.done()]
                assert mistakes == []
                components.look(0.0)
                await asyncio.sleep(0.02)
    finally:
        for part in parts:
            part.cancel()
        await asyncio.gather(*parts, return_exceptions=True)


@pytest.mark.parametrize("name", list(CASES))
def test_a_damaged_database_is_said(tmp_path: Path, name: str) -> None:
    """As a component in trouble, also when it cannot be opened at all; never in an internal error."""
    CASES[name](fill(tmp_path))
    assert {view.component for view in troubles(tmp_path)} == {"storage"}


def test_a_whole_database_is_not_called_damaged(tmp_path: Path) -> None:
    """Nor one that somebody writes to."""
    path = fill(tmp_path)
    assert find_damage(path) is None
    with sqlite3.connect(path, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        assert find_damage(path) is None
        other.execute("ROLLBACK")
    other.close()


def test_a_look_that_takes_too_long_ends_without_an_answer(tmp_path: Path) -> None:
    """Unknown is not damaged."""
    assert find_damage(fill(tmp_path), seconds=0.0) is None


def test_a_database_that_is_deleted_while_the_board_runs_is_said(tmp_path: Path) -> None:
    """What is written from then on would be lost."""
    told = troubles(tmp_path, meanwhile=fill(tmp_path).unlink)
    assert told[0].code in ("storage-replaced", "storage")
    assert told[0].reason is not None
    assert "deleted" in told[0].reason or "cannot be used" in told[0].reason


def test_a_copy_that_is_put_back_under_a_running_board_is_there_unharmed_after_the_restart(
    tmp_path: Path,
) -> None:
    """What the board had still open belongs to the file that is gone, and is not written into the copy."""
    copy = fill(tmp_path / "copy")
    here = tmp_path / "here"
    board = database_of_board(here)
    for number in range(3):
        NodeTokens(board).invite(f"new{number}")
    copy.replace(here / FILE_NAME)
    board.close()
    again = database_of_board(here)
    nodes = sorted(known.node for known in NodeTokens(again).known())
    again.close()
    assert (find_damage(here / FILE_NAME), nodes) == (None, [f"gpu{number:03}" for number in range(60)])


def test_an_empty_file_where_a_database_was_is_damage(tmp_path: Path) -> None:
    """It is refused with what to do, and stays as it is: tokens may be in a copy of it."""
    path = fill(tmp_path)
    for left in tmp_path.glob(f"{FILE_NAME}*"):
        os.truncate(left, 0)
    with pytest.raises(StorageError, match=f"is empty, .*{re.escape(DAMAGED)}") as refused:
        open_database(tmp_path)
    assert (refused.value.reason.code, path.stat().st_size) == ("storage-damaged", 0)


def test_a_file_that_is_emptied_while_the_board_runs_is_said(tmp_path: Path) -> None:
    """At the next look, not at that of the next hour."""
    path = fill(tmp_path)
    told = troubles(tmp_path, meanwhile=lambda: os.truncate(path, 0))
    assert told[0].code in ("storage-damaged", "storage")


def test_a_file_that_is_cut_while_the_board_runs_is_said_at_the_next_look(tmp_path: Path) -> None:
    """It only ever grows; that of the next hour would come too late."""
    path = fill(tmp_path)
    board = database_of_board(tmp_path)
    whole = board.find_loss()
    os.truncate(path, path.stat().st_size - 3 * PAGE)
    cut_short = board.find_loss()
    board.close()
    assert whole is None
    assert cut_short is not None
    assert cut_short.code == "storage-damaged"


def test_a_file_that_may_no_longer_be_read_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is open stays open, but no command and no restart could use it."""
    board = open_database(tmp_path)
    # Root may everything, whatever the mode says.
    monkeypatch.setattr(os, "access", lambda *_: False)
    trouble = board.find_loss()
    board.close()
    assert trouble is not None
    assert "may no longer be read" in trouble.text


def test_a_new_database_is_never_seen_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A board that is killed while it makes one leaves none, or a whole one; the next start is as good."""
    named: list[int] = []

    def die(new: Path, path: Path) -> None:
        named.append(new.stat().st_size)
        assert not path.exists()
        raise KeyboardInterrupt

    monkeypatch.setattr(database_module, "_give_name", die)
    with pytest.raises(KeyboardInterrupt):
        open_database(tmp_path)
    assert named[0] >= PAGE
    monkeypatch.undo()
    open_database(tmp_path).close()
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".new"] == []


def test_a_deleted_file_does_not_come_back_empty(tmp_path: Path) -> None:
    """Neither by the board that had it open, nor by a look whether it is whole."""
    database = open_database(tmp_path)
    database.close()
    path = tmp_path / FILE_NAME
    path.unlink()
    assert "unable to open" in (find_damage(path) or "")
    with contextlib.closing(database), pytest.raises(StorageError), database.read():
        pass
    assert not path.exists()


def test_a_second_board_on_the_same_state_is_refused(tmp_path: Path) -> None:
    """In words, with who has it; and let in when the first has ended."""
    first = BoardLock(tmp_path)
    assert holder_of(tmp_path) is not None
    with pytest.raises(StorageError, match=rf"another board \(process {os.getpid()}\) uses"):
        BoardLock(tmp_path)
    first.release()
    assert holder_of(tmp_path) is None
    BoardLock(tmp_path).release()


def test_a_text_that_is_none_any_more_is_called_damage(tmp_path: Path) -> None:
    """With what to do, as for every other damage."""
    run_sql("UPDATE node_positions SET boot_id = CAST(x'ff' AS TEXT)")(fill(tmp_path))
    database = open_database(tmp_path)
    with contextlib.closing(database), pytest.raises(StorageError, match=re.escape(DAMAGED)):
        NodePositions(database).load()
