"""Real parts that a test needs: absent on a laptop they skip it with a reason, in CI they fail it."""

import os
import shutil
import socket
import subprocess
from functools import cache
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).parent.parent


def require(*programs: str) -> None:
    """Go on only if these programs are here."""
    for program in programs:
        if shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin") is None:
            missing(program)


def require_root() -> None:
    """Go on only as root."""
    if os.geteuid() != 0:
        missing("root")


def missing(part: str) -> NoReturn:
    """Skip for want of a part; in CI nothing may be missing."""
    reason = f"needs {part}"
    if os.environ.get("CI") == "true":
        pytest.fail(f"{reason}, and in CI nothing may be missing")
    pytest.skip(reason)


def unpack(part: str) -> Path:
    """The program that `script/unpack-PART` fetches for the tests."""
    require("apt-get", "dpkg-deb")
    done = _unpacked(part)
    if done.returncode != 0:
        missing(f"{part} ({done.stderr.strip()[-200:]})")
    return Path(done.stdout.strip())


@cache
def _unpacked(part: str) -> "subprocess.CompletedProcess[str]":
    # Once: without a network each try takes its time, and the next fares no better.
    return subprocess.run([ROOT / "script" / f"unpack-{part}"], capture_output=True, text=True, check=False)


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
