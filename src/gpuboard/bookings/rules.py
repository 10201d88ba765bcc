"""What may be booked, changed and cancelled, by whom: decided from the book and the facts alone. Pure."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta, tzinfo
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gpuboard.bookings.book import Book, Facts, Hold, holds_on, next_gap
from gpuboard.bookings.limits import Limit, check_limits, week_of
from gpuboard.bookings.refusals import NO_PLACE, conflict, in_use, not_yours, refuse
from gpuboard.model.booking import MOST_PLACES, NOT_YOURS, Booking, BookingKind, Outcome, is_on, place_words
from gpuboard.model.units import format_duration
from gpuboard.model.verdict import WHOLE_NODE, GpuPlace, Reason
from gpuboard.verdict.holders import is_same

# Of one person, now and later: enough for anybody, and a runaway script fills no book.
MOST_OPEN: Final = 200
# Nobody means to book further; sums with it stay dates.
FARTHEST_SECONDS: Final = 5 * 366 * 86400.0
# What begins sooner begins now, on a GPU where somebody else is: so long is a step on the page's lanes of
# time, and whom a booking finds there has had no time to hear of it before.
SOON_SECONDS: Final = 900.0
# So far a search for a gap looks.
GAP_SECONDS: Final = 366 * 86400.0


class Booker(Struct, frozen=True, kw_only=True):
    """Who asks, and what holds for whoever that is."""

    person: str
    is_admin: bool = False
    through: str | None = None
    limits: Mapping[str, Limit] = {}
    # Of the board's clocks; None: this machine's.
    zone: tzinfo | None = None


class Span(Struct, frozen=True, kw_only=True):
    """From when to when."""

    start: float
    end: float


class Request(Struct, frozen=True, kw_only=True):
    """What somebody wants to book."""

    places: tuple[GpuPlace, ...]
    span: Span
    kind: BookingKind = "booking"
    comment: str | None = None


class Change(Struct, frozen=True, kw_only=True):
    """What is to be different about a booking; None: as it was."""

    places: tuple[GpuPlace, ...] | None = None
    start: float | None = None
    end: float | None = None
    # Empty: none.
    comment: str | None = None


class Decision(Struct, frozen=True, kw_only=True):
    """What is booked from now on; only this has to be written down."""

    booking: Booking
    # Those of others that a block has cut.
    displaced: tuple[Booking, ...] = ()
    # What whoever asked should know, though it is granted.
    notes: tuple[Reason, ...] = ()


def book(
    book: Book, request: Request, *, by: Booker, facts: Facts, now: float, make_id: Callable[[], str]
) -> Decision:
    """Book places, or block them.

    Raises:
        BookingRefused: it cannot be; the reason says why.
    """
    start = max(request.span.start, float(int(now)))
    _check_span(start, request.span.end, now)
    _check_places(request.places, facts)
    wanted = Booking(
        id=make_id(),
        kind=request.kind,
        who=by.person,
        places=request.places,
        gpus=count_gpus(request.places, facts),
        start=start,
        end=request.span.end,
        comment=request.comment or None,
        created_at=now,
        through=by.through,
    )
    if request.kind == "block":
        return _block(book, wanted, by=by, facts=facts)
    notes = _check_reality(wanted, by=by, facts=facts, now=now)
    _check_unused(book, wanted, facts=facts, now=now)
    _check_free(book, wanted, facts, by.zone)
    _check_policies(book, wanted, by=by, now=now)
    return Decision(booking=wanted, notes=notes)


def edit(book: Book, before: Booking, change: Change, *, by: Booker, facts: Facts, now: float) -> Decision:
    """Change a booking: move, extend, shorten, or say something else about it.

    Raises:
        BookingRefused: it cannot be; the reason says why.
    """
    _check_owner(before, by)
    state = before.state_at(now)
    if not before.is_open_at(now):
        raise refuse("booking-over", f"this booking is over ({state}); book anew")
    start = before.start if change.start is None else max(change.start, float(int(now)))
    has_moved = change.places is not None and set(change.places) != set(before.places)
    if state == "running" and (has_moved or (change.start is not None and change.start != before.start)):
        raise refuse("booking-begun", "this booking has begun: only its end and its comment can change")
    places = before.places if change.places is None else change.places
    start = before.start if state == "running" else start
    after = replace(
        before,
        places=places,
        gpus=count_gpus(places, facts) if has_moved else before.gpus,
        start=start,
        end=before.end if change.end is None else change.end,
        comment=before.comment if change.comment is None else change.comment or None,
        revision=before.revision + 1,
    )
    if (after.places, after.start, after.end) == (before.places, before.start, before.end):
        return Decision(booking=after)
    if after.end > before.end:
        # What has got more time again was not cut.
        after = replace(after, outcome=None)
    _check_span(after.start, after.end, now)
    if has_moved:
        _check_places(after.places, facts, had=before.places)
    if _gives_back(before, after):
        # Always allowed, whatever the GPUs are like by now, and whoever has written himself down since.
        return Decision(booking=after)
    if after.kind == "block":
        return _block(book, after, by=by, facts=facts)
    notes = _check_reality(after, by=by, facts=facts, now=now) if state == "upcoming" else ()
    # By what was held for that time already nobody is asked again.
    had = () if after.start < before.start else before.places
    new = tuple(place for place in after.places if place not in had)
    _check_unused(book, replace(after, places=new), facts=facts, now=now)
    _check_free(book, after, facts, by.zone)
    # What is no more of what is counted was not too much before; nor is an admin asked for others.
    is_more = after.start < before.start or after.end > before.end or after.gpus > before.gpus
    if is_more and is_same(before.who, by.person):
        _check_policies(book, after, by=by, now=now)
    return Decision(booking=after, notes=notes)


def cancel(before: Booking, *, by: Booker, now: float) -> Decision:
    """End a booking now, or before it begins.

    Raises:
        BookingRefused: it is somebody else's, or over.
    """
    _check_owner(before, by)
    if not before.is_open_at(now):
        raise refuse("booking-over", f"this booking is over already ({before.state_at(now)})")
    return Decision(booking=ended(before, "cancelled", now))


def release(before: Booking, now: float) -> Booking:
    """A booking whose booker did not come: its end is now."""
    return ended(before, "released", now)


def ended(before: Booking, outcome: Outcome, at: float) -> Booking:
    """A booking that ends at a moment, and why."""
    # All times are whole seconds: who books what was just given back does not wait for the rest of one.
    return replace(
        before,
        end=min(before.end, max(before.start, float(int(at)))),
        outcome=outcome,
        revision=before.revision + 1,
    )


def count_gpus(places: Sequence[GpuPlace], facts: Facts) -> int:
    """How many GPUs these are now; a node that has told nothing counts as one."""
    return len(gpus_of(places, facts))


def _gives_back(before: Booking, after: Booking) -> bool:
    """Whether a change only gives back: everything that is left was held before."""
    is_inside = before.start <= after.start and after.end <= before.end
    return is_inside and all(
        place in before.places or (place[0], WHOLE_NODE) in before.places for place in after.places
    )


def _check_owner(booking: Booking, by: Booker) -> None:
    if not by.is_admin and (booking.kind == "block" or not is_same(booking.who, by.person)):
        raise not_yours(booking.who)


def _check_span(start: float, end: float, now: float) -> None:
    if end <= now:
        raise refuse("booking-past", "the end is over already; choose a later one")
    if end <= start:
        raise refuse("booking-backwards", "the end is not after the start")
    if end > now + FARTHEST_SECONDS:
        raise refuse("booking-too-far", f"the end is more than {format_duration(FARTHEST_SECONDS)} away")


def _check_places(places: Sequence[GpuPlace], facts: Facts, *, had: Sequence[GpuPlace] = ()) -> None:
    if not places:
        raise refuse("booking-nothing", "no GPU is named")
    if len(places) > MOST_PLACES:
        raise refuse(
            "booking-too-many", f"{len(places)} GPUs are named; one booking has {MOST_PLACES} at most"
        )
    for one in range(len(places)):
        if any(is_on(places[one], other) for other in places[:one]):
            raise refuse("booking-twice", f"{place_words((places[one],))} is named twice")
    for node, number in places:
        if (node, number) in had:
            continue
        fact = facts.get(node)
        if fact is None:
            raise refuse(NO_PLACE, f"there is no node {node}", node=node)
        if number != WHOLE_NODE and number not in fact.numbers:
            listed = ", ".join(map(str, sorted(fact.numbers)))
            there = f"it has {listed}" if fact.numbers else "none of its GPUs is known; book the whole node"
            raise refuse(NO_PLACE, f"{node} has no GPU {number}; {there}", node=node, gpu=number)


def _check_reality(wanted: Booking, *, by: Booker, facts: Facts, now: float) -> tuple[Reason, ...]:
    """See whether the GPUs are there and work; what is worth a word is returned, of each node once."""
    away: dict[tuple[str, str], list[GpuPlace]] = {}
    for place in gpus_of(wanted.places, facts):
        fact = facts[place[0]].gpus.get(place[1]) if place[0] in facts else None
        # A node that has told nothing is as one that has fallen silent.
        word = "stale" if fact is None else fact.word
        if word in ("stale", "broken"):
            if wanted.start < tomorrow(now, by.zone):
                raise refuse(
                    f"booking-{word}",
                    f"{place_words((place,))} is {word} now; it can be booked from tomorrow on",
                    node=place[0],
                    gpu=None if place[1] == WHOLE_NODE else place[1],
                )
            away.setdefault((place[0], word), []).append(place)
    return tuple(_away(node, word, places) for (node, word), places in away.items())


def _away(node: str, word: str, places: Sequence[GpuPlace]) -> Reason:
    # Of a node that has told nothing it is all of it.
    numbers = [number for _, number in places if number != WHOLE_NODE]
    verb = "is" if len(places) == 1 else "are"
    return Reason(
        code=f"booking-{word}-now",
        text=f"{place_words(tuple(places))} {verb} {word} now, and may still be then",
        values={"node": node, "gpus": numbers or None},
    )


def _check_unused(book: Book, wanted: Booking, *, facts: Facts, now: float) -> None:
    """See whether nobody else is on the GPUs, if it begins now or as good as now."""
    if wanted.start >= now + SOON_SECONDS:
        return
    for place in gpus_of(wanted.places, facts):
        fact = facts[place[0]].gpus.get(place[1]) if place[0] in facts else None
        # Whoever has it until then will have left, or is flagged.
        held = holds_on(book, facts, (place,), now, wanted.start)
        leaving = [wanted.who, *(hold.who for hold in held if hold.end <= wanted.start)]
        others = fact.people if fact else ()
        people = tuple(name for name in others if not any(is_same(name, who) for who in leaving))
        if people:
            raise in_use(place, people, seconds=SOON_SECONDS)


def gpus_of(places: Sequence[GpuPlace], facts: Facts) -> list[GpuPlace]:
    """The GPUs that are meant, those of whole nodes one by one: also those that are not seen now.

    A node of which no GPU is known stands for itself.
    """
    found: list[GpuPlace] = []
    for node, number in places:
        known = facts[node].numbers if number == WHOLE_NODE and node in facts else ()
        found += [(node, each) for each in sorted(known) or [number]]
    return found


def tomorrow(now: float, zone: tzinfo | None) -> float:
    """When the next day begins on the clocks of a zone."""
    today = datetime.fromtimestamp(now, zone).replace(hour=0, minute=0, second=0, microsecond=0)
    return (today + timedelta(days=1)).timestamp()


def _check_free(book: Book, wanted: Booking, facts: Facts, zone: tzinfo | None) -> None:
    holds = _others(wanted, holds_on(book, facts, wanted.places, wanted.start, wanted.end))
    if not holds:
        return
    far = _others(wanted, holds_on(book, facts, wanted.places, wanted.start, wanted.start + GAP_SECONDS))
    first = holds[0]
    raise conflict(
        first.place,
        first.who,
        None if first.end == float("inf") else first.end,
        kind=first.kind,
        is_vague=first.is_vague,
        gap=next_gap(far, wanted.start, wanted.end - wanted.start),
        asked_for=wanted.who,
        zone=zone,
    )


def _others(wanted: Booking, holds: list[Hold]) -> list[Hold]:
    return [hold for hold in holds if hold.booking is None or hold.booking.id != wanted.id]


def _check_policies(book: Book, wanted: Booking, *, by: Booker, now: float) -> None:
    first, last = week_of(wanted.start, by.zone)[0], week_of(wanted.end, by.zone)[1]
    check_limits(wanted, book.of_person(wanted.who, first, last), by.limits, now=now, zone=by.zone)
    mine = book.of_person(wanted.who, now, now + 2 * FARTHEST_SECONDS)
    if sum(one.id != wanted.id for one in mine) >= MOST_OPEN:
        raise refuse("booking-too-many-open", f"you have {MOST_OPEN} open bookings, which is the most")


def _block(book: Book, wanted: Booking, *, by: Booker, facts: Facts) -> Decision:
    if not by.is_admin:
        raise refuse(NOT_YOURS, "blocks are for admins")
    holds = _others(wanted, holds_on(book, facts, wanted.places, wanted.start, wanted.end))
    blocks = [hold for hold in holds if hold.kind == "block"]
    if blocks:
        first = blocks[0]
        raise conflict(
            first.place, first.who, first.end, kind="block", gap=None, asked_for=wanted.who, zone=by.zone
        )
    cut = {hold.booking.id: hold.booking for hold in holds if hold.booking is not None}
    displaced = tuple(ended(one, "displaced", wanted.start) for one in cut.values())
    return Decision(booking=wanted, displaced=displaced)
