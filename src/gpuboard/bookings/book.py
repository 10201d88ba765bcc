"""The book as the rules read it, and what the fleet knows of places. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Protocol

from msgspec import Struct

from gpuboard.model.booking import Booking, is_on
from gpuboard.model.verdict import NO_NUMBER, WHOLE_NODE, Claim, GpuPlace, VerdictWord

ALWAYS: Final = float("inf")


class Book(Protocol):
    """All bookings, as of one moment."""

    def overlapping(self, nodes: Sequence[str], start: float, end: float) -> Sequence[Booking]:
        """Those on these nodes that have something of the span."""

    def of_person(self, who: str, start: float, end: float) -> Sequence[Booking]:
        """Those of a person that have something of the span; case says nothing."""


class MemoryBook:
    """A book of a list."""

    def __init__(self, bookings: Iterable[Booking] = ()) -> None:
        self._bookings = tuple(bookings)

    def overlapping(self, nodes: Sequence[str], start: float, end: float) -> list[Booking]:
        """Those on these nodes that have something of the span."""
        return [
            one
            for one in self._bookings
            if one.start < end and one.end > start and not one.never_was and _touches(one, nodes)
        ]

    def of_person(self, who: str, start: float, end: float) -> list[Booking]:
        """Those of a person that have something of the span."""
        return [
            one
            for one in self._bookings
            if one.who.casefold() == who.casefold()
            and one.start < end
            and one.end > start
            and not one.never_was
        ]


def _touches(booking: Booking, nodes: Sequence[str]) -> bool:
    return any(node in nodes for node, _ in booking.places)


class GpuFact(Struct, frozen=True, kw_only=True):
    """What is known of one GPU now."""

    word: VerdictWord
    # The people who are on it; nobody's processes and those of the system are not among them.
    people: tuple[str, ...] = ()


class NodeFact(Struct, frozen=True, kw_only=True):
    """What is known of one node now."""

    gpus: Mapping[int, GpuFact] = {}
    # The numbers of GPUs that it is known to have and does not show now.
    unseen: frozenset[int] = frozenset()
    # What others claim there, by number: leases, and what stands in a file of another board.
    claims: Mapping[int, tuple[Claim, ...]] = {}

    @property
    def numbers(self) -> frozenset[int]:
        """The numbers of all GPUs that it is known to have."""
        return self.unseen.union(self.gpus)


Facts = Mapping[str, NodeFact]


class Hold(Struct, frozen=True, kw_only=True):
    """Somebody's hold on a place for a span, whatever it comes from."""

    place: GpuPlace
    who: str
    kind: str
    start: float
    # ALWAYS: without end.
    end: float
    booking: Booking | None = None
    # Its number cannot be read: it may be of any GPU of the node.
    is_vague: bool = False


def holds_of(booking: Booking) -> list[Hold]:
    """What a booking holds."""
    return [
        Hold(
            place=place,
            who=booking.who,
            kind=booking.kind,
            start=booking.start,
            end=booking.end,
            booking=booking,
        )
        for place in booking.places
    ]


def claimed_by_others(facts: Facts, places: Iterable[GpuPlace]) -> list[Hold]:
    """What leases and files claim of these places; a claim of no number may be of any."""
    found = []
    for place in places:
        node, number = place
        fact = facts.get(node)
        for other, claims in (fact.claims if fact else {}).items():
            if number in (other, WHOLE_NODE) or other in (NO_NUMBER, WHOLE_NODE):
                found += [
                    Hold(
                        place=(node, other if other >= 0 else number),
                        who=claim.who,
                        kind="comments-json" if claim.is_unverified else "claim",
                        start=claim.start or 0.0,
                        end=ALWAYS if claim.until is None else claim.until,
                        is_vague=other == NO_NUMBER,
                    )
                    for claim in claims
                ]
    return found


def holds_on(book: Book, facts: Facts, places: Sequence[GpuPlace], start: float, end: float) -> list[Hold]:
    """Everything that anybody has of these places in a span, the first first."""
    nodes = sorted({node for node, _ in places})
    booked = [hold for one in book.overlapping(nodes, start, end) for hold in holds_of(one)]
    found = [hold for hold in booked if any(is_on(hold.place, place) for place in places)]
    found += [hold for hold in claimed_by_others(facts, places) if hold.start < end and hold.end > start]
    return sorted(found, key=lambda hold: (hold.start, hold.place))


def gaps(holds: Iterable[Hold], start: float) -> Iterator[tuple[float, float]]:
    """From when to when nobody holds any of it, from a moment on."""
    at = start
    for hold in sorted(holds, key=lambda hold: hold.start):
        if hold.start > at:
            yield at, hold.start
        at = max(at, hold.end)
    if at < ALWAYS:
        yield at, ALWAYS


def next_gap(holds: Iterable[Hold], start: float, seconds: float) -> float | None:
    """The first moment from which nobody holds any of it for so long; None: somebody has it without end."""
    return next((first for first, last in gaps(holds, start) if last >= first + seconds), None)
