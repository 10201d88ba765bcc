"""Where people book: asks the fleet, decides in the database, and gives the fleet its claims."""

import asyncio
import logging
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import tzinfo
from functools import partial
from typing import Final

from gpuboard.bookings.book import ALWAYS, Book, Facts, GpuFact, NodeFact
from gpuboard.bookings.choosing import Offer, choose
from gpuboard.bookings.ical import PAST_SECONDS
from gpuboard.bookings.limits import Limit, Limits, gpu_hours, limits_for, most_at_once, weeks
from gpuboard.bookings.refusals import outdated, refuse
from gpuboard.bookings.rules import Booker, Change, Decision, Request, Span, book, cancel, edit
from gpuboard.bookings.store import BookingStore, StoredBook, Written
from gpuboard.bookings.use import Use
from gpuboard.fleet.booked_numbers import unseen_numbers
from gpuboard.fleet.changes import ChangeTracker
from gpuboard.fleet.node import Node
from gpuboard.fleet.places import NOWHERE, Places
from gpuboard.fleet.state import Fleet
from gpuboard.fleet.summary import Wish
from gpuboard.model.booking import NOT_YOURS, Booking, BookingKind
from gpuboard.model.errors import StorageError
from gpuboard.model.identity import Identity
from gpuboard.model.node import is_host_name, short_name, spoken
from gpuboard.model.verdict import ENDED_CLAIM_SECONDS, Claim, GpuPlace, Reason
from gpuboard.storage.base import Run
from gpuboard.verdict.holders import is_same, people_on
from gpuboard.wire.bookings import LimitsView, LimitView, WeekView

log = logging.getLogger(__name__)

# How soon the board notices what other processes have booked.
LOOK_SECONDS: Final = 1.0
MOST_TOLD: Final = 5000
# More are not added up at once.
MOST_COUNTED: Final = 200_000


class BookingDesk:
    """Books for people, and knows what is booked."""

    def __init__(
        self,
        store: BookingStore,
        fleet: Fleet,
        tracker: ChangeTracker,
        *,
        run: Run,
        zone: tzinfo | None,
        limits: Limits,
        group_limits: Mapping[str, Limits],
    ) -> None:
        """Take the board's parts; the zone is that of its clocks, None: this machine's."""
        self._store = store
        self._fleet = fleet
        self._tracker = tracker
        self._run = run
        self.zone = zone
        self._limits = limits
        self._group_limits = group_limits
        # All that have ended after that moment, by id.
        self._known: dict[str, Booking] = {}
        self._known_since: float | None = None
        # Those of them whose bookers have not come in time.
        self._no_shows: frozenset[str] = frozenset()
        self._generation: int | None = None
        self.trouble: Reason | None = None

    # What is booked.

    def load(self) -> Callable[[], None]:
        """Read what is booked, in a thread; what that returns takes it up, on the loop."""
        since = self._fleet.clock.now() - ENDED_CLAIM_SECONDS
        generation, bookings = self._store.since(since)
        return lambda: self._learn(generation, bookings, since)

    def known(self) -> list[Booking]:
        """What is booked, and what has ended not long ago."""
        return list(self._known.values())

    def claims(self, kind: BookingKind) -> dict[GpuPlace, tuple[Claim, ...]]:
        """What the fleet is told of bookings of a kind."""
        found: dict[GpuPlace, tuple[Claim, ...]] = {}
        for one in sorted(self._known.values(), key=lambda one: (one.start, one.id)):
            if one.kind == kind and not one.never_was:
                claim = one.claim(is_no_show=one.id in self._no_shows)
                for place in one.places:
                    found[place] = (*found.get(place, ()), claim)
        return found

    def note_no_shows(self, idents: frozenset[str]) -> None:
        """Hear whose bookers have not come in time, and let the fleet know."""
        if idents != self._no_shows:
            self._no_shows = idents
            self._tell()

    async def follow(self) -> None:
        """Notice what other processes book, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                if await self._run(self._store.generation) != self._generation:
                    (await self._run(self.load))()
            except StorageError as error:
                # What is known stays booked.
                self.trouble = error.reason
            else:
                self.trouble = None

    def _learn(self, generation: int, bookings: Iterable[Booking], since: float) -> None:
        self._generation, self._known_since = generation, since
        self._known = {one.id: one for one in bookings}
        self._tell()

    def _tell(self) -> None:
        self._fleet.set_claims("block", self.claims("block"))
        self._fleet.set_claims("booking", self.claims("booking"))

    def _take(self, written: Written) -> None:
        """Take up what was decided; a change that came between is read with the next look."""
        over = self._fleet.clock.now() - ENDED_CLAIM_SECONDS
        self._known = {ident: one for ident, one in self._known.items() if one.end > over}
        if self._known_since is not None:
            self._known_since = max(self._known_since, over)
        for one in (written.decision.booking, *written.decision.displaced):
            before = self._known.get(one.id)
            if before is None or before.revision <= one.revision:
                self._known[one.id] = one
        if self._generation is not None and written.generation == self._generation + 1:
            self._generation = written.generation
        self._tell()

    # What people do.

    async def book(
        self,
        identity: Identity,
        places: Sequence[GpuPlace] | Wish,
        span: Span,
        *,
        kind: BookingKind,
        comment: str,
        who: str | None = None,
    ) -> Decision:
        """Book places, or any that fit; with `who`, as an admin does for somebody, by no policy.

        Whichever account of somebody that names, it is booked by the person.

        Raises:
            BookingRefused: it cannot be; the reason says why.
            StorageError: it cannot be written down.
        """
        by, facts = self.booker(identity), self._facts()
        if who is not None:
            if not by.is_admin:
                raise refuse(NOT_YOURS, "only admins book for somebody else")
            by = Booker(person=self._fleet.names.person(who), is_admin=True, zone=by.zone)
        offer = Offer(nodes=list(self._tracker.nodes.values()), gpus=list(self._tracker.gpus.values()))
        named = () if isinstance(places, Wish) else tuple(self._own_name(place) for place in places)

        def decide(on: Book, now: float) -> Decision:
            chosen = named
            notes: tuple[Reason, ...] = ()
            if isinstance(places, Wish):
                real = Span(start=max(span.start, float(int(now))), end=span.end)
                chosen, why = choose(on, places, real, offer=offer, facts=facts, now=now, zone=self.zone)
                notes = (why,)
            request = Request(places=chosen, span=span, kind=kind, comment=comment)
            made = book(on, request, by=by, facts=facts, now=now, make_id=_make_id)
            return Decision(booking=made.booking, displaced=made.displaced, notes=(*notes, *made.notes))

        return await self.change("block-made" if kind == "block" else "booking-made", decide, identity)

    async def edit(
        self,
        identity: Identity,
        ident: str,
        change: Change,
        *,
        later: float | None,
        revision: int | None = None,
    ) -> Decision:
        """Change a booking; `later` moves its end from where it is, `revision` is what was seen of it.

        Raises:
            BookingRefused: it cannot be; the reason says why.
            StorageError: it cannot be written down.
        """
        by, facts = self.booker(identity), self._facts()
        places = None if change.places is None else tuple(self._own_name(place) for place in change.places)

        def decide(on: StoredBook, now: float) -> Decision:
            before = _found(on, ident)
            if revision is not None and before.revision != revision:
                raise outdated(before, self.zone)
            end = before.end + later if later is not None else change.end
            wanted = Change(places=places, start=change.start, end=end, comment=change.comment)
            return edit(on, before, wanted, by=by, facts=facts, now=now)

        return await self.change("booking-changed", decide, identity)

    async def cancel(self, identity: Identity, ident: str) -> Decision:
        """Cancel a booking.

        Raises:
            BookingRefused: it is somebody else's, over, or there is none.
            StorageError: it cannot be written down.
        """
        by = self.booker(identity)
        return await self.change(
            "booking-cancelled", lambda on, now: cancel(_found(on, ident), by=by, now=now), identity
        )

    async def window(
        self, start: float, end: float, *, who: str | None = None, node: str | None = None
    ) -> list[Booking]:
        """The bookings of a span, one more than are told if there are so many."""
        if await self._knows_all(start):
            found = [one for one in self._known.values() if one.end >= start and one.start < end]
            if who is not None:
                found = [one for one in found if is_same(one.who, who)]
            if node is not None:
                found = [one for one in found if any(place[0] == node for place in one.places)]
            return sorted(found, key=lambda one: (one.start, one.id))[: MOST_TOLD + 1]
        look = partial(self._store.window, start, end, who=who, node=node, limit=MOST_TOLD + 1)
        return await self._run(look)

    async def _knows_all(self, since: float) -> bool:
        """Whether all that was booked since a moment is in memory as it is written, whoever wrote it."""
        if self._known_since is None or since <= self._known_since:
            return False
        return bool(await self._run(self._store.generation) == self._generation)

    async def own_calendar(self, person: str) -> list[Booking]:
        """The bookings of a person for a calendar: what comes, and what has been not long ago."""
        since = self._fleet.clock.now() - PAST_SECONDS
        return [one for one in await self.window(since, ALWAYS, who=person) if one.kind == "booking"]

    async def find(self, ident: str) -> Booking | None:
        """The booking of this id."""
        return await self._run(partial(self._store.find, ident))

    async def uses(self, idents: Sequence[str]) -> dict[str, Use]:
        """How bookings were used, up to a minute ago."""
        return await self._run(partial(self._store.uses, idents))

    async def counted(self, start: float, end: float) -> list[tuple[Booking, Use]]:
        """The bookings of a span, and how each was used, up to a minute ago."""

        def look() -> list[tuple[Booking, Use]]:
            found = self._store.window(start, end, limit=MOST_COUNTED)
            uses = self._store.uses([one.id for one in found])
            return [(one, uses.get(one.id, Use())) for one in found]

        return await self._run(look)

    async def limits(self, identity: Identity, span: Span, *, without: str | None = None) -> LimitsView:
        """How much somebody may book, and what is left of it in a span and the weeks that it touches.

        What is to change is left out: it does not take what is left from itself.
        """
        touched = list(weeks(span.start, span.end, self.zone))
        start, end = touched[0][0], touched[-1][1]
        look = partial(self._store.window, start, end, who=identity.person, limit=MOST_TOLD)
        mine = [one for one in await self._run(look) if one.kind == "booking" and one.id != without]
        limits = self.booker(identity).limits
        hours = [gpu_hours(mine, *week) for week in touched]
        used = {
            "gpus_at_once": most_at_once(mine, span.start, span.end),
            "hours_per_week": max(hours),
        }
        most = limits["hours_per_week"].most if "hours_per_week" in limits else None
        return LimitsView(
            limits=tuple(_limit_view(policy, limit, used.get(policy)) for policy, limit in limits.items()),
            week_start=start,
            week_end=end,
            weeks=tuple(
                WeekView(start=week[0], end=week[1], left=None if most is None else max(0.0, most - has))
                for week, has in zip(touched, hours, strict=True)
            ),
        )

    def booker(self, identity: Identity) -> Booker:
        """Who asks, as the rules see it."""
        return Booker(
            person=identity.person or "",
            is_admin=identity.has("admin") and "admin" in identity.scopes,
            through=identity.through,
            limits=limits_for(self._limits, self._group_limits, identity.groups),
            zone=self.zone,
        )

    async def change(
        self, what: str, decide: Callable[[StoredBook, float], Decision], identity: Identity | None
    ) -> Decision:
        """Let something be decided and written down, and take it up; without an identity, by the board.

        Raises:
            BookingRefused: it cannot be; the reason says why.
            StorageError: it cannot be written down.
        """
        written = await self._run(partial(self._store.change, what, decide, identity), is_write=True)
        self._take(written)
        return written.decision

    # What the fleet knows.

    def _own_name(self, place: GpuPlace) -> GpuPlace:
        """A place by its node's own name, however people call that, with its domain or without.

        That there is no such node the rules say: who had booked on one that is gone may still give back.
        """
        node = self._fleet.find(place[0]) or self._of_host(place[0])
        return place if node is None else (node.name, place[1])

    def _of_host(self, name: str) -> Node | None:
        """The one node that is meant if one of both names leaves out the domain; None: none, or several."""
        asked = spoken(name)
        same = [
            node
            for node in self._fleet
            if short_name(node.name) == short_name(asked) and ("." in node.name) != ("." in asked)
        ]
        return same[0] if len(same) == 1 and is_host_name(asked) else None

    def _facts(self) -> Facts:
        places = self._fleet.places()
        return {node.name: self._fact(node, places.get(node.name, NOWHERE)) for node in self._fleet}

    def _fact(self, node: Node, places: Places) -> NodeFact:
        seen = node.seen
        gpus: dict[int, GpuFact] = {}
        cards = {gpu.uuid: gpu.index for gpu in seen.gpus if gpu.mig_parent_uuid is None} if seen else {}
        for gpu, memory in zip(seen.gpus, seen.remembered, strict=True) if seen else ():
            number = cards.get(gpu.mig_parent_uuid or gpu.uuid)
            if number is None:
                continue
            before = gpus.get(number)
            word = memory.verdict.word if memory.verdict else "unknown"
            # What is on an instance is on its card.
            gpus[number] = GpuFact(
                word=before.word if before and before.word in ("stale", "broken") else word,
                people=(*(before.people if before else ()), *people_on(memory.people)),
            )
        return NodeFact(
            gpus=gpus, unseen=unseen_numbers(node, places), claims=self._fleet.claims_elsewhere(node)
        )


def _found(on: StoredBook, ident: str) -> Booking:
    found = on.find(ident)
    if found is None:
        raise refuse("booking-unknown", "there is no such booking")
    return found


def _limit_view(policy: str, limit: Limit, used: float | None) -> LimitView:
    left = None if used is None else max(0.0, limit.most - used)
    return LimitView(policy=policy, most=limit.most, left=left, group=limit.group)  # type: ignore[arg-type] # one of those


def _make_id() -> str:
    return secrets.token_hex(5)
