"""Limits on how often somebody may try or send, and be here at once. Pure: the caller brings the clock."""

from collections import Counter, OrderedDict

from gpuboard.model.address import customer
from gpuboard.outside.pace import RateBucket
from gpuboard.web.limits import (
    CPU_SECONDS_BURST,
    CPU_SECONDS_PER_SECOND,
    MAX_REMEMBERED,
    MAX_VIEWERS_OF_ONE,
    MESSAGES_BURST,
    MESSAGES_PER_SECOND,
)


class NodeAllowance:
    """What one node may take of the board: messages, and the time that they cost."""

    __slots__ = ("_messages", "_time", "_took")

    def __init__(self, now: float) -> None:
        self._messages = RateBucket(per_second=MESSAGES_PER_SECOND, burst=MESSAGES_BURST, now=now)
        self._time = RateBucket(per_second=CPU_SECONDS_PER_SECOND, burst=CPU_SECONDS_BURST, now=now)
        # Of messages since the last was counted.
        self._took = 0.0

    def delay(self, now: float) -> float:
        """Count one message; how long the node should wait before the next is welcome."""
        took, self._took = self._took, 0.0
        return max(self._messages.delay(now), self._time.delay(now, took))

    def charge(self, seconds: float) -> None:
        """Count the time that its message took; it pays with the next."""
        self._took += seconds


class RateLimit:
    """A pace for each address, so that one that hurries is slowed and nobody else is."""

    def __init__(self, *, per_second: float, burst: float) -> None:
        self._per_second = per_second
        self._burst = burst
        self._paces: OrderedDict[str, RateBucket] = OrderedDict()

    def delay(self, address: str | None, now: float, cost: float = 1.0) -> float:
        """Count one event of this address, or several; how long it should wait. None is never too fast."""
        return 0.0 if address is None else self._pace(address, now).delay(now, cost)

    def admits(self, address: str, now: float) -> bool:
        """Count one event of this address if it is within the rate; those that are refused do not count.

        So nobody who hurried for long has to wait for long after.
        """
        return self._pace(address, now).take(now)

    def _pace(self, address: str, now: float) -> RateBucket:
        who = customer(address)
        pace = self._paces.pop(who, None) or RateBucket(
            per_second=self._per_second, burst=self._burst, now=now
        )
        self._paces[who] = pace
        while len(self._paces) > MAX_REMEMBERED:
            self._paces.popitem(last=False)
        return pace


class FailureLimit:
    """Counts failures per address, so that one that guesses is slowed and nobody else is."""

    def __init__(self, *, failures: int, seconds: float) -> None:
        self._failures = failures
        self._seconds = seconds
        self._paces: OrderedDict[str, RateBucket] = OrderedDict()
        self._blocked: dict[str, float] = {}

    def is_blocked(self, address: str, now: float) -> bool:
        """Whether this address has failed too often lately."""
        return self._blocked.get(customer(address), 0.0) > now

    def note_failure(self, address: str, now: float) -> None:
        """Count one failure."""
        who = customer(address)
        pace = self._paces.pop(who, None) or RateBucket(
            per_second=self._failures / self._seconds, burst=self._failures, now=now
        )
        delay = pace.delay(now)
        self._paces[who] = pace
        if delay > 0:
            self._blocked[who] = now + delay
        # Whoever has many addresses makes us forget the oldest, not run out of memory.
        while len(self._paces) > MAX_REMEMBERED:
            forgotten, _ = self._paces.popitem(last=False)
            self._blocked.pop(forgotten, None)


class AddressCount:
    """Counts who is here per address, so that one cannot take the room of all."""

    def __init__(self, *, most: int = MAX_VIEWERS_OF_ONE) -> None:
        self.most = most
        self._here: Counter[str] = Counter()

    def enter(self, address: str | None) -> bool:
        """Count one more of this address; False if it has too many here. None is never too many."""
        if address is None:
            return True
        who = customer(address)
        if self._here[who] >= self.most:
            return False
        self._here[who] += 1
        return True

    def leave(self, address: str | None) -> None:
        """Count one less, who had been let in."""
        if address is None:
            return
        who = customer(address)
        self._here[who] -= 1
        if self._here[who] <= 0:
            del self._here[who]
