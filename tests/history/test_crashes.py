"""What was written survives whatever ends the board."""

import subprocess
import sys
from pathlib import Path

import pytest


def crash(
    folder: Path, *, times: int, seed: int, answers_early: bool = False
) -> subprocess.CompletedProcess[str]:
    """Kill a writer so many times; what was lost stands in its output."""
    command = [sys.executable, "-m", "tests.history.crashing", str(folder), "--crashes", str(times)]
    early = ["--answers-early"] if answers_early else []
    return subprocess.run(
        [*command, "--seed", str(seed), *early], capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_what_was_said_to_be_safe_is_there_after_a_crash(tmp_path: Path) -> None:
    """Agents let go of what they were told is safe. It is there, and counted as GPU-hours once."""
    found = crash(tmp_path, times=20, seed=1)
    assert (found.returncode, found.stdout) == (0, ""), found.stderr


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_five_hundred_crashes_lose_nothing(tmp_path: Path) -> None:
    """Rare moments are met only often enough."""
    found = crash(tmp_path, times=500, seed=2)
    assert (found.returncode, found.stdout) == (0, ""), found.stderr


@pytest.mark.slow
def test_an_answer_before_the_commit_would_be_found_out(tmp_path: Path) -> None:
    """The test above can fail: a writer that answers too early loses what it promised."""
    found = crash(tmp_path, times=20, seed=3, answers_early=True)
    assert found.returncode == 1, found.stderr
    assert "was said to be safe" in found.stdout
