"""Files that somebody else writes, read with care and followed while they change; our own, written whole."""

import asyncio
import os
import stat
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from gpuboard.model.errors import OutsideError
from gpuboard.outside.account import own_account
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
    if isinstance(error, PermissionError):
        remedy = f"let {own_account()} read it (chgrp, chmod g+r; of the folders above it, g+x)"
        return OutsideError(f"{path} cannot be read: {why}; {remedy}", code="file-unreadable", remedy=remedy)
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


def write_whole(
    path: Path, content: bytes, *, mode: int = 0o644, prepare: Callable[[int], None] | None = None
) -> None:
    """Write a file in one step: whoever reads it sees the old one or the new one, whole. Blocks.

    `prepare` gets the descriptor of the new file while that is still empty and nobody knows its name.

    Raises:
        OSError: it cannot be written; the file that was there before still is.
    """
    # The leading dot keeps readers of the folder away; the pid keeps two writers of one name apart.
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.unlink(missing_ok=True)
    # Exclusive and without following links: somebody else may write in this folder too.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(temporary, flags, mode)
    try:
        with os.fdopen(handle, "wb") as out:
            if prepare is not None:
                prepare(handle)
            out.write(content)
            out.flush()
            os.fsync(handle)
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    # Not every network file system can sync a folder; the file itself is safe already.
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
