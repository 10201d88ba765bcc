"""The board's heartbeat: once per tick the fleet is judged, and all who follow it hear what changed."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from gpuboard.fleet.changes import ChangeTracker, Subscriber

# So many ticks are made in the time of the first.
START_TICKS: Final = 10


class Ticker:
    """Makes the ticks, and hands each change to all followers."""

    def __init__(
        self,
        tracker: ChangeTracker,
        followers: Sequence[Subscriber],
        *,
        period: float,
        first: Callable[[], None] = lambda: None,
    ) -> None:
        """Make ticks for these followers; `first` is done before each."""
        self._first = first
        self._tracker = tracker
        self._followers = followers
        self._period = period

    def tick(self) -> None:
        """One tick: every follower hears of it, also if another fails.

        Raises:
            Exception: what the first of those that failed said, after all were told.
        """
        self._first()
        change = self._tracker.tick()
        failed: Exception | None = None
        for follow in self._followers:
            try:
                follow(change)
            except Exception as error:  # noqa: BLE001 - whatever it is, the others are told too
                failed = failed or error
        if failed is not None:
            raise failed

    async def run(self) -> None:
        """Tick until cancelled."""
        loop = asyncio.get_running_loop()
        due = started = loop.time()
        while True:
            self.tick()
            # The first nodes come within moments of a start: who looks then does not wait for a whole tick.
            is_new = due - started < self._period
            # By the clock, not so long after the last: what a tick itself takes would make viewers wait more.
            due = max(due + (self._period / START_TICKS if is_new else self._period), loop.time())
            await asyncio.sleep(due - loop.time())
