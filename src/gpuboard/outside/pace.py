"""A steady rate with some room for bursts. Pure: the caller brings the clock."""


class RateBucket:
    """A steady rate with some room for bursts."""

    __slots__ = ("_burst", "_credit", "_per_second", "_seen_at")

    def __init__(self, *, per_second: float, burst: float, now: float) -> None:
        self._per_second = per_second
        self._burst = burst
        self._credit = burst
        self._seen_at = now

    def delay(self, now: float, cost: float = 1.0) -> float:
        """Count one event, or several; how long to wait before the next is welcome."""
        credit = self._credit + (now - self._seen_at) * self._per_second
        room = credit if credit < self._burst else self._burst  # noqa: FURB136 - asked twice for every report
        self._credit = credit = room - cost
        self._seen_at = now
        return 0.0 if credit >= 0.0 else -credit / self._per_second

    def take(self, now: float) -> bool:
        """Count one event if it is within the rate; one that is not costs nothing."""
        self._credit = min(self._burst, self._credit + (now - self._seen_at) * self._per_second)
        self._seen_at = now
        if self._credit < 1.0:
            return False
        self._credit -= 1.0
        return True
