"""Copies of the database: what is put back is what stands there, and what was there before stays."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from gpuboard.accounts.tokens import NodeTokens
from gpuboard.storage.sqlite import FILE_NAME, SqliteDatabase
from gpuboard.storage.sqlite import database as module

NOW = "20261119T224700Z"


def board(place: Path) -> SqliteDatabase:
    """A board's database, opened."""
    database = SqliteDatabase(place / FILE_NAME)
    database.open(as_board=True)
    return database


def killed(place: Path) -> Path:
    """The journal of a board that has kept a copy, wrote on and was killed: what it wrote last is there."""
    database = board(place)
    NodeTokens(database).invite("gpu01")
    database.backup(place / "copy")
    NodeTokens(database).invite("gpu02")
    left = {path: path.read_bytes() for path in place.glob(f"{FILE_NAME}*")}
    database.close()
    for path, content in left.items():
        path.write_bytes(content)
    journal = place / f"{FILE_NAME}-wal"
    assert journal.stat().st_size > 0
    return journal


def nodes(database: SqliteDatabase) -> list[str]:
    """Who is invited; the database is closed then."""
    try:
        with database.read() as connection:
            found = connection.exec_driver_sql("SELECT node FROM enrolment_codes ORDER BY node")
            return list(found.scalars())
    finally:
        database.close()


def command(place: Path) -> SqliteDatabase:
    """The database as a command opens it that asks nobody."""
    database = SqliteDatabase(place / FILE_NAME)
    database.open()
    return database


def test_what_a_killed_board_has_written_is_there_again(tmp_path: Path) -> None:
    """Its journal is its own."""
    killed(tmp_path)
    assert nodes(board(tmp_path)) == ["gpu01", "gpu02"]


@pytest.mark.parametrize("who", [board, command])
def test_a_copy_that_was_put_there_by_hand_is_not_written_over_by_the_journal_before(
    tmp_path: Path, who: Callable[[Path], SqliteDatabase], caplog: pytest.LogCaptureFixture
) -> None:
    """SQLite would do so without a word, the file's name being the same."""
    journal = killed(tmp_path)
    written = journal.read_bytes()
    (tmp_path / FILE_NAME).write_bytes((tmp_path / "copy").read_bytes())
    assert nodes(who(tmp_path)) == ["gpu01"]
    assert Path(f"{journal}.lost").read_bytes() == written
    assert f"path={journal}.lost" in caplog.text
    assert "gpuboard restore" in caplog.text


def test_a_journal_is_set_aside_beside_one_that_was(tmp_path: Path) -> None:
    """Each may be all that is left of something."""
    for _ in range(2):
        journal = killed(tmp_path)
        (tmp_path / FILE_NAME).write_bytes((tmp_path / "copy").read_bytes())
        assert nodes(board(tmp_path)) == ["gpu01"]
    assert all(Path(f"{journal}.lost{more}").stat().st_size for more in ("", "-2"))


def test_a_journal_that_a_running_board_writes_is_left_to_it(tmp_path: Path) -> None:
    """Whatever has been written over its file: a command takes nothing away from it."""
    database = board(tmp_path)
    NodeTokens(database).invite("gpu01")
    journal = tmp_path / f"{FILE_NAME}-wal"
    before = journal.stat().st_ino
    database.backup(tmp_path / "copy")
    (tmp_path / FILE_NAME).write_bytes((tmp_path / "copy").read_bytes())
    command(tmp_path).close()
    assert journal.stat().st_ino == before
    database.close()


def test_what_was_there_before_is_kept_of_every_restore(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However soon they follow each other."""
    database = board(tmp_path)
    database.backup(tmp_path / "copy")
    database.close()
    monkeypatch.setattr(module, "time", SimpleNamespace(strftime=lambda *_: NOW, gmtime=lambda: None))
    kept = []
    for node in ("gpu01", "gpu02", "gpu03"):
        there = board(tmp_path)
        NodeTokens(there).invite(node)
        there.close()
        database = SqliteDatabase(tmp_path / FILE_NAME)
        before = database.restore(tmp_path / "copy")
        database.close()
        assert before is not None
        kept.append(before.path)
    assert [path.name for path in kept] == [f"{FILE_NAME}.before-{NOW}{more}" for more in ("", "-2", "-3")]
    monkeypatch.undo()
    for path, node in zip(kept, ("gpu01", "gpu02", "gpu03"), strict=True):
        again = tmp_path / node
        again.mkdir()
        path.rename(again / FILE_NAME)
        assert nodes(command(again)) == [node]


def test_a_journal_without_its_database_is_set_aside_and_named(tmp_path: Path) -> None:
    """All that a killed board has ever written may be in it, while its file was moved away."""
    journal = killed(tmp_path)
    written = journal.read_bytes()
    (tmp_path / FILE_NAME).rename(tmp_path / "moved")
    database = SqliteDatabase(tmp_path / FILE_NAME)
    before = database.restore(tmp_path / "copy")
    assert before is not None
    assert (before.is_journal, before.path.read_bytes()) == (True, written)
    assert nodes(database) == ["gpu01"]
    again = tmp_path / "again"
    again.mkdir()
    (tmp_path / "moved").rename(again / FILE_NAME)
    before.path.rename(again / f"{FILE_NAME}-wal")
    assert nodes(command(again)) == ["gpu01", "gpu02"]
