"""How long to wait after failures: longer each time, never at the same moment as everybody else."""

import random
from collections.abc import Callable
from typing import Final

# One lost reply must not turn a node grey, and a dead node must not be offered for intervals: after one
# failure it is tried again as soon as this.
SECOND_TRY_SECONDS: Final = 2.0


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

    def failed(self, *, may_be_soon: bool = True) -> float:
        """Count one more failure; return the seconds to wait, between half and all of a doubling span.

        After the first that is sooner, unless even that is not worth another try at once.
        """
        # Doubling forever would overflow; 32 doublings are beyond any limit.
        span = min(self._limit, self._first * 2.0 ** min(self._failures, 32))
        if not self._failures and may_be_soon:
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
