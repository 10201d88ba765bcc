"""A part of the board, kept running: a mistake in it must not stop the others, and must not go unseen."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Final

from gpuboard.model.verdict import Reason

log = logging.getLogger(__name__)

# A part that has run so long since its last failure is well again.
WELL_AFTER_SECONDS: Final = 60.0


class Keeper:
    """Starts a part again whenever it ends, and remembers why it did."""

    def __init__(
        self,
        name: str,
        start: Callable[[], Awaitable[None]],
        *,
        pause: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self._start = start
        self._pause = pause
        self._clock = clock
        self._failed: Reason | None = None
        self._failed_at = 0.0

    async def run(self) -> None:
        """Keep the part running until cancelled."""
        while True:
            try:
                await self._start()
                self._note("it ended by itself")
            except Exception as error:
                log.exception("part failed: part=%s", self.name)
                # Only the kind of mistake: its text may hold anything.
                self._note(f"a mistake in gpuboard ({type(error).__name__})")
            await asyncio.sleep(self._pause)

    def _note(self, what: str) -> None:
        text = f"{what}; it was started again, and the board's log says more"
        self._failed, self._failed_at = Reason(code="failed", text=text), self._clock()

    def trouble(self) -> Reason | None:
        """Why the part failed lately; None when it runs well."""
        return None if self._clock() - self._failed_at >= WELL_AFTER_SECONDS else self._failed
