"""Real programs that tests need: missing ones skip with a reason, but fail where CI must have them."""

import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def require(*programs: str) -> None:
    """Skip the test unless all programs are here; in CI that is a failure."""
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        give_up(f"not installed: {', '.join(missing)}")


def give_up(reason: str) -> None:
    """Skip the test, or fail it in CI."""
    if os.environ.get("CI"):
        pytest.fail(f"CI must have this: {reason}")
    pytest.skip(reason)


def unpack(part: str) -> Path:
    """The program that `script/parts/NAME` fetches for the tests."""
    require("apt-get", "dpkg-deb")
    done = subprocess.run([ROOT / "script" / "parts" / part], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        give_up(f"script/parts/{part} failed: {done.stderr.strip()[-300:]}")
    return Path(done.stdout.strip())


def free_ports(count: int) -> list[int]:
    """Ports of this machine that nobody uses."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]
    finally:
        for each in sockets:
            each.close()
