"""The agent's token file: made when absent, readable by its owner only."""

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final

from gpuboard.model.errors import UsageError
from gpuboard.outside.files import write_whole

SHORTEST: Final = 16


def read_or_create_token(path: Path) -> str:
    """Return the token in a file; make a random one (0600) if the file is absent.

    Raises:
        UsageError: the file cannot be read or made, is readable by others, or holds no usable token.
    """
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            _create(path)
        mode = path.stat().st_mode
        token = path.read_text(encoding="ascii", errors="replace").strip()
    except OSError as error:
        raise UsageError(f"token file {path}: {error.strerror or error}") from None
    if mode & 0o077:
        raise UsageError(f"token file {path} can be read by others; run: chmod 600 {path}")
    if len(token) < SHORTEST or not token.isascii() or any(char.isspace() for char in token):
        raise UsageError(f"token file {path} holds no usable token (one line, {SHORTEST} characters or more)")
    return token


def _create(path: Path) -> None:
    """Whole as soon as it is there: somebody waits for it, to copy it. Of two at once, the first's stays."""
    mine = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    write_whole(mine, f"{secrets.token_urlsafe(32)}\n".encode("ascii"), mode=0o600)
    try:
        with suppress(FileExistsError):
            os.link(mine, path)
    finally:
        mine.unlink()
