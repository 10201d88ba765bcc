"""The board's own clock: Unix time that never jumps."""

import time
from typing import Protocol

from gpuboard.outside.boot_clock import boot_seconds


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> float:
        """Unix seconds; never goes back, never jumps."""


class SteadyClock:
    """Wall time at the start, carried on by the clock that no administrator can set.

    Ages and time-outs stay right when NTP steps the wall clock under a running board.
    """

    def __init__(self) -> None:
        self._offset = time.time() - boot_seconds()

    def now(self) -> float:
        """Unix seconds; never goes back, never jumps."""
        return self._offset + boot_seconds()
