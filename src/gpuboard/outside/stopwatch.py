"""What work costs in time of the processor, mostly without asking the kernel for it."""

import time
from typing import Final

# Work that is over so soon by the wall clock was not interrupted for long.
_QUICK_SECONDS: Final = 0.001
# So old may be what is known of the thread's time when slow work begins.
_FRESH_SECONDS: Final = 0.02


class Stopwatch:
    """Measures pieces of work that follow each other on one thread.

    The wall clock is cheap to ask, the kernel's account of a thread is not: on some machines it takes a tenth
    of the time of a report. So only work that seems slow is looked at again: that the machine was busy with
    other things is nobody's fault.
    """

    def __init__(self) -> None:
        self._used = time.thread_time()
        self._read_at = time.perf_counter()
        # By quick work, since the kernel was asked.
        self._charged = 0.0

    def start(self) -> float:
        """Begin; hand the result to `stop`."""
        now = time.perf_counter()
        if now - self._read_at > _FRESH_SECONDS:
            self._read(now)
        return now

    def stop(self, started: float) -> float:
        """The seconds that it took of the processor, or a little more."""
        now = time.perf_counter()
        took = now - started
        if took < _QUICK_SECONDS:
            self._charged += took
            return took
        before = self._used + self._charged
        self._read(now)
        return min(took, max(0.0, self._used - before))

    def _read(self, now: float) -> None:
        self._used = time.thread_time()
        self._read_at = now
        self._charged = 0.0
