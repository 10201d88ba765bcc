"""Limits on how often somebody may try or send. Pure: the caller brings the clock."""

from collections import OrderedDict
from typing import Final

MAX_REMEMBERED: Final = 4096


class Pace:
    """A steady rate with some room for bursts."""

    __slots__ = ("_burst", "_credit", "_per_second", "_seen_at")

    def __init__(self, *, per_second: float, burst: float, now: float) -> None:
        self._per_second = per_second
        self._burst = burst
        self._credit = burst
        self._seen_at = now

    def delay(self, now: float) -> float:
        """Count one event; how long to wait before the next is welcome."""
        credit = self._credit + (now - self._seen_at) * self._per_second
        self._credit = min(self._burst, credit) - 1
        self._seen_at = now
        return max(0.0, -self._credit / self._per_second)


class FailureLimit:
    """Counts failures per address, so that one that guesses is slowed and nobody else is."""

    def __init__(self, *, failures: int, seconds: float) -> None:
        self._failures = failures
        self._seconds = seconds
        self._paces: OrderedDict[str, Pace] = OrderedDict()
        self._blocked: dict[str, float] = {}

    def is_blocked(self, address: str, now: float) -> bool:
        """Whether this address has failed too often lately."""
        return self._blocked.get(address, 0.0) > now

    def note_failure(self, address: str, now: float) -> None:
        """Count one failure."""
        pace = self._paces.pop(address, None) or Pace(
            per_second=self._failures / self._seconds, burst=self._failures, now=now
        )
        delay = pace.delay(now)
        self._paces[address] = pace
        if delay > 0:
            self._blocked[address] = now + delay
        # Whoever has many addresses makes us forget the oldest, not run out of memory.
        while len(self._paces) > MAX_REMEMBERED:
            forgotten, _ = self._paces.popitem(last=False)
            self._blocked.pop(forgotten, None)
