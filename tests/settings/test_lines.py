"""The two lines at which bars get darker."""

from pathlib import Path

import pytest

from gpuboard.model.errors import SettingsError
from gpuboard.settings.board import read_settings


def test_the_lines_of_bars_can_be_set(tmp_path: Path) -> None:
    """Apart for hosts and GPUs; what is not set stays as it was."""
    path = tmp_path / "gpuboard.toml"
    path.write_text("[board]\nhost_lines = [50, 90]\n")
    board = read_settings(path).board
    assert (board.host_lines, board.gpu_lines) == ((50.0, 90.0), (20.0, 60.0))


def test_whoever_sets_none_has_the_lines_that_people_know(tmp_path: Path) -> None:
    """Hosts at 35 and 70 %, GPUs at 20 and 60."""
    path = tmp_path / "gpuboard.toml"
    path.touch()
    board = read_settings(path).board
    assert (board.host_lines, board.gpu_lines) == ((35.0, 70.0), (20.0, 60.0))


@pytest.mark.parametrize("lines", ["[70, 35]", "[35]", "[35, 70, 90]", "[-1, 50]", "[10, 101]", "35"])
def test_lines_that_make_no_sense_are_refused(tmp_path: Path, lines: str) -> None:
    """Two percentages, the lower first."""
    path = tmp_path / "gpuboard.toml"
    path.write_text(f"[board]\ngpu_lines = {lines}\n")
    with pytest.raises(SettingsError, match="gpu_lines") as refused:
        read_settings(path)
    assert "text" not in str(refused.value)


def test_who_gives_one_line_is_told_to_give_two_numbers(tmp_path: Path) -> None:
    """With an example that works."""
    path = tmp_path / "gpuboard.toml"
    path.write_text("[board]\nhost_lines = [35]\n")
    with pytest.raises(
        SettingsError, match=r"expected a list of two numbers; write host_lines = \[35, 70\]$"
    ):
        read_settings(path)
