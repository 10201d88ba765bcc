"""What holds of the book, the claims and the policies, whatever people and nodes do."""

from collections.abc import Coroutine
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from msgspec.structs import replace
from sqlalchemy import delete

from gpuboard.bookings.desk import MOST_TOLD, BookingDesk
from gpuboard.bookings.limits import Limits, gpu_hours, most_at_once, week_of
from gpuboard.bookings.rules import SOON_SECONDS, Change, Decision, Span, tomorrow
from gpuboard.bookings.store import BookingStore
from gpuboard.fleet.changes import ChangeTracker
from gpuboard.fleet.state import Fleet
from gpuboard.model.booking import Booking, is_on
from gpuboard.model.errors import BookingRefused
from gpuboard.model.identity import Identity
from gpuboard.model.report import NodeReport
from gpuboard.model.verdict import ENDED_CLAIM_SECONDS, WHOLE_NODE, Claim, GpuPlace
from gpuboard.storage.base import Database
from gpuboard.storage.tables import BOOKING_PLACES, BOOKINGS
from tests.booking_lab import gpu
from tests.clock import HandClock
from tests.databases import open_database

Result = TypeVar("Result")
NOW = datetime(2026, 3, 4, 12, tzinfo=UTC).timestamp()
HOUR = 3600.0
NODES = ("gpu01", "gpu02")
NUMBERS = (0, 1)
LIMITS = Limits(longest=30 * HOUR, ahead=60 * HOUR, gpus_at_once=4, hours_per_week=90)
BOSS = Identity(address=None, counted_as=None, tier="names", role="admin", person="boss")
CARDS = st.tuples(st.sampled_from(NODES), st.sampled_from(NUMBERS))
PLACES = st.lists(
    st.tuples(st.sampled_from(NODES), st.sampled_from((*NUMBERS, WHOLE_NODE))), min_size=1, max_size=2
)
# Often now, and often short: so what people want meets what others have, and is granted now and then.
HOURS = st.just(0) | st.integers(-2, 80)
LENGTHS = st.integers(1, 4) | st.integers(-1, 40)
WHO = st.sampled_from("abc")


def identity(who: str) -> Identity:
    """Somebody who has signed in."""
    return Identity(address=None, counted_as=None, tier="names", role="user", person=who)


def finished(asked: Coroutine[Any, Any, Result]) -> Result:
    """What comes of a call that waits for nothing: a loop would not let it touch the disk."""
    try:
        asked.send(None)
    except StopIteration as done:
        result: Result = done.value
        return result
    raise AssertionError("it waits for something")


def ordered(booking: Booking) -> Booking:
    """A booking whose places are in the order in which they are read."""
    return replace(booking, places=tuple(sorted(booking.places)))


class BookOfALab(RuleBasedStateMachine):
    """People book, change, cancel and use whatever they like, and admins block, while time passes."""

    def __init__(self, database: Database) -> None:
        super().__init__()
        with database.write() as connection:
            connection.execute(delete(BOOKINGS))
            connection.execute(delete(BOOKING_PLACES))
        self.clock = HandClock(NOW)
        self.fleet = Fleet(self.clock)
        self.tracker = ChangeTracker(self.fleet)
        self.store = BookingStore(database, lambda *_: None, clock=self.clock.now)
        self.desk = BookingDesk(
            self.store,
            self.fleet,
            self.tracker,
            run=self.at_once,
            zone=UTC,
            limits=LIMITS,
            group_limits={},
        )
        self.desk.load()()
        self.ids: list[str] = []
        self.users: dict[GpuPlace, str] = {}
        # The same, as the nodes have told it.
        self.told: dict[GpuPlace, str | None] = {}
        self.silent: set[str] = set()
        self.file: dict[GpuPlace, Claim] = {}
        self.look()

    @staticmethod
    async def at_once(call: Any, *, is_write: bool = False) -> Any:  # noqa: ANN401 - whatever it gives
        """Run a call of the store; nothing else goes on here."""
        del is_write
        return call()

    def look(self) -> None:
        """Let the nodes that are not silent tell who is on their GPUs."""
        for node in NODES:
            if node not in self.silent:
                gpus = tuple(gpu(number, user=self.users.get((node, number))) for number in NUMBERS)
                self.told |= {(node, number): self.users.get((node, number)) for number in NUMBERS}
                self.fleet.sink("push").report(node, NodeReport(node=node, interval_seconds=5.0, gpus=gpus))
        self.tracker.tick()

    def book(self) -> list[Booking]:
        """All that is written down."""
        return self.store.since(0.0)[1]

    def attempt(self, asked: Coroutine[Any, Any, Decision]) -> Decision | None:
        """Do what the rules allow; what they refuse changes nothing, in the book or for the fleet."""
        before = (self.store.since(0.0), self.desk.known())
        try:
            decision = finished(asked)
        except BookingRefused:
            assert (self.store.since(0.0), self.desk.known()) == before
            return None
        if decision.booking.id not in self.ids:
            self.ids.append(decision.booking.id)
        self.look()
        return decision

    def one(self, which: int) -> Booking | None:
        """One of those that were ever made."""
        return self.store.find(self.ids[which % len(self.ids)]) if self.ids else None

    @rule(who=WHO, places=PLACES, start=HOURS, hours=LENGTHS)
    def somebody_books(self, who: str, places: list[GpuPlace], start: int, hours: int) -> None:
        """Anything, from anybody; never what others are on, what is silent, or what the file says."""
        at = self.clock.time + start * HOUR
        span = Span(start=at, end=at + hours * HOUR)
        made = self.attempt(self.desk.book(identity(who), places, span, kind="booking", comment=""))
        if made is None:
            return
        booking, now = made.booking, self.clock.time
        for place in ((node, number) for node in NODES for number in NUMBERS):
            if any(is_on(place, booked) for booked in booking.places):
                assert booking.start >= now + SOON_SECONDS or self.told[place] in (who, None)
                assert booking.start >= tomorrow(now, UTC) or not self.is_stale(place[0])
                assert not self.is_in_file(place, booking)

    @rule(places=PLACES, start=HOURS, hours=st.integers(1, 40))
    def an_admin_blocks(self, places: list[GpuPlace], start: int, hours: int) -> None:
        """Over whatever is booked."""
        at = self.clock.time + start * HOUR
        span = Span(start=at, end=at + hours * HOUR)
        self.attempt(self.desk.book(BOSS, places, span, kind="block", comment=""))

    @rule(which=st.integers(0, 50), places=st.none() | PLACES, start=st.none() | HOURS, end=st.none() | HOURS)
    def one_is_changed(
        self, which: int, places: list[GpuPlace] | None, start: int | None, end: int | None
    ) -> None:
        """By its owner."""
        one = self.one(which)
        if one is None:
            return
        change = Change(
            places=None if places is None else tuple(places),
            start=None if start is None else self.clock.time + start * HOUR,
            end=None if end is None else self.clock.time + end * HOUR,
        )
        by = BOSS if one.kind == "block" else identity(one.who)
        self.attempt(self.desk.edit(by, one.id, change, later=None))

    @rule(which=st.integers(0, 50))
    def one_is_cut(self, which: int) -> None:
        """An hour less is always granted to whoever has more than that to come."""
        one = self.one(which)
        if one is None or not one.is_open_at(self.clock.time):
            return
        if one.end - max(one.start, self.clock.time) > HOUR:
            by = BOSS if one.kind == "block" else identity(one.who)
            assert self.attempt(self.desk.edit(by, one.id, Change(), later=-HOUR)) is not None

    @rule(which=st.integers(0, 50))
    def one_is_cancelled(self, which: int) -> None:
        """By its owner."""
        one = self.one(which)
        if one is not None:
            self.attempt(self.desk.cancel(BOSS if one.kind == "block" else identity(one.who), one.id))

    @rule(place=CARDS, who=st.none() | WHO)
    def somebody_comes_or_goes(self, place: GpuPlace, who: str | None) -> None:
        """With or without a booking."""
        if who is None:
            self.users.pop(place, None)
        else:
            self.users[place] = who
        self.look()

    @rule(place=CARDS, start=HOURS, hours=st.none() | st.integers(1, 40))
    def somebody_writes_into_the_file(self, place: GpuPlace, start: int, hours: int | None) -> None:
        """On another board, over whatever is booked here; later entries take the place of earlier ones."""
        at = self.clock.time + start * HOUR
        until = None if hours is None else at + hours * HOUR
        self.file = {place: Claim(who="other", start=at, until=until)}
        self.fleet.set_claims("comments-json", self.file)
        self.look()

    @rule(node=st.sampled_from(NODES))
    def a_node_falls_silent_or_comes_back(self, node: str) -> None:
        """One, or both."""
        self.silent ^= {node}
        self.look()

    @rule(hours=st.integers(1, 30))
    def time_passes(self, hours: int) -> None:
        """A while."""
        self.clock.time += hours * HOUR
        self.look()

    def is_stale(self, name: str) -> bool:
        """Whether a node has said nothing for too long."""
        node = self.fleet.get(name)
        assert node is not None
        return node.freshness.state != "live"

    def is_in_file(self, place: GpuPlace, booking: Booking) -> bool:
        """Whether the file has something of a booking's span at a place."""
        claim = self.file.get(place)
        if claim is None or claim.start is None:
            return False
        return claim.start < booking.end and (claim.until is None or claim.until > booking.start)

    @invariant()
    def nothing_overlaps(self) -> None:
        """One place has one holder at one moment."""
        real = [one for one in self.book() if not one.never_was]
        for number, one in enumerate(real):
            for other in real[:number]:
                if one.start < other.end and other.start < one.end:
                    assert not any(is_on(a, b) for a in one.places for b in other.places)

    @invariant()
    def policies_hold(self) -> None:
        """For each person, at every moment and in every week."""
        book = self.book()
        for who in "abc":
            mine = [one for one in book if one.who == who]
            assert all(one.end - one.start <= (LIMITS.longest or 0) for one in mine)
            assert most_at_once(mine, NOW, NOW + 1e9) <= (LIMITS.gpus_at_once or 0)
            for one in mine:
                assert gpu_hours(mine, *week_of(one.start, UTC)) <= (LIMITS.hours_per_week or 0) + 0.01

    @rule(
        start=st.integers(-100, 40),
        hours=LENGTHS,
        who=st.none() | WHO,
        node=st.none() | st.sampled_from(NODES),
    )
    def somebody_asks_what_is_booked(self, start: int, hours: int, who: str | None, node: str | None) -> None:
        """What is in memory is told as the database has it."""
        span = (self.clock.time + start * HOUR, self.clock.time + (start + hours) * HOUR)
        told = finished(self.desk.window(*span, who=who, node=node))
        written = self.store.window(*span, who=who, node=node, limit=MOST_TOLD)
        assert list(map(ordered, told)) == list(map(ordered, written))

    @invariant()
    def the_fleet_has_what_is_booked(self) -> None:
        """The claim on a GPU is its booking, or what stands in the file; the desk knows what is written."""
        now, book = self.clock.time, self.book()
        lately = {one.id: ordered(one) for one in book if one.end > now - ENDED_CLAIM_SECONDS}
        assert {one.id: ordered(one) for one in self.desk.known() if one.id in lately} == lately
        running = [one for one in book if one.start <= now < one.end]
        for node in self.fleet:
            for reading in node.readings():
                place = (node.name, reading.index)
                expected = [one.claim() for one in running if any(is_on(place, each) for each in one.places)]
                expected += [
                    claim for where, claim in self.file.items() if where == place and claim.holds_at(now)
                ]
                claim = self.fleet.claim_of(node, reading, now)
                found = [] if claim is None else [claim, *claim.behind]
                assert [(one.who, one.start, one.until) for one in found] == [
                    (one.who, one.start, one.until) for one in expected
                ]


def test_whatever_people_do_the_book_holds(tmp_path: Path) -> None:
    """On a real database: no overlap, every policy, and the fleet's claims are those of the book."""
    database = open_database(tmp_path)
    try:
        run_state_machine_as_test(
            partial(BookOfALab, database),  # type: ignore[arg-type] # whatever makes one
            settings=settings(max_examples=30, stateful_step_count=30, deadline=None),
        )
    finally:
        database.close()
