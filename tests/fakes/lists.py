"""A listener for discoveries that remembers all it was told."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from gpuboard.discovery.base import Discovery, Target


class Lists:
    """Every list that a discovery has handed over."""

    def __init__(self) -> None:
        self.all: list[list[str]] = []
        self.targets: Sequence[Target] = ()
        self.task: asyncio.Task[None] | None = None
        self._news = asyncio.Event()

    def __call__(self, targets: Sequence[Target]) -> None:
        """Take a list."""
        self.all.append([target.node for target in targets])
        self.targets = targets
        self._news.set()

    def wake(self, _task: asyncio.Task[None]) -> None:
        """Do not wait for what will never come: the discovery has ended."""
        self._news.set()

    async def until(self, expected: list[str]) -> None:
        """Wait until the newest list is this one."""
        async with asyncio.timeout(60):
            while not self.all or self.all[-1] != expected:
                self._news.clear()
                await self._news.wait()
                if self.task is not None and self.task.done():
                    self.task.result()


@asynccontextmanager
async def following(discovery: Discovery) -> AsyncIterator[Lists]:
    """Run a discovery for the length of a test."""
    lists = Lists()
    task = lists.task = asyncio.create_task(discovery.run(lists))
    task.add_done_callback(lists.wake)
    try:
        yield lists
    finally:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
