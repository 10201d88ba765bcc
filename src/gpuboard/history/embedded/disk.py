"""Room on the disk: history stops before others are harmed, and keeps some for giving room back."""

import contextlib
import os
import time
from pathlib import Path
from typing import Final

FLOOR_SHARE: Final = 0.05
FLOOR_BYTES: Final = 1024**3
BALLAST_BYTES: Final = 64 * 1024**2
# How often it is seen to that the ballast is as large as it should be, while there is room.
LOOK_SECONDS: Final = 60.0
BALLAST_NAME: Final = "history.ballast"


class Disk:
    """The file system that a file is on."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._ballast = file.with_name(BALLAST_NAME)
        self._looked_at = float("-inf")

    def is_low(self) -> bool:
        """Whether less is free than must stay free; a disk that cannot tell is not low."""
        try:
            found = os.statvfs(self._file.parent)
        except OSError:
            return False
        free, total = found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize
        floor = min(FLOOR_SHARE * total, FLOOR_BYTES)
        self._trim_ballast(free, int(floor))
        return free < floor

    def drop_ballast(self) -> None:
        """Give the ballast up: even deleting needs room."""
        with contextlib.suppress(OSError):
            self._ballast.unlink()

    def _trim_ballast(self, free: int, floor: int) -> None:
        """Keep the ballast while there is plenty of room, and give it up when others have taken all."""
        most, now = min(BALLAST_BYTES, floor // 2), time.monotonic()
        if free >= most and now < self._looked_at + LOOK_SECONDS:
            return
        self._looked_at = now
        # No larger than what is to be deleted: a history that has just begun needs next to none.
        size = min(most, _size_of(self._file))
        if free < size:
            self.drop_ballast()
        elif free > 2 * floor + size and _size_of(self._ballast) < size / 2:
            with contextlib.suppress(OSError):
                handle = os.open(self._ballast, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
                try:
                    os.posix_fallocate(handle, 0, size)
                finally:
                    os.close(handle)


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
