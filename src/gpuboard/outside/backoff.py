"""How long to wait after failures: longer each time, never at the same moment as everybody else."""

import random
from collections.abc import Callable


class Backoff:
    """Counts failures and says how long to wait before the next try."""

    def __init__(
        self,
        first: float,
        *,
        limit: float,
        second_try: float | None = None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._first = first
        # How long to wait after one failure, where that is sooner: to learn whether it lasts.
        self._second_try = first if second_try is None else min(first, second_try)
        self._limit = max(first, limit)
        self._chance = chance
        self._failures = 0

    def failed(self) -> float:
        """Count one more failure; return the seconds to wait, between half and all of a doubling span."""
        # Doubling forever would overflow; 32 doublings are beyond any limit.
        span = min(self._limit, self._first * 2.0 ** min(self._failures, 32))
        if not self._failures:
            span = self._second_try
        self._failures += 1
        return span * (0.5 + 0.5 * self._chance())

    @property
    def is_failing(self) -> bool:
        """Whether the last try failed."""
        return self._failures > 0

    def succeeded(self) -> None:
        """Forget all failures."""
        self._failures = 0
