"""Copies of the database: what is put back is what stands there, and what was there before stays."""

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
