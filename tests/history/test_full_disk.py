"""A disk that others have filled."""

import subprocess
import sys
from pathlib import Path

from tests.parts import missing, require

# A mount that nobody else sees, and that is gone with the process.
ALONE = ("unshare", "--user", "--map-root-user", "--mount")


def test_a_full_disk_pauses_history_and_nothing_else(tmp_path: Path) -> None:
    """It says "not now", keeps what it has, and goes on by itself when there is room."""
    script = 'mount -t tmpfs -o size=32m tmpfs "$1" && exec "$2" -m tests.history.filling "$1"'
    command = [*ALONE, "sh", "-c", script, "sh", str(tmp_path), sys.executable]
    require("unshare", "mount")
    if subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode:
        missing("mounts of one's own")
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
