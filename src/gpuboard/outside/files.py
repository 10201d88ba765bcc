"""Files that somebody else writes: read with care, and followed while they change."""

import asyncio
import os
import stat
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Final, TypeVar

from gpuboard.model.errors import OutsideError
from gpuboard.outside.threads import off_loop

POLL_SECONDS: Final = 5.0
# How long a read may take before its mount counts as hung.
HUNG_SECONDS: Final = 30.0
MAX_FILE_BYTES: Final = 1024 * 1024

Value = TypeVar("Value")


def user_path(text: str) -> Path:
    """A path from the settings, `~` meaning a home folder where that is known."""
    return Path(os.path.expanduser(text))  # noqa: PTH111 - Path's own way raises for an unknown user


def read_file(path: Path, *, limit: int = MAX_FILE_BYTES, private: bool = False) -> bytes:
    """Read a whole regular file; a private one only if not everybody on this machine can. Blocks.

    Raises:
        OutsideError: it is missing, unreadable, no regular file, too large, or open to everybody.
    """
    try:
        # Without O_NONBLOCK, opening a named pipe waits for a writer.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    try:
        mode = os.fstat(handle).st_mode
        if not stat.S_ISREG(mode):
            raise OutsideError(f"{path} is no regular file", code="file-unreadable")
        # The group may: that is how root gives a file to the account of a service.
        if private and mode & stat.S_IRWXO:
            raise OutsideError(f"{path} is open to everybody here; run: chmod o= {path}", code="file-open")
        return _read_all(handle, path, limit)
    except OSError as error:
        raise _unreadable(path, error) from None
    finally:
        os.close(handle)


def is_open_to_all(path: Path) -> bool:
    """Whether everybody on this machine may read a file, as far as its own mode says. Blocks."""
    try:
        return bool(path.stat().st_mode & stat.S_IRWXO)
    except (OSError, ValueError):
        return False


def _read_all(handle: int, path: Path, limit: int) -> bytes:
    parts: list[bytes] = []
    left = limit + 1
    while left > 0 and (part := os.read(handle, min(left, 65536))):
        parts.append(part)
        left -= len(part)
    if left <= 0:
        raise OutsideError(f"{path} is larger than {limit} bytes", code="file-too-large")
    return b"".join(parts)


def _unreadable(path: Path, error: Exception) -> OutsideError:
    why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    code = "file-missing" if isinstance(error, FileNotFoundError) else "file-unreadable"
    return OutsideError(f"{path} cannot be read: {why}", code=code)


async def follow(
    read: Callable[[], Value], *, what: object = "the file", every: float = POLL_SECONDS
) -> AsyncGenerator[Value | OutsideError, None]:
    """Yield what `read` returns, or the error that it raises, at the start and whenever that changes.

    The content is compared, not the modification time: an editor may restore that, and network mounts
    tell it late, while opening a file anew always shows what is in it. Files here are small. A read that
    hangs is told as an error that says what hangs, and no other is begun until it ends.
    """
    hung = OutsideError(f"{what} does not answer: its mount hangs", code="file-hung")
    last: tuple[str, object] | None = None
    look: asyncio.Task[Value | OutsideError] | None = None
    try:
        while True:
            look = look or asyncio.create_task(off_loop(lambda: _outcome(read)))
            await asyncio.wait({look}, timeout=HUNG_SECONDS)
            outcome: Value | OutsideError = hung
            if look.done():
                outcome, look = look.result(), None
            seen = ("error", outcome.text) if isinstance(outcome, OutsideError) else ("value", outcome)
            if seen != last:
                last = seen
                yield outcome
            await asyncio.sleep(every)
    finally:
        if look is not None:
            look.cancel()


def _outcome(read: Callable[[], Value]) -> Value | OutsideError:
    try:
        return read()
    except OutsideError as error:
        return error
