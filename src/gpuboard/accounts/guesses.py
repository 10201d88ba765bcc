"""How many passwords may be guessed: few per account and per address, and apart from these the owner's own.

Pure: the caller brings the clock.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final

from gpuboard.model.address import customer
from gpuboard.outside.pace import RateBucket

# Guesses of strangers at one account: ten, then ten in a quarter of an hour; that is fifty in an hour.
ACCOUNT_BURST: Final = 10.0
ACCOUNT_PER_SECOND: Final = 10 / 900
# Guesses of one address at whatever accounts.
ADDRESS_BURST: Final = 20.0
ADDRESS_PER_SECOND: Final = 20 / 900
# Of names that are no account, and of addresses, so many are remembered.
MAX_REMEMBERED: Final = 4096


class GuessLimit:
    """Counts guesses; a browser in which somebody has signed in before counts apart from all strangers."""

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._addresses = _Buckets(ADDRESS_PER_SECOND, ADDRESS_BURST)
        # Of accounts that are there; nobody makes us forget these by guessing at others.
        self._accounts = _Buckets(ACCOUNT_PER_SECOND, ACCOUNT_BURST, most=None)
        self._names = _Buckets(ACCOUNT_PER_SECOND, ACCOUNT_BURST)
        self._browsers = _Buckets(ACCOUNT_PER_SECOND, ACCOUNT_BURST)

    def wait_seconds(
        self, name: str, address: str | None, *, is_account: bool, known_browser: str | None
    ) -> float:
        """Count one guess, if it may be made now: 0; else how long to wait, and it does not count."""
        now = self._clock()
        if known_browser is not None:
            return self._browsers.take((known_browser, name), now)
        # The address first: who is refused by it must not use up what the account has left.
        wait = self._addresses.take(customer(address or "?"), now)
        return wait or (self._accounts if is_account else self._names).take(name, now)

    def keep_only(self, accounts: frozenset[str]) -> None:
        """Forget accounts that are gone."""
        self._accounts.keep_only(accounts)


class _Buckets:
    def __init__(self, per_second: float, burst: float, *, most: int | None = MAX_REMEMBERED) -> None:
        self._per_second = per_second
        self._burst = burst
        self._most = most
        self._kept: OrderedDict[Hashable, RateBucket] = OrderedDict()

    def take(self, who: Hashable, now: float) -> float:
        bucket = self._kept.pop(who, None) or RateBucket(
            per_second=self._per_second, burst=self._burst, now=now
        )
        self._kept[who] = bucket
        while self._most is not None and len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return 0.0 if bucket.take(now) else 1 / self._per_second

    def keep_only(self, those: frozenset[str]) -> None:
        for who in [each for each in self._kept if each not in those]:
            del self._kept[who]
