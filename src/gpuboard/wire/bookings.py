"""What the API says and hears about bookings."""

from collections.abc import Sequence
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from gpuboard.model.booking import LONGEST_COMMENT, MOST_PLACES, Booking, BookingKind, BookingState, Outcome
from gpuboard.model.identity import Tier
from gpuboard.model.report import UnixTime
from gpuboard.model.verdict import WHOLE_NODE, Claim, GpuPlace, Reason

# Unix seconds, or RFC 3339 with its offset.
Moment = float | Annotated[str, Meta(max_length=40)]
# Where the calendar feeds are, below the board's address.
FEED_PATH: Final = "api/v1/bookings.ics"
Number = Annotated[int, Meta(ge=0, le=9999)]
# The limit is of what is kept of it, and so not checked here.
Comment = Annotated[str, Meta(extra_json_schema={"maxLength": LONGEST_COMMENT})]


class BookedPlaces(Struct, frozen=True, kw_only=True):
    """GPUs of one node."""

    node: Annotated[str, Meta(min_length=1, max_length=253)]
    # Their numbers; null: the whole node, GPUs that come later included.
    gpus: Annotated[tuple[Number, ...], Meta(min_length=1, max_length=MOST_PLACES)] | None = None


class WantedPlaces(BookedPlaces, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The same from whoever books: what nobody knows is a mistake there, and in an answer news."""


class AnyGpus(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Any GPUs that fit; the board picks as `/free` would."""

    gpus: Annotated[int, Meta(ge=1, le=MOST_PLACES)] = 1
    # Size of each, as on its box, like 40G.
    memory: Annotated[str, Meta(max_length=32)] = "0"
    model: Annotated[str, Meta(max_length=64)] | None = None
    same_node: bool = False


class BookingWish(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What somebody wants to book: `places` or `any`, with an `end` or `for_seconds`."""

    places: Annotated[tuple[WantedPlaces, ...], Meta(max_length=MOST_PLACES)] = ()
    any: AnyGpus | None = None
    # Null: now.
    start: Moment | None = None
    end: Moment | None = None
    for_seconds: Annotated[float, Meta(gt=0, le=1e9)] | None = None
    comment: Comment = ""
    # `block`: for admins; cuts what others have booked.
    kind: BookingKind = "booking"
    # For admins: whose it shall be; no policy holds then. Null: of whoever asks.
    who: Annotated[str, Meta(min_length=1, max_length=64)] | None = None


class BookingChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to be different about a booking; null: as it was."""

    places: Annotated[tuple[WantedPlaces, ...], Meta(min_length=1, max_length=MOST_PLACES)] | None = None
    start: Moment | None = None
    end: Moment | None = None
    # So much later than it would end now; less than nothing: sooner.
    extend_seconds: Annotated[float, Meta(ge=-1e9, le=1e9)] | None = None
    # Empty: none.
    comment: Comment | None = None
    # As it was when it was seen: if it has changed since, it is refused. Null: however it is.
    revision: int | None = None


class UseView(Struct, frozen=True, kw_only=True):
    """How a booking was used, in seconds of all its GPUs together."""

    used_seconds: float
    others_seconds: float
    unused_seconds: float
    unobserved_seconds: float


class BookingView(Struct, frozen=True, kw_only=True):
    """One booking; whoever sees counts alone sees no id, no name and no comment."""

    id: str | None
    kind: BookingKind
    who: str | None
    places: tuple[BookedPlaces, ...]
    start: UnixTime
    end: UnixTime
    state: BookingState
    # Why it ends sooner than was agreed; it may still run until then.
    outcome: Outcome | None = None
    comment: str | None = None
    created_at: UnixTime | None = None
    # The node that vouched for whoever booked.
    through: str | None = None
    # Higher with every change.
    revision: int | None = None
    # Whether it is that of whoever asks; admins may change all, others their own.
    is_mine: bool = False
    may_change: bool = False
    # Null where it has not begun.
    use: UseView | None = None
    # It runs, and its booker has not come in time.
    no_show: bool = False
    # When it ends if its booker does not come until then; null: it does not, or somebody has come.
    given_back_at: UnixTime | None = None


class ElsewhereView(Struct, frozen=True, kw_only=True):
    """What somebody has by another book, like a comments.json: it holds, and cannot be changed here."""

    node: str
    # Null: the whole node, or one of its GPUs that is not named.
    gpu: int | None
    # Null where names are hidden.
    who: str | None
    # Null: since ever, and without end.
    start: UnixTime | None
    until: UnixTime | None
    comment: str | None
    # Anybody may have typed it, with any name.
    is_unverified: bool


class BookingList(Struct, frozen=True, kw_only=True):
    """The bookings of a span."""

    at: UnixTime
    tier: Tier
    bookings: tuple[BookingView, ...]
    # When the next day begins on the board's clocks: from then on what is stale or broken can be booked.
    tomorrow: UnixTime
    # There are more than are told.
    is_cut: bool = False
    # By node and GPU; nothing where one's own bookings are asked for.
    elsewhere: tuple[ElsewhereView, ...] = ()


class BookingAnswer(Struct, frozen=True, kw_only=True):
    """What is booked now."""

    booking: BookingView
    # What is worth a word, and why these GPUs were chosen.
    notes: tuple[Reason, ...] = ()
    # Whose bookings a block has cut.
    displaced: tuple[BookingView, ...] = ()


class LimitView(Struct, frozen=True, kw_only=True):
    """One policy as it holds for somebody."""

    policy: Literal["longest", "ahead", "gpus_at_once", "hours_per_week"]
    # Seconds, GPUs or GPU-hours.
    most: float
    # Of the GPU-hours of that week of the span that has least, or of GPUs then; null: it is not used up.
    left: float | None
    # Whose members it is for; null: it is for all.
    group: str | None


class WeekView(Struct, frozen=True, kw_only=True):
    """One week, from Monday to Monday on the board's clocks."""

    start: float
    end: float
    # GPU-hours; null: there is no limit.
    left: float | None


class LimitsView(Struct, frozen=True, kw_only=True):
    """How much whoever asks may book, and what is left in the span that was asked for."""

    limits: tuple[LimitView, ...]
    # The weeks that the span touches, all together and one by one.
    week_start: float
    week_end: float
    weeks: tuple[WeekView, ...]


class FeedView(Struct, frozen=True, kw_only=True):
    """The calendar feed of whoever asks."""

    # Null: there is none.
    created_at: UnixTime | None
    last_used_at: UnixTime | None
    # Below the board's address, with its key: told once, when it is made.
    path: str | None = None


def view_of(
    booking: Booking, now: float, *, tier: Tier, is_mine: bool = False, may_change: bool = False
) -> BookingView:
    """A booking as somebody sees it."""
    if tier != "names":
        return BookingView(
            id=None,
            kind=booking.kind,
            who=None,
            places=places_view(booking.places),
            start=booking.start,
            end=booking.end,
            state=booking.state_at(now),
        )
    return BookingView(
        id=booking.id,
        kind=booking.kind,
        who=booking.who,
        places=places_view(booking.places),
        start=booking.start,
        end=booking.end,
        state=booking.state_at(now),
        outcome=booking.outcome,
        comment=booking.comment,
        created_at=booking.created_at,
        through=booking.through,
        revision=booking.revision,
        is_mine=is_mine,
        may_change=may_change,
    )


def elsewhere_view(place: GpuPlace, claim: Claim, *, tier: Tier) -> ElsewhereView:
    """A claim of another book as somebody sees it."""
    node, number = place
    return ElsewhereView(
        node=node,
        gpu=number if number >= 0 else None,
        who=claim.who if tier == "names" else None,
        start=claim.start,
        until=claim.until,
        comment=claim.comment if tier == "names" else None,
        is_unverified=claim.is_unverified,
    )


def places_view(places: tuple[GpuPlace, ...]) -> tuple[BookedPlaces, ...]:
    """Places by node."""
    by_node: dict[str, list[int]] = {}
    for node, number in places:
        by_node.setdefault(node, []).append(number)
    return tuple(
        BookedPlaces(node=node, gpus=None if WHOLE_NODE in numbers else tuple(sorted(numbers)))
        for node, numbers in by_node.items()
    )


def places_of(told: Sequence[BookedPlaces]) -> tuple[GpuPlace, ...]:
    """Places one by one."""
    return tuple(
        (one.node, number) for one in told for number in ((WHOLE_NODE,) if one.gpus is None else one.gpus)
    )
