"""One board per state directory: two would undo what the other writes down."""

import fcntl
import os
from pathlib import Path
from typing import Final, NamedTuple

from gpuboard.model.errors import StorageError
from gpuboard.outside.state_directory import hand_over

FILE_NAME: Final = "board.lock"
_LONGEST: Final = 200


class BoardLock:
    """Held as long as a board runs; the kernel lets go of it however the board ends."""

    def __init__(self, directory: Path) -> None:
        """Take it.

        Raises:
            StorageError: another board has it, or the file cannot be written.
        """
        path = directory / FILE_NAME
        try:
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            hand_over(path)
        except OSError as error:
            raise StorageError(f"{path} cannot be written: {error.strerror}") from None
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            other = next(iter(_lines(self._handle)), "")
            os.close(self._handle)
            raise StorageError(
                f"another board{f' (process {other})' if other.isdecimal() else ''} uses the state directory "
                f"{directory}; stop it, or name another directory with --state-dir",
                code="storage-shared",
            ) from None
        # The files that the last board used here, if it said so.
        self.files_before = _lines(self._handle)[1:]
        self.note()

    def note(self, *files: str) -> None:
        """Tell others, and the next board, which files this one uses, whatever has their names later."""
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, "".join(f"{line}\n" for line in (os.getpid(), *files)).encode(), 0)

    def release(self) -> None:
        """Let the next board have it."""
        os.close(self._handle)


class Holder(NamedTuple):
    """The board that uses a state directory just now."""

    # Which file it uses; None: it has not opened it yet.
    identity: str | None


def holder_of(directory: Path) -> Holder | None:
    """The board that uses this state directory just now; None: none does."""
    try:
        handle = os.open(directory / FILE_NAME, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return Holder(next(iter(_lines(handle)[1:]), None))
    finally:
        os.close(handle)
    return None


def _lines(handle: int) -> list[str]:
    return os.pread(handle, _LONGEST, 0).decode("ascii", "replace").split()
