"""A board whose disk others have filled: the live page goes on, history pauses, says so, and goes on too."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.history.test_full_disk import ALONE
from tests.parts import missing, require


@pytest.mark.slow
def test_a_full_disk_pauses_history_and_not_the_board(tmp_path: Path) -> None:
    """Said at /readyz and to the page; nobody has to start anything again."""
    script = 'mount -t tmpfs -o size=32m tmpfs "$1" && exec "$2" -m tests.history.filled_board "$1"'
    require("unshare", "mount")
    if subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode:
        missing("mounts of one's own")
    command = [*ALONE, "sh", "-c", script, "sh", str(tmp_path), sys.executable]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
