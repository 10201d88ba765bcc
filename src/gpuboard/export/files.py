"""Files that appear whole or not at all."""

import contextlib
import os
import tempfile
from pathlib import Path

from gpuboard.model.errors import UsageError


def write_whole(path: Path, content: bytes) -> None:
    """Write a file under its name in one step; whoever reads it sees the old or the new one.

    A link is followed, and what is no regular file (a pipe, a device) is written into, never replaced.

    Raises:
        UsageError: it cannot be written there; says why.
    """
    try:
        path = path.resolve()
        if path.exists() and not path.is_file():
            path.write_bytes(content)
            return
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as out:
                out.write(content)
                out.flush()
                os.fsync(out.fileno())
                os.fchmod(out.fileno(), 0o644)
            Path(temporary).rename(path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
            raise
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from None
