"""Bookings in the database, on both engines."""

import threading
from collections.abc import Callable
from datetime import UTC
from itertools import count
from typing import Any

import pytest
from sqlalchemy import Connection

from gpuboard.bookings.book import GpuFact, NodeFact
from gpuboard.bookings.rules import Booker, Decision, Request, Span, book, cancel
from gpuboard.bookings.store import BookingStore, StoredBook, Written
from gpuboard.model.booking import Booking
from gpuboard.model.errors import BookingRefused
from gpuboard.model.verdict import WHOLE_NODE, GpuPlace
from gpuboard.storage.base import Database

NOW = 1_800_000_000.0
HOUR = 3600.0
FACTS = {f"gpu0{n}": NodeFact(gpus={0: GpuFact(word="free"), 1: GpuFact(word="free")}) for n in range(5)}
ATTEMPTS = 100
IDS = count()


def note(*_: object) -> None:
    """Nobody looks at the audit log here."""


@pytest.fixture
def store(database: Database) -> BookingStore:
    """An empty store of each kind, in which time stands still."""
    return BookingStore(database, note, clock=lambda: NOW)


def booking_by(
    who: str, *places: GpuPlace, start: float = NOW, hours: float = 4, kind: str = "booking"
) -> Callable[[StoredBook, float], Decision]:
    """Somebody's wish, to be decided."""
    request = Request(places=places, span=Span(start=start, end=start + hours * HOUR), kind=kind)  # type: ignore[arg-type] # a kind
    by = Booker(person=who, is_admin=kind == "block", zone=UTC)
    return lambda on, now: book(
        on, request, by=by, facts=FACTS, now=now, make_id=lambda: f"id{next(IDS):04d}"
    )


def test_what_was_booked_is_found_as_it_was(store: BookingStore) -> None:
    """By its id, in its window and by its owner, whatever the case."""
    made = store.change(
        "booking-made", booking_by("Ana", ("gpu01", 0), ("gpu02", WHOLE_NODE))
    ).decision.booking
    assert store.find(made.id) == made
    assert store.window(NOW, NOW + HOUR, limit=10) == [made]
    assert store.window(NOW, NOW + HOUR, who="ana", node="gpu02", limit=10) == [made]
    assert store.window(NOW, NOW + HOUR, node="gpu03", limit=10) == []
    assert store.window(NOW + 5 * HOUR, NOW + 6 * HOUR, limit=10) == []
    assert store.find("other") is None


def test_every_change_has_the_next_number(store: BookingStore) -> None:
    """So that whoever keeps a copy notices what others do."""
    first = store.change("booking-made", booking_by("ana", ("gpu01", 0)))
    second = store.change("booking-made", booking_by("ana", ("gpu01", 1)))
    assert (first.generation, second.generation) == (1, 2)
    generation, told = store.since(NOW)
    assert generation == store.generation() == 2
    assert {one.id for one in told} == {first.decision.booking.id, second.decision.booking.id}


def test_what_is_refused_changes_nothing(store: BookingStore) -> None:
    """Neither the book nor its number."""
    store.change("booking-made", booking_by("ana", ("gpu01", 0)))
    with pytest.raises(BookingRefused, match="booked by ana"):
        store.change("booking-made", booking_by("ben", ("gpu02", 0), ("gpu01", WHOLE_NODE)))
    assert store.generation() == 1
    assert [one.who for one in store.window(NOW, NOW + HOUR, limit=10)] == ["ana"]


def test_a_block_and_what_it_cuts_are_written_together(store: BookingStore) -> None:
    """The owner finds the booking displaced."""
    mine = store.change("booking-made", booking_by("ana", ("gpu01", 0))).decision.booking
    store.change("block-made", booking_by("admin", ("gpu01", 0), start=NOW + HOUR, kind="block"))
    found = store.find(mine.id)
    assert found is not None
    assert (found.end, found.outcome, found.revision) == (NOW + HOUR, "displaced", 1)


def test_a_cancelled_place_can_be_booked_again(store: BookingStore) -> None:
    """One that never began is in nobody's way."""
    wish = booking_by("ana", ("gpu01", 0), start=NOW + HOUR)
    mine = store.change("booking-made", wish).decision.booking

    def give_back(on: StoredBook, now: float) -> Decision:
        found = on.find(mine.id)
        assert found is not None
        return cancel(found, by=Booker(person="ana"), now=now)

    store.change("booking-cancelled", give_back)
    again = store.change("booking-made", booking_by("ben", ("gpu01", 0), start=NOW + HOUR))
    assert again.decision.booking.who == "ben"


def test_what_was_cancelled_before_it_began_is_nobodys_any_more(store: BookingStore) -> None:
    """It is no open booking, and with whoever had it nothing becomes free."""
    later = booking_by("ana", ("gpu01", 0), start=NOW + 5 * HOUR)
    made = store.change("booking-made", later).decision.booking
    by = Booker(person="ana")
    store.change("booking-cancelled", lambda _, now: cancel(made, by=by, now=now))
    with store.database.read() as connection:
        assert StoredBook(connection).of_person("ana", NOW, NOW + 24 * HOUR) == []
    with store.database.write() as connection:
        assert store.cancel_all(connection, "ana") == []


def test_a_deed_is_written_in_the_same_transaction(database: Database) -> None:
    """Who did what is known exactly of what was done."""

    def fail(_connection: Connection, *_: Any) -> None:  # noqa: ANN401 - whatever is noted
        raise RuntimeError("the log is full")

    store = BookingStore(database, fail, clock=lambda: NOW)
    with pytest.raises(RuntimeError):
        store.change("booking-made", booking_by("ana", ("gpu01", 0)))
    assert store.window(NOW, NOW + HOUR, limit=10) == []


def test_of_a_hundred_who_want_one_slot_at_once_exactly_one_gets_it(store: BookingStore) -> None:
    """Check and insert are one; all others hear who was faster."""
    outcomes: list[Written | BookingRefused] = []
    start = threading.Barrier(8)

    def attempt(first: int) -> None:
        start.wait()
        for number in range(first, ATTEMPTS, 8):
            try:
                outcomes.append(store.change("booking-made", booking_by(f"p{number}", ("gpu01", 0))))
            except BookingRefused as error:
                outcomes.append(error)

    threads = [threading.Thread(target=attempt, args=(first,)) for first in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == ATTEMPTS
    (winner,) = [one for one in outcomes if isinstance(one, Written)]
    kept: list[Booking] = store.window(NOW, NOW + HOUR, limit=ATTEMPTS)
    assert kept == [winner.decision.booking]
    refusals = [one for one in outcomes if isinstance(one, BookingRefused)]
    assert {one.reason.values["who"] for one in refusals} == {winner.decision.booking.who}
