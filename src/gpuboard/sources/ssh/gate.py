"""How many logins may be under way: hosts refuse those that come in a crowd (MaxStartups)."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from typing import Final

# Below OpenSSH's default of ten, after which it refuses some.
PER_HOST: Final = 8
# A host that does not answer costs us nothing but its place in the queue; it does not keep it.
HOLD_SECONDS: Final = 1.0


class Gate:
    """Lets a limited number of logins start; one that takes long no longer counts."""

    def __init__(self, limit: int, *, per_host: int = PER_HOST) -> None:
        self._all = asyncio.Semaphore(limit)
        self._per_host = per_host
        # Of hosts at which somebody logs in just now, or waits to.
        self._hosts: dict[tuple[str, int], asyncio.Semaphore] = {}
        self._here: Counter[tuple[str, int]] = Counter()

    @contextlib.asynccontextmanager
    async def pass_through(self, host: str, port: int) -> AsyncIterator[None]:
        """Wait for a place; it is given back at the end of the block, or after a short while."""
        place = (host, port)
        own = self._hosts.setdefault(place, asyncio.Semaphore(self._per_host))
        self._here[place] += 1
        try:
            async with self._place_at(own):
                yield
        finally:
            self._here[place] -= 1
            if not self._here[place]:
                del self._here[place], self._hosts[place]

    @contextlib.asynccontextmanager
    async def _place_at(self, own: asyncio.Semaphore) -> AsyncIterator[None]:
        await own.acquire()
        try:
            await self._all.acquire()
        except BaseException:
            own.release()
            raise
        held = True

        def give_back() -> None:
            nonlocal held
            if held:
                held = False
                own.release()
                self._all.release()

        timer = asyncio.get_running_loop().call_later(HOLD_SECONDS, give_back)
        try:
            yield
        finally:
            timer.cancel()
            give_back()


class Turn:
    """One login's turn at the gate: its time-out starts when it comes, not while it waits."""

    def __init__(self, gate: Gate, deadline: asyncio.Timeout, within: float) -> None:
        self._gate = gate
        self._deadline = deadline
        self._within = within

    @contextlib.asynccontextmanager
    async def wait(self, host: str, port: int) -> AsyncIterator[None]:
        """Wait for the turn; at the end of the block it is the next one's."""
        self._deadline.reschedule(None)
        async with self._gate.pass_through(host, port):
            self._deadline.reschedule(asyncio.get_running_loop().time() + self._within)
            yield
