"""The board's own clock: Unix time that never jumps."""

import time
from typing import Protocol


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> float:
        """Unix seconds; never goes back, never jumps."""


class SteadyClock:
    """Wall time at the start, carried on by the clock that no administrator can set.

    Ages and time-outs stay right when NTP steps the wall clock under a running board.
    """

    def __init__(self) -> None:
        self._offset = time.time() - _boot_seconds()

    def now(self) -> float:
        """Unix seconds; never goes back, never jumps."""
        return self._offset + _boot_seconds()


def _boot_seconds() -> float:
    # CLOCK_BOOTTIME goes on while a laptop sleeps; not every system has it.
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime(clock)
