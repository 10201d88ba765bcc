"""`gpuboard export html --board`: the page is called as its board is."""

import subprocess
import sys
from pathlib import Path

from tests.board import running_board


def export(*words: str) -> str:
    """What `gpuboard export` prints."""
    command = [sys.executable, "-m", "gpuboard", "export", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def test_the_page_of_a_board_has_its_title_unless_another_is_given(tmp_path: Path) -> None:
    """So has one that is made later of what was saved; hostile text stays text."""
    config = tmp_path / "gpuboard.toml"
    config.write_text('[board]\ntitle = "GPUs of <the> lab"\n')
    with running_board("--config", str(config), "--demo", log=tmp_path / "log") as board:
        made = export("html", "--board", board.url)
        named = export("html", "--board", board.url, "--title", "Mine")
        (tmp_path / "saved.json").write_text(export("json", "--board", board.url))
    assert "<h1>GPUs of &lt;the&gt; lab</h1>" in made
    assert "<h1>Mine</h1>" in named
    assert "<h1>GPUs of &lt;the&gt; lab</h1>" in export("html", "--from", str(tmp_path / "saved.json"))
