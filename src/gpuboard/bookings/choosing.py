"""Any GPUs that fit, for a span: chosen by the same best fit as those that are free now. Pure."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import tzinfo
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gpuboard.bookings.book import ALWAYS, Book, Facts, Hold, gaps, holds_on
from gpuboard.bookings.refusals import NOT_ENOUGH, clock_words, refuse
from gpuboard.bookings.rules import SOON_SECONDS, Span, tomorrow
from gpuboard.fleet.summary import BOOKED_SOON_SECONDS, Wish, find_free, first_with
from gpuboard.model.booking import is_on
from gpuboard.model.errors import BookingRefused
from gpuboard.model.verdict import GpuPlace, Reason
from gpuboard.wire.summary import FreeAnswer, FreeBlock
from gpuboard.wire.views import GpuRow, NodeRow

# So far it is looked when there are enough: who plans farther ahead looks at the lanes.
EARLIEST_SECONDS: Final = 28 * 86400.0


class Offer(Struct, frozen=True, kw_only=True):
    """The fleet as whoever looks for any GPUs sees it."""

    nodes: Sequence[NodeRow]
    gpus: Sequence[GpuRow]


def choose(
    book: Book, wish: Wish, span: Span, *, offer: Offer, facts: Facts, now: float, zone: tzinfo | None
) -> tuple[tuple[GpuPlace, ...], Reason]:
    """The places that fit best and that nobody has in the span, and why these.

    Whole GPUs alone are offered: who books an instance books its card.

    Raises:
        BookingRefused: there are not enough.
    """
    midnight = tomorrow(now, zone)
    whole = [row for row in offer.gpus if row.mig_parent_uuid is None and wish.fits(row)]
    places = [(row.node, row.index) for row in whole]
    # By node: each place is compared with what is held there alone.
    by_node: dict[str, list[Hold]] = {}
    for hold in holds_on(book, facts, places, span.start, max(span.end, now + BOOKED_SOON_SECONDS)):
        by_node.setdefault(hold.place[0], []).append(hold)

    def booked_from(place: GpuPlace) -> float | None:
        return next((hold.start for hold in by_node.get(place[0], ()) if is_on(place, hold.place)), None)

    def is_left(place: GpuPlace) -> bool:
        start = booked_from(place)
        return start is None or start >= span.end

    left = [
        row
        for row, place in zip(whole, places, strict=True)
        if _can_be_had(row, span.start, now, midnight) and is_left(place)
    ]

    def find(rows: Iterable[GpuRow]) -> FreeAnswer:
        offered = [
            replace(row, verdict="free", since=row.since if row.verdict == "free" else None) for row in rows
        ]
        return find_free(offer.nodes, offered, wish, at=now, booked_from=booked_from)

    found = find(row for row in left if not _is_away(row))
    if not found.enough:
        # What may still be away then is taken only where there is nothing else.
        found = find(left)
    if not found.enough:
        rows = [(row, _had_from(row, span.start, now, midnight)) for row in whole]
        first = _earliest(book, wish, span, rows=rows, facts=facts)
        best = max((len(block.uuids) for block in found.blocks), default=0)
        raise _not_enough(wish, (found.free, best), fitting=len(whole), first=first, zone=zone)
    return _taken(found.blocks, wish), _why(found.blocks, wish)


def _can_be_had(row: GpuRow, start: float, now: float, midnight: float) -> bool:
    if _is_away(row):
        return start >= midnight
    # Now only what nobody is on for sure; later whoever is there may have left.
    return start >= now + SOON_SECONDS or row.verdict in ("free", "booked")


def _is_away(row: GpuRow) -> bool:
    return row.verdict in ("stale", "broken")


def _had_from(row: GpuRow, start: float, now: float, midnight: float) -> float:
    """From when on a GPU can be had, if nobody has booked it, for whoever asks again in a few minutes."""
    if _can_be_had(row, start, now, midnight):
        return start
    return midnight if _is_away(row) else now + 2 * SOON_SECONDS


def _earliest(
    book: Book, wish: Wish, span: Span, *, rows: Sequence[tuple[GpuRow, float]], facts: Facts
) -> float | None:
    """The first full minute from which enough can be had for so long; None: none of the next weeks."""
    seconds, last = span.end - span.start, span.start + EARLIEST_SECONDS
    by_node: dict[str, list[Hold]] = {}
    places = [(row.node, row.index) for row, _ in rows]
    for hold in holds_on(book, facts, places, span.start, last + seconds):
        by_node.setdefault(hold.place[0], []).append(hold)
    # From each of these moments so many more, or fewer, can be begun with.
    changes: dict[tuple[str, str | None], Counter[float]] = defaultdict(Counter)
    for row, since in rows:
        place = (row.node, row.index)
        held = [hold for hold in by_node.get(row.node, ()) if is_on(place, hold.place)]
        block = (row.node, row.model) if wish.same_node else ("", None)
        for start, end in gaps(held, since):
            first, late = _full_minute(start), end - seconds
            if first <= late:
                changes[block][first] += 1
                changes[block][math.nextafter(late, ALWAYS)] -= 1
    found = min((first_with(each, wish.gpus) for each in changes.values()), default=ALWAYS)
    return found if found <= last else None


def _full_minute(at: float) -> float:
    # As it is said and typed.
    return math.ceil(at / 60) * 60.0


def _not_enough(
    wish: Wish, had: tuple[int, int], *, fitting: int, first: float | None, zone: tzinfo | None
) -> BookingRefused:
    """How many there are then: in all, or on one node at most, whichever was wanted."""
    free, best = had
    kind, most = (" on one node", f"at most {best} on one node") if wish.same_node else ("", f"{free}")
    later = "" if first is None else f"; as many can be had from {clock_words(first, zone)} on"
    return refuse(
        NOT_ENOUGH,
        f"{wish.gpus} wanted{kind}, but of {fitting} GPUs that fit {most} can be had then{later}",
        wanted=wish.gpus,
        free=free,
        on_one_node=best if wish.same_node else None,
        fitting=fitting,
        gap_start=first,
    )


def _taken(blocks: Sequence[FreeBlock], wish: Wish) -> tuple[GpuPlace, ...]:
    taken: list[GpuPlace] = []
    for block in blocks:
        left = wish.gpus - len(taken)
        taken += [(block.node, index) for index in block.indexes[: min(block.chosen, left)]]
        if len(taken) == wish.gpus:
            break
    return tuple(taken)


def _why(blocks: Sequence[FreeBlock], wish: Wish) -> Reason:
    first = blocks[0]
    size = len(first.uuids)
    if first.chosen < wish.gpus:
        text = "no node has so many that fit: the largest blocks are taken first"
        return Reason(code="booking-chosen-spread", text=text)
    text = f"the smallest block that suffices: {size} x {first.model or 'unknown model'} on {first.node}"
    values = {"node": first.node, "model": first.model, "size": size}
    return Reason(code="booking-chosen-smallest", text=text, values=values)
