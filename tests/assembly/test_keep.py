"""A part that fails is started again, and it is seen that it failed."""

import asyncio
import contextlib

import pytest

from gpuboard.assembly.keep import WELL_AFTER_SECONDS, Keeper
from tests.clock import Clock


class Fragile:
    """A part that fails the first few times."""

    def __init__(self, failures: int) -> None:
        self.starts = 0
        self.well = asyncio.Event()
        self._failures = failures

    async def run(self) -> None:
        """Fail, or run for ever."""
        self.starts += 1
        if self.starts <= self._failures:
            raise RuntimeError("token=hunter2")
        self.well.set()
        await asyncio.Event().wait()


async def keep(part: Fragile, clock: Clock) -> Keeper:
    """Keep a part until it runs well."""
    keeper = Keeper("part", part.run, pause=0.001, clock=clock)
    task = asyncio.create_task(keeper.run())
    async with asyncio.timeout(60):
        await part.well.wait()
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    return keeper


async def test_a_part_that_never_failed_is_in_no_trouble() -> None:
    """However young it is."""
    assert (await keep(Fragile(0), Clock(now=1.0))).trouble() is None


async def test_a_part_that_fails_is_started_again_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    """The log has the details; everybody else hears only what kind of mistake it was."""
    part = Fragile(2)
    trouble = (await keep(part, Clock())).trouble()
    assert part.starts == 3
    assert trouble is not None
    assert "RuntimeError" in trouble.text
    assert "hunter2" not in trouble.text
    assert "hunter2" in caplog.text


async def test_a_part_that_runs_for_a_while_is_well_again() -> None:
    """Not at once: one that fails every second would seem well most of the time."""
    clock = Clock()
    keeper = await keep(Fragile(1), clock)
    clock.now += WELL_AFTER_SECONDS - 1
    before = keeper.trouble()
    clock.now += 1
    assert (before is None, keeper.trouble()) == (False, None)
