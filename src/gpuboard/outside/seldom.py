"""Words for the log that somebody outside can cause: each kind once a minute, with how often it came."""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final

SECONDS: Final = 60.0
MAX_KINDS: Final = 4096


class SeldomLog:
    """A log that nobody can fill by doing the same wrong thing again and again."""

    def __init__(
        self,
        log: logging.Logger,
        *,
        seconds: float = SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._log = log
        self._seconds = seconds
        self._clock = clock
        # When each kind was last said, and how often it came since; the oldest first.
        self._said: OrderedDict[Hashable, tuple[float, int]] = OrderedDict()

    def say(self, kind: Hashable, text: str, *values: object, level: int = logging.WARNING) -> None:
        """Write it down, or count it if the same kind was written down within its time."""
        now = self._clock()
        said_at, unsaid = self._said.get(kind, (float("-inf"), 0))
        if now - said_at < self._seconds:
            self._said[kind] = said_at, unsaid + 1
            return
        self._said[kind] = now, 0
        self._said.move_to_end(kind)
        while len(self._said) > MAX_KINDS:
            self._said.popitem(last=False)
        if unsaid:
            text, values = f"{text} (and %d more like it)", (*values, unsaid)
        self._log.log(level, text, *values)
