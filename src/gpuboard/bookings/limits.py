"""How much somebody may book: policies for all or by group, and what is left of them. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta, tzinfo
from typing import Final, NamedTuple

from msgspec import Struct

from gpuboard.bookings.refusals import AHEAD, AT_ONCE, HOURS, LONGEST, over_limit
from gpuboard.model.booking import Booking

HOUR: Final = 3600.0


class Limits(Struct, frozen=True, kw_only=True):
    """The policies of one table; None: no limit."""

    # Seconds.
    longest: float | None = None
    ahead: float | None = None
    gpus_at_once: int | None = None
    hours_per_week: float | None = None


class Limit(NamedTuple):
    """One policy as it holds for somebody: how much, and of which group; None: of all."""

    most: float
    group: str | None


POLICIES: Final = Limits.__struct_fields__


def limits_for(general: Limits, by_group: Mapping[str, Limits], groups: Iterable[str]) -> dict[str, Limit]:
    """The policies that hold for a member of these groups, by name.

    What a group says stands before what is said for all; of several groups the most generous holds.
    """
    mine = sorted(set(groups) & by_group.keys())
    found: dict[str, Limit] = {}
    for policy in POLICIES:
        said = [Limit(most, name) for name in mine if (most := getattr(by_group[name], policy)) is not None]
        for_all = getattr(general, policy)
        if said:
            found[policy] = max(said, key=lambda limit: limit.most)
        elif for_all is not None:
            found[policy] = Limit(for_all, None)
    return found


def check_limits(
    wanted: Booking,
    others: Iterable[Booking],
    limits: Mapping[str, Limit],
    *,
    now: float,
    zone: tzinfo | None,
) -> None:
    """See whether somebody may book this besides what the same person has booked.

    Raises:
        BookingRefused: a policy forbids it.
    """
    mine = [one for one in others if one.kind == "booking"]
    others = [one for one in mine if one.id != wanted.id]
    if (limit := limits.get("longest")) is not None and wanted.end - wanted.start > limit.most:
        asked = wanted.end - wanted.start
        raise over_limit(LONGEST, "longest", limit.group, limit=limit.most, asked=asked, left=limit.most)
    if (limit := limits.get("ahead")) is not None and wanted.start - now > limit.most:
        asked = wanted.start - now
        raise over_limit(AHEAD, "ahead", limit.group, limit=limit.most, asked=asked, left=limit.most)
    if (limit := limits.get("gpus_at_once")) is not None:
        has = most_at_once(others, wanted.start, wanted.end)
        if has + wanted.gpus > limit.most:
            raise over_limit(
                AT_ONCE, "gpus_at_once", limit.group,
                limit=limit.most, asked=has + wanted.gpus, left=max(0, limit.most - has),
            )  # fmt: skip
    if (limit := limits.get("hours_per_week")) is not None:
        _check_weeks(wanted, others, mine, limit, zone)


def _check_weeks(
    wanted: Booking, others: list[Booking], mine: list[Booking], limit: Limit, zone: tzinfo | None
) -> None:
    for start, end in weeks(wanted.start, wanted.end, zone):
        has, more = gpu_hours(others, start, end), gpu_hours([wanted], start, end)
        # A second more or less is nobody's intention.
        if has + more > limit.most + 1 / HOUR:
            # What a booking has already, before it is changed, is not left either.
            left = max(0.0, limit.most - gpu_hours(mine, start, end))
            raise over_limit(
                HOURS, "hours_per_week", limit.group, limit=limit.most, asked=has + more, left=left
            )


def most_at_once(bookings: Iterable[Booking], start: float, end: float) -> int:
    """How many GPUs are booked at the same moment of a span, at most."""
    spans = [(max(one.start, start), min(one.end, end), one.gpus) for one in bookings]
    spans = [span for span in spans if span[0] < span[1]]
    return max(
        (sum(gpus for begun, over, gpus in spans if begun <= at < over) for at, _, _ in spans), default=0
    )


def gpu_hours(bookings: Iterable[Booking], start: float, end: float) -> float:
    """The GPU-hours that lie in a span."""
    return sum(one.gpus * max(0.0, min(one.end, end) - max(one.start, start)) for one in bookings) / HOUR


def week_of(at: float, zone: tzinfo | None) -> tuple[float, float]:
    """The calendar week of a moment, from Monday to Monday, on the clocks of a zone."""
    day = datetime.fromtimestamp(at, zone)
    monday = (day - timedelta(days=day.weekday())).replace(hour=0, minute=0, second=0, microsecond=0)
    # As the wall says it: weeks in which clocks change have another length.
    return monday.timestamp(), (monday + timedelta(days=7)).timestamp()


def weeks(start: float, end: float, zone: tzinfo | None) -> Iterator[tuple[float, float]]:
    """The calendar weeks that a span touches."""
    at = start
    while at < end:
        begins, ends = week_of(at, zone)
        yield begins, ends
        at = ends
