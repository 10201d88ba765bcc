"""The clock that nobody can set, and that goes on while the machine sleeps."""

import time
from typing import Final

# Not every system has it.
_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def boot_seconds() -> float:
    """Seconds since the start of the machine, also counting those it slept."""
    return time.clock_gettime(_CLOCK)
