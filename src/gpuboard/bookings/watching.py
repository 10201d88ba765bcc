"""Watches what is booked: counts seconds, and tells of no-shows, trespass and overruns."""

import asyncio
import logging
import time
from collections.abc import Callable
from functools import partial
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from gpuboard.bookings.desk import BookingDesk
from gpuboard.bookings.rules import Decision, release
from gpuboard.bookings.store import BookingStore, StoredBook
from gpuboard.bookings.use import (
    EventKind,
    Sight,
    Use,
    count,
    is_no_show,
    is_still_there,
    strangers,
)
from gpuboard.fleet.state import Fleet
from gpuboard.model.booking import Booking
from gpuboard.model.errors import BookingRefused, StorageError
from gpuboard.model.verdict import WHOLE_NODE, GpuPlace, Reason
from gpuboard.storage.base import Run
from gpuboard.verdict.holders import is_somebody, people_on

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 1.0
WRITE_SECONDS: Final = 60.0
# After a longer pause of the board nobody knows what was in between.
LONGEST_STEP: Final = 10.0
# From so long after its end until so long a booking is looked at for who has stayed: to leave takes a moment.
GRACE_SECONDS: Final = 60.0
OVERRUN_SECONDS: Final = 3600.0
# Of one booking no more is told: names are what nodes say, and a node can say ever new ones.
MOST_TOLD: Final = 50

OnNoShow = Literal["warn", "release", "nothing"]


class BookingEvent(Struct, frozen=True, kw_only=True):
    """Something that is not as booked."""

    event: EventKind
    at: float
    booking: Booking
    # Who is there whose booking it is not.
    people: tuple[str, ...] = ()


class BookingWatch:
    """Compares what is booked with what the nodes say, every second."""

    def __init__(
        self,
        desk: BookingDesk,
        store: BookingStore,
        fleet: Fleet,
        *,
        run: Run,
        no_show_after: float,
        on_no_show: OnNoShow,
        tell: Callable[[BookingEvent], None],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take what to do when a booker does not come, and whom to tell of all that is not as booked."""
        self._desk = desk
        self._store = store
        self._fleet = fleet
        self._run = run
        self._no_show_after = no_show_after
        self._on_no_show = on_no_show
        self._tell = tell
        self._monotonic = monotonic
        self._looked_at = monotonic()
        self._written_at = monotonic()
        # Of bookings that run, or did just now, by id.
        self._uses: dict[str, Use] = {}
        # What was told of each: once is enough, also after a restart.
        self._told: dict[str, set[str]] = {}
        # Those of which more was told than is written down.
        self._newly_told: set[str] = set()
        self.trouble: Reason | None = None

    def use_of(self, ident: str) -> Use | None:
        """How a booking that runs was used so far."""
        return self._uses.get(ident)

    def is_no_show(self, use: Use) -> bool:
        """Whether the booker has not come in time, where that matters here."""
        return self._on_no_show != "nothing" and is_no_show(use, self._no_show_after)

    def given_back_at(self, use: Use, now: float) -> float | None:
        """When a booking that runs ends if its booker does not come; None: it does not end by that."""
        if self._on_no_show != "release" or use.came_at is not None:
            return None
        return now + max(0.0, self._no_show_after - use.absent_seconds)

    async def follow(self) -> None:
        """Watch until cancelled."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self.look()
            except StorageError as error:
                # What was counted stays counted, and is written with the next look.
                self.trouble = error.reason
            else:
                self.trouble = None

    async def look(self) -> None:
        """See what is on everything that is booked now.

        Raises:
            StorageError: something cannot be read or written; what was counted stays.
        """
        now, moment = self._fleet.clock.now(), self._monotonic()
        passed, self._looked_at = moment - self._looked_at, moment
        step = min(passed, LONGEST_STEP)
        known = [one for one in self._desk.known() if one.kind == "booking" and not one.never_was]
        running = [one for one in known if one.start <= now < one.end]
        staying = [one for one in known if one.end + GRACE_SECONDS <= now < one.end + OVERRUN_SECONDS]
        await self._recall_told([one.id for one in (*running, *staying)])
        new = await self._recall([one.id for one in running])
        for one in running:
            missed = (
                _missed(one, self._uses.get(one.id, Use()), now, step) if one.id in new else passed - step
            )
            await self._watch(one, now, step, missed)
        late = frozenset(one.id for one in running if self.is_no_show(self._uses[one.id]))
        self._desk.note_no_shows(late)
        for one in staying:
            if is_still_there(one, self._sights(one)):
                self._tell_once("overrun", one, now)
        await self._write_told()
        await self._write({one.id for one in running}, moment)

    async def _recall(self, idents: list[str]) -> list[str]:
        """Read what is known of those that are new to this watch, and say which these are."""
        new = [ident for ident in idents if ident not in self._uses]
        if new:
            self._uses.update(await self._run(partial(self._store.uses, new)))
        return new

    async def _recall_told(self, idents: list[str]) -> None:
        new = [ident for ident in idents if ident not in self._told]
        if new:
            told = await self._run(partial(self._store.told, new))
            self._told.update({ident: told.get(ident, set()) for ident in new})

    async def _write_told(self) -> None:
        told = {ident: self._told[ident] for ident in self._newly_told}
        if told:
            await self._run(partial(self._store.note_told, told), is_write=True)
        self._newly_told.clear()

    async def _watch(self, booking: Booking, now: float, step: float, missed: float) -> None:
        sights = self._sights(booking)
        before = self._uses.get(booking.id, Use())
        if missed:
            unseen = before.unobserved_seconds + missed * booking.gpus
            before = replace(before, unobserved_seconds=unseen)
        use = self._uses[booking.id] = count(before, booking.who, sights, now=now, seconds=step)
        for name in strangers(booking, sights):
            self._tell_once("trespass", booking, now, name)
        if self.is_no_show(use):
            self._tell_once("no_show", booking, now)
            if self._on_no_show == "release":
                await self._release(booking, now)

    async def _release(self, booking: Booking, now: float) -> None:
        def decide(on: StoredBook, at: float) -> Decision:
            found = on.find(booking.id)
            if found is None or found.revision != booking.revision:
                raise BookingRefused(Reason(code="booking-over", text="it has changed meanwhile"))
            return Decision(booking=release(found, at))

        try:
            released = await self._desk.change("booking-released", decide, None)
        except BookingRefused:
            return
        log.info("booking released: id=%s who=%s", booking.id, booking.who)
        self._tell(BookingEvent(event="released", at=now, booking=released.booking))

    def _tell_once(self, event: EventKind, booking: Booking, now: float, name: str = "") -> None:
        told = self._told[booking.id]
        if f"{event} {name}" in told or len(told) >= MOST_TOLD:
            return
        told.add(f"{event} {name}")
        self._newly_told.add(booking.id)
        people = (name,) if name else ()
        self._tell(BookingEvent(event=event, at=now, booking=booking, people=people))

    async def _write(self, running: set[str], moment: float) -> None:
        ended = self._uses.keys() - running
        if not ended and moment - self._written_at < WRITE_SECONDS:
            return
        if self._uses:
            await self._run(partial(self._store.note_uses, dict(self._uses)), is_write=True)
        self._written_at = moment
        for ident in ended:
            del self._uses[ident]
        kept = {one.id for one in self._desk.known()}
        self._told = {ident: told for ident, told in self._told.items() if ident in kept}

    def _sights(self, booking: Booking) -> list[Sight | None]:
        return [sight for place in booking.places for sight in self._seen_at(place)]

    def _seen_at(self, place: GpuPlace) -> list[Sight | None]:
        """What is on a place now: one sight a GPU, those of a whole node each."""
        node = self._fleet.get(place[0])
        if node is None or node.seen is None or node.freshness.state != "live":
            return [None]
        seen = node.seen
        cards = {gpu.uuid: gpu.index for gpu in seen.gpus if gpu.mig_parent_uuid is None}
        by_number: dict[int, Sight | None] = {}
        for gpu, memory in zip(seen.gpus, seen.remembered, strict=True):
            number = cards.get(gpu.mig_parent_uuid or gpu.uuid)
            if number is None or place[1] not in (number, WHOLE_NODE):
                continue
            if gpu.processes is None:
                by_number[number] = None
                continue
            before = by_number.get(number, Sight(people=()))
            if before is None:
                continue
            on_it = memory.people or ()
            by_number[number] = Sight(
                people=(*before.people, *people_on(on_it)),
                has_nobody=before.has_nobody or any(one.is_on and not is_somebody(one) for one in on_it),
                claim=memory.claim,
            )
        return list(by_number.values()) or [None]


def _missed(booking: Booking, use: Use, now: float, step: float) -> float:
    """Seconds of a booking of which nobody has counted anything: the board did not run."""
    counted = use.used_seconds + use.others_seconds + use.unused_seconds + use.unobserved_seconds
    missed = now - booking.start - counted / max(1, booking.gpus) - step
    # A look comes a moment after what it looks at.
    return missed if missed > 2 * LOOK_SECONDS else 0.0
