"""Limits on how often somebody may try or send, and be here at once. Pure: the caller brings the clock."""

import ipaddress
from collections import Counter, OrderedDict
from typing import Final

MAX_REMEMBERED: Final = 4096
# Open pages of one address: more than a person has tabs, and far fewer than the board has room for.
MAX_OF_ONE_ADDRESS: Final = 64
# Whoever has IPv6 has this much of it.
_HOME_NETWORK_BITS: Final = 64


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


class Seldom:
    """Something that is worth saying once in a while."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._next = float("-inf")

    def is_due(self, now: float) -> bool:
        """Whether it is time to say it again."""
        if now < self._next:
            return False
        self._next = now + self._seconds
        return True


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


class Crowd:
    """Counts who is here per address, so that one cannot take the room of all."""

    def __init__(self, *, most: int = MAX_OF_ONE_ADDRESS) -> None:
        self.most = most
        self._here: Counter[str] = Counter()

    def enter(self, address: str | None) -> bool:
        """Count one more of this address; False if it has too many here. None is never too many."""
        if address is None:
            return True
        who = _who(address)
        if self._here[who] >= self.most:
            return False
        self._here[who] += 1
        return True

    def leave(self, address: str | None) -> None:
        """Count one less, who had been let in."""
        if address is None:
            return
        who = _who(address)
        self._here[who] -= 1
        if self._here[who] <= 0:
            del self._here[who]


def _who(address: str) -> str:
    """Addresses that are one customer's are counted as one."""
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(known, ipaddress.IPv4Address):
        return str(known)
    if known.ipv4_mapped is not None:
        return str(known.ipv4_mapped)
    return str(ipaddress.ip_network((int(known), _HOME_NETWORK_BITS), strict=False))
