"""Where an export goes: a file that appears whole or not at all, or whatever takes bytes."""

import os
from pathlib import Path
from typing import Final

from gpuboard.model.errors import UsageError
from gpuboard.outside.files import write_whole

_FOR_EVERYBODY: Final = 0o644


def write_out(path: Path, content: bytes) -> None:
    """Write an export under its name; a link is followed, a pipe or device is written into, never replaced.

    Raises:
        UsageError: it cannot be written there; says why.
    """
    try:
        path = path.resolve()
        if path.exists() and not path.is_file():
            path.write_bytes(content)
        else:
            # A web server reads it, whatever the umask of cron is.
            write_whole(path, content, prepare=lambda handle: os.fchmod(handle, _FOR_EVERYBODY))
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from None
