"""The board that runs as a service of this machine: where it is, for commands that were not told which."""

import os
from pathlib import Path
from typing import Final

# As the board's unit has them.
DIRECTORY: Final = Path("/var/lib/gpuboard")
SETTINGS: Final = Path("/etc/gpuboard/gpuboard.toml")


def can_be_used() -> bool:
    """Whether this user may use what the service keeps there."""
    return os.access(DIRECTORY, os.R_OK | os.W_OK | os.X_OK)


def has_settings() -> bool:
    """Whether this user may read the settings of the service."""
    return os.access(SETTINGS, os.R_OK)


def hint(*, has_settings: bool) -> str:
    """What to name for the board of the service, as the end of a sentence; nothing where there is none."""
    hints = []
    if not has_settings and _is_there(SETTINGS):
        hints.append(f"; the settings of the service are {SETTINGS}")
    if _is_there(DIRECTORY):
        hints.append(f"; its directory is {DIRECTORY}, for its user and root")
    return "".join(hints)


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False
