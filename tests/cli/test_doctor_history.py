"""`gpuboard doctor` about the board's history."""

from pathlib import Path

from gpuboard.cli.doctor_history import look_at_history
from gpuboard.history.base import Keep
from gpuboard.history.embedded import EmbeddedHistory


def make_history(folder: Path) -> Path:
    """A history that a board has let go of."""
    history = EmbeddedHistory(folder / "history.sqlite", Keep())
    history.open()
    history.close()
    return folder / "history.sqlite"


def test_where_no_board_is_nothing_is_said(tmp_path: Path) -> None:
    """Most machines have none."""
    assert list(look_at_history(tmp_path)) == []
    assert list(look_at_history(tmp_path / "nowhere")) == []


def test_a_history_that_can_be_read_is_well(tmp_path: Path) -> None:
    """With its size."""
    make_history(tmp_path)
    (found,) = look_at_history(tmp_path)
    assert found.is_well
    assert "can be read" in found.text


def test_a_damaged_history_comes_with_what_can_be_saved(tmp_path: Path) -> None:
    """Also one that a board has set aside."""
    path = make_history(tmp_path)
    path.write_bytes(b"no database at all" * 100)
    (tmp_path / "history.sqlite.damaged-20260101-000000").write_bytes(b"x" * 2048)
    aside, here = look_at_history(tmp_path)
    assert not aside.is_well
    assert not here.is_well
    assert "set aside" in aside.text
    assert ".recover" in (aside.remedy or "")
    assert ".recover" in (here.remedy or "")
