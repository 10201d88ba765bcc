"""What the desk remembers of the book."""

import asyncio
from collections.abc import Callable
from datetime import UTC
from functools import partial
from typing import Any

from gpuboard.bookings.desk import BookingDesk
from gpuboard.bookings.limits import Limits
from gpuboard.bookings.rules import Span
from gpuboard.bookings.store import BookingStore
from gpuboard.fleet.changes import ChangeTracker
from gpuboard.fleet.state import Fleet
from gpuboard.model.booking import Booking
from gpuboard.model.identity import Identity
from gpuboard.model.report import NodeReport
from gpuboard.model.verdict import ENDED_CLAIM_SECONDS
from gpuboard.storage.base import Database
from tests.booking_lab import gpu
from tests.clock import HandClock

ANA = Identity(address=None, counted_as=None, tier="names", role="user", person="ana")
HOUR = 3600.0


class Asked:
    """A desk, and how often it has asked the database what is booked."""

    def __init__(self, database: Database) -> None:
        self.clock = HandClock()
        fleet = Fleet(self.clock)
        self._tracker = ChangeTracker(fleet)
        fleet.sink("push").report("a", NodeReport(node="a", interval_seconds=HOUR, gpus=(gpu(0), gpu(1))))
        self._tracker.tick()
        self.store = BookingStore(database, lambda *_: None, clock=self.clock.now)
        self.asked = 0
        self._database = database
        self.desk = BookingDesk(
            self.store, fleet, self._tracker, run=self._run, zone=UTC, limits=Limits(), group_limits={}
        )

    async def _run(self, call: Callable[[], Any], *, is_write: bool = False) -> Any:  # noqa: ANN401 - whatever it gives
        self.asked += isinstance(call, partial) and call.func == self.store.window
        return await self._database.run(call, is_write=is_write)

    async def book(self, number: int) -> Booking:
        """Ana books a GPU for an hour."""
        now = float(int(self.clock.now()))
        span = Span(start=now, end=now + HOUR)
        return (await self.desk.book(ANA, [("a", number)], span, kind="booking", comment="")).booking

    async def told(self, since: float) -> list[str]:
        """What is booked since then."""
        return [one.id for one in await self.desk.window(since, self.clock.now() + HOUR)]


async def test_what_was_lately_is_told_from_memory_and_what_is_older_by_the_database(
    database: Database,
) -> None:
    """Pages ask again and again; two weeks of all nodes cost more than a commit."""
    lab = Asked(database)
    (await asyncio.to_thread(lab.desk.load))()
    booking = await lab.book(0)
    before = lab.asked
    assert await lab.told(lab.clock.now() - HOUR) == [booking.id]
    assert lab.asked == before
    lab.clock.time += ENDED_CLAIM_SECONDS + 2 * HOUR
    # With this one, the desk forgets the other.
    later = await lab.book(0)
    assert await lab.told(booking.start) == [booking.id, later.id]
    assert lab.asked == before + 1


async def test_what_is_booked_while_the_book_is_read_is_not_forgotten(database: Database) -> None:
    """Whoever has just booked and looks sees it."""
    lab = Asked(database)
    (await asyncio.to_thread(lab.desk.load))()
    learn = await asyncio.to_thread(lab.desk.load)
    booking = await lab.book(0)
    learn()
    assert await lab.told(booking.start) == [booking.id]


async def test_what_another_process_has_booked_is_told_before_it_is_noticed(database: Database) -> None:
    """As `gpuboard person remove` gives back what somebody had booked."""
    lab, other = Asked(database), Asked(database)
    (await asyncio.to_thread(lab.desk.load))()
    booking = await other.book(0)
    assert await lab.told(booking.start) == [booking.id]


async def test_before_the_book_was_read_the_database_is_asked(database: Database) -> None:
    """An empty memory is no empty book."""
    lab = Asked(database)
    assert (await lab.told(lab.clock.now()), lab.asked) == ([], 1)
