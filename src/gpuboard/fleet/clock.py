"""The board's own clock: Unix time that jumps only where it is told to follow this machine's clock."""

import time
from collections.abc import Callable
from typing import Final, Protocol

from gpuboard.outside.boot_clock import boot_seconds

# From so much on this machine's clock was set. Less is made up for little by little, and nobody is told.
STEP_SECONDS: Final = 1.0
# By so much of the time that passes: the board's clock goes slower or faster then, and never back.
_SLEW: Final = 0.1


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> float:
        """Unix seconds; never goes back, never jumps, but by a step that everybody is told of."""


class SteadyClock:
    """Wall time, carried on by the clock that no administrator can set.

    Ages and time-outs stay right when the wall clock is stepped under a running board: the step is found by
    whoever asks for it, and all moments that are remembered can be moved along in one go.
    """

    def __init__(
        self, *, wall: Callable[[], float] = time.time, boot: Callable[[], float] = boot_seconds
    ) -> None:
        self._wall = wall
        self._boot = boot
        self._looked_at = boot()
        self._offset = wall() - self._looked_at

    def now(self) -> float:
        """Unix seconds; never goes back, never jumps, but by what `follow` returns."""
        return self._offset + self._boot()

    def follow(self) -> float:
        """Take up the time of the wall clock; by how many seconds that was set since the last look, mostly 0.

        Whoever remembers moments adds these to them, so that all are as long ago as before.
        """
        earliest, wall, latest = self.now(), self._wall(), self.now()
        # Between the two looks at ours this process may have had to wait: within, nothing is known.
        apart = wall - min(max(wall, earliest), latest)
        looked_at, self._looked_at = self._looked_at, latest - self._offset
        if abs(apart) >= STEP_SECONDS:
            self._offset += apart
            return apart
        most = _SLEW * (self._looked_at - looked_at)
        self._offset += min(max(apart, -most), most)
        return 0.0
