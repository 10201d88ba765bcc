"""Any GPUs that fit, for a span: chosen by the same best fit as those that are free now. Pure."""

from collections.abc import Iterable, Sequence
from datetime import tzinfo

from msgspec import Struct
from msgspec.structs import replace

from gpuboard.bookings.book import Book, Facts, Hold, holds_on
from gpuboard.bookings.refusals import NOT_ENOUGH, refuse
from gpuboard.bookings.rules import SOON_SECONDS, Span, tomorrow
from gpuboard.fleet.summary import BOOKED_SOON_SECONDS, Wish, find_free
from gpuboard.model.booking import is_on
from gpuboard.model.verdict import GpuPlace, Reason
from gpuboard.wire.summary import FreeAnswer, FreeBlock
from gpuboard.wire.views import GpuRow, NodeRow


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
        kind = " on one node" if wish.same_node else ""
        raise refuse(
            NOT_ENOUGH,
            f"{wish.gpus} wanted{kind}, but of {len(whole)} GPUs that fit {found.free} can be had then",
            wanted=wish.gpus,
            free=found.free,
            fitting=len(whole),
        )
    return _taken(found.blocks, wish), _why(found.blocks, wish)


def _can_be_had(row: GpuRow, start: float, now: float, midnight: float) -> bool:
    if _is_away(row):
        return start >= midnight
    # Now only what nobody is on for sure; later whoever is there may have left.
    return start >= now + SOON_SECONDS or row.verdict in ("free", "booked")


def _is_away(row: GpuRow) -> bool:
    return row.verdict in ("stale", "broken")


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
