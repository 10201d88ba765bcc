"""Real parts that a test needs: absent on a laptop they skip it with a reason, in CI they fail it."""

import os
import shutil
from typing import NoReturn

import pytest


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
