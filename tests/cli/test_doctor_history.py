"""`gpuboard doctor` about the board's history."""

from pathlib import Path

import pytest

from gpuboard.cli import main, service_board
from gpuboard.cli.doctor_history import look_at_history
from gpuboard.history.base import Keep
from gpuboard.history.embedded import EmbeddedHistory
from gpuboard.storage.sqlite.lock import BoardLock


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


@pytest.mark.parametrize("runs", ["service", "home/gpuboard", None])
def test_the_history_of_the_board_that_runs_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], runs: str | None
) -> None:
    """As other commands find it: that of the service, or one tried out by hand; without any, both."""
    monkeypatch.setattr(service_board, "DIRECTORY", tmp_path / "service")
    monkeypatch.setattr(service_board, "SETTINGS", tmp_path / "none.toml")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("STATE_DIRECTORY", raising=False)
    for name in ("service", "home/gpuboard"):
        (tmp_path / name).mkdir(parents=True)
        make_history(tmp_path / name)
    lock = None if runs is None else BoardLock(tmp_path / runs)
    main(["doctor"])
    if lock is not None:
        lock.release()
    told = capsys.readouterr().out
    looked = {name for name in ("service", "home/gpuboard") if f"{tmp_path / name}/history.sqlite" in told}
    assert looked == ({runs} if runs else {"service", "home/gpuboard"})


def test_a_slip_in_the_settings_of_the_service_stops_no_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The rest of the machine is what doctor is asked about."""
    (tmp_path / "slip.toml").write_text("[board")
    (tmp_path / "service").mkdir()
    monkeypatch.setattr(service_board, "DIRECTORY", tmp_path / "service")
    monkeypatch.setattr(service_board, "SETTINGS", tmp_path / "slip.toml")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert main(["doctor"]) != 2
    assert "on Python" in capsys.readouterr().out
