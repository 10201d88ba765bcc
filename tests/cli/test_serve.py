"""`gpuboard serve`: what it says before it runs."""

import subprocess
import sys
from pathlib import Path


def serve(*words: str) -> "subprocess.CompletedProcess[str]":
    """Run it to its end."""
    command = [sys.executable, "-m", "gpuboard", "serve", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_settings_can_be_checked_without_a_board(tmp_path: Path) -> None:
    """Nothing is started, nothing is written."""
    config = tmp_path / "gpuboard.toml"
    config.write_text(
        f'[board]\nstate_dir = "{tmp_path / "state"}"\n'
        '[[source]]\nkind = "ssh"\nhosts = ["gpu[01-16]"]\n[[source]]\nkind = "push"\n'
    )
    done = serve("--config", str(config), "--check")
    assert (done.returncode, done.stdout) == (0, "the settings are in order; sources: ssh, push\n")
    assert not (tmp_path / "state").exists()


def test_checking_names_what_is_wrong_in_any_source(tmp_path: Path) -> None:
    """With 2, as for any wrong use."""
    config = tmp_path / "gpuboard.toml"
    config.write_text('[[source]]\nkind = "push"\n[[source]]\nkind = "ssh"\nhosts = "gpu01"\n')
    done = serve("--config", str(config), "--check")
    assert done.returncode == 2
    assert '[[source]] 2: hosts = "gpu01": expected a list' in done.stderr


def test_a_demo_of_less_than_nothing_is_refused() -> None:
    """In words."""
    done = serve("--demo", "-1", "--check")
    assert (done.returncode, "from 1 to 10000" in done.stderr) == (2, True)
