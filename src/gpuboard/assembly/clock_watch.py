"""Sees when somebody sets the clock of the board's machine: NTP after a start, or by hand."""

import logging
from collections.abc import Callable

from gpuboard.fleet.clock import SteadyClock
from gpuboard.model.units import format_duration

log = logging.getLogger(__name__)


class ClockWatch:
    """Lets the board's clock follow the machine's, and says by how much that was set."""

    def __init__(self, clock: SteadyClock, shift: Callable[[float], None]) -> None:
        """Watch a clock for whoever moves along what is remembered."""
        self._clock = clock
        self._shift = shift

    def look(self) -> None:
        """Look once, with every tick."""
        seconds = self._clock.follow()
        if seconds:
            way = "forward" if seconds > 0 else "back"
            by = format_duration(round(abs(seconds)))
            log.warning("clock set: the clock of this machine was set %s by %s; the board follows", way, by)
            self._shift(seconds)
