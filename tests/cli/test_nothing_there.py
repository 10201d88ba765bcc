"""Commands that look where nothing is: they say so, and end with 3."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpuboard.cli import main
from tests.board import running_board
from tests.started import eventually


@pytest.mark.parametrize("command", [["status"], ["status", "--json"], ["export", "html"]])
@pytest.mark.parametrize("pattern", [None, "xx*"])
def test_a_folder_without_a_nodes_file_is_said_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str], pattern: str | None
) -> None:
    """Whether it is empty or holds other files."""
    named = [] if pattern is None else ["--pattern", pattern]
    assert main([*command, "--folder", str(tmp_path), *named]) == 3
    said = capsys.readouterr().err
    assert (f"no file in {tmp_path} is a node's" in said, (pattern or "") in said) == (True, True), said
    assert said.count("\n") == 1


@pytest.mark.parametrize("by_config", [True, False])
def test_a_folder_that_is_away_cannot_be_told_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *, by_config: bool
) -> None:
    """Its mount may come back, so it is no wrong use."""
    config = tmp_path / "gpuboard.toml"
    config.write_text(f'[[source]]\nkind = "folder"\npath = "{tmp_path}/away"\n')
    where = ["--config", str(config)] if by_config else ["--folder", f"{tmp_path}/away"]
    assert main(["status", *where]) == 3
    assert f"{tmp_path}/away cannot be read: No such file" in capsys.readouterr().err


def test_a_node_that_has_fallen_silent_is_shown_with_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the table, and on the exported page."""
    file = tmp_path / "cml10"
    file.write_text(
        "cml10  Sun Nov 15 12:00:01 2026  535.104.05\n[0] NVIDIA A100 | 45'C,   0 % |     1 / 40960 MB |\n"
    )
    os.utime(file, (0, 0))
    for command in (["status"], ["export", "html"]):
        main([*command, "--folder", str(tmp_path)])
        said = " ".join(capsys.readouterr().out.split())
        assert "see on the node whether the job that writes it still runs" in said


def test_a_board_without_nodes_is_said_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is there, and nobody reports to it yet."""
    config = tmp_path / "gpuboard.toml"
    config.write_text('[[source]]\nkind = "push"\n')
    with running_board("--config", str(config), log=tmp_path / "log", until="healthz") as board:

        def says_so() -> bool:
            """Until it has read its tokens it does not know its nodes."""
            assert main(["status", "--board", board.url]) == 3
            return "has no nodes yet" in capsys.readouterr().err

        eventually(says_so)


@pytest.mark.parametrize("command", [["status", "gpu01"], ["serve"]])
def test_what_is_not_installed_is_no_answer(command: list[str]) -> None:
    """Scripts take 1 for "nothing is free"; 2 says that the command cannot be used like this."""
    code = (
        "import sys; sys.modules |= dict.fromkeys(('asyncssh', 'litestar', 'uvicorn', 'numpy')); "
        f"from gpuboard.cli import main; sys.exit(main({command!r}))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=50
    )
    assert (ended.returncode, "is not installed" in ended.stderr) == (2, True), ended.stderr
