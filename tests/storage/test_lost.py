"""A database that is gone when the board starts: said, until it is back or somebody has begun anew."""

from pathlib import Path

import pytest

from gpuboard.accounts.tokens import NodeTokens
from gpuboard.storage.sqlite import FILE_NAME, SqliteDatabase


def start(place: Path) -> SqliteDatabase:
    """A board's database, opened."""
    database = SqliteDatabase(place / FILE_NAME)
    database.open(as_board=True)
    return database


def run_once(place: Path) -> str | None:
    """Start a board and stop it; why its database is in trouble."""
    database = start(place)
    try:
        trouble = database.find_loss()
        return None if trouble is None else trouble.code
    finally:
        database.close()


def lose(place: Path) -> None:
    """A board has run here, and its database was deleted after it."""
    assert run_once(place) is None
    for path in place.glob(f"{FILE_NAME}*"):
        path.unlink()


def test_a_first_start_and_every_later_one_say_nothing(tmp_path: Path) -> None:
    """There is nothing to miss."""
    assert [run_once(tmp_path / "new") for _ in range(3)] == [None, None, None]


def test_a_database_that_is_gone_is_said_with_what_to_do_after_every_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody looks just when it is restarted."""
    lose(tmp_path)
    assert [run_once(tmp_path), run_once(tmp_path)] == ["storage-lost", "storage-lost"]
    [line] = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert str(tmp_path / FILE_NAME) in line
    for remedy in (
        "put a copy back (gpuboard restore FILE)",
        "gpuboard node enroll",
        f"remove {tmp_path / FILE_NAME}.lost",
    ):
        assert remedy in line


def test_a_node_that_is_enrolled_heals_it_under_the_running_board(tmp_path: Path) -> None:
    """Whoever enrolls anew has taken notice."""
    lose(tmp_path)
    database = start(tmp_path)
    assert database.find_loss() is not None
    NodeTokens(database).invite("gpu01")
    assert database.find_loss() is None
    database.close()
    assert run_once(tmp_path) is None


def test_to_remove_the_mark_heals_it(tmp_path: Path) -> None:
    """For boards to which nobody pushes."""
    lose(tmp_path)
    database = start(tmp_path)
    (tmp_path / f"{FILE_NAME}.lost").unlink()
    assert database.find_loss() is None
    database.close()


def test_a_copy_that_is_put_back_heals_it(tmp_path: Path) -> None:
    """Of a board without tokens too."""
    assert run_once(tmp_path) is None
    (tmp_path / FILE_NAME).rename(tmp_path / "copy")
    assert run_once(tmp_path) == "storage-lost"
    (tmp_path / "copy").rename(tmp_path / FILE_NAME)
    assert run_once(tmp_path) is None
    assert not (tmp_path / f"{FILE_NAME}.lost").exists()
