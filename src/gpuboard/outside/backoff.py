"""How long to wait after failures: longer each time, never at the same moment as everybody else."""

import random
from collections.abc import Callable


class Backoff:
    """Counts failures and says how long to wait before the next try."""

    def __init__(self, first: float, *, limit: float, chance: Callable[[], float] = random.random) -> None:
        self._first = first
        self._limit = max(first, limit)
        self._chance = chance
        self._failures = 0

    def failed(self) -> float:
        """Count one more failure; return the seconds to wait, between half and all of a doubling span."""
        # Doubling forever would overflow; 32 doublings are beyond any limit.
        span = min(self._limit, self._first * 2.0 ** min(self._failures, 32))
        self._failures += 1
        return span * (0.5 + 0.5 * self._chance())

    def succeeded(self) -> None:
        """Forget all failures."""
        self._failures = 0
