"""Questions about GPU-hours, put to a history. They block: they are asked in a thread."""

import math
from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime, timedelta, tzinfo
from typing import Final

from msgspec import Struct

from gpuboard.history.base import History
from gpuboard.history.usage import Times, Usage, gpus_of, total_of
from gpuboard.model.errors import UsageError
from gpuboard.wire.usage import UsageAnswer, UsageBy, UsageRow, UsageTotal

HOUR_SECONDS: Final = 3600.0
MOST_WEEKS: Final = 110
# Those by whom somebody could be recognised.
NAMED: Final = frozenset({"person", "group"})


class UsageWanted(Struct, frozen=True, kw_only=True):
    """What somebody wants to know of GPU-hours."""

    by: UsageBy
    start: float
    end: float
    now: float
    # Group → its people.
    groups: Mapping[str, tuple[str, ...]] = {}
    with_names: bool = True
    # None: this machine's.
    zone: tzinfo | None = None


def month_of(text: str, *, now: float, zone: tzinfo | None = None) -> tuple[float, float]:
    """From when to when a month is, `2026-10`, `this` or `last`, by the calendar of the board.

    Raises:
        ValueError: it is none.
    """
    today = datetime.fromtimestamp(now, zone)
    year, month = today.year, today.month
    if text == "last":
        year, month = (year, month - 1) if month > 1 else (year - 1, 12)
    elif text != "this":
        found = datetime.strptime(text, "%Y-%m")  # noqa: DTZ007 - a month has no zone
        year, month = found.year, found.month
    following = (year, month + 1) if month < 12 else (year + 1, 1)  # noqa: PLR2004 - months of a year
    return _midnight(year, month, 1, zone), _midnight(*following, 1, zone)


def ask_usage(history: History, wanted: UsageWanted) -> UsageAnswer:
    """GPU-hours of a span: all together, and row by row.

    Raises:
        UsageError: these are too many weeks at once.
        StorageError: it cannot be read.
    """
    start = math.floor(wanted.start / HOUR_SECONDS) * HOUR_SECONDS
    end = min(math.ceil(wanted.end / HOUR_SECONDS) * HOUR_SECONDS, max(start, wanted.now))
    if wanted.by == "week":
        weeks = [(name, history.usage(*span)) for name, span in _weeks(start, end, wanted.zone)]
        rows: dict[str | None, Times] = {name: found.total() for name, found in weeks if found.places}
        places = [place for _, found in weeks for place in found.places]
        first = min((found.start for _, found in weeks if found.places), default=end)
        usage = Usage(start=first, end=end, places=places)
    else:
        usage = history.usage(start, end)
        rows = _rows(usage, wanted)
    total = usage.total()
    percent = None if not total.span else 100 * total.observed / total.span
    gpus = gpus_of(usage.places)
    told = [] if wanted.by in NAMED and not wanted.with_names else _in_order(rows, wanted.by)
    return UsageAnswer(
        start=usage.start,
        end=usage.end,
        by=wanted.by,
        gpus=gpus,
        observed_percent=percent,
        text=_words(total, gpus, percent),
        total=_total(total),
        rows=[_row(name, times, wanted.by) for name, times in told],
    )


def _rows(usage: Usage, wanted: UsageWanted) -> dict[str | None, Times]:
    if wanted.by in NAMED:
        # Whoever is in several is in the first by name.
        groups = sorted(wanted.groups, reverse=True)
        group_of = {who: group for group in groups for who in wanted.groups[group]}
        people: dict[str | None, list[Times]] = defaultdict(list)
        for one in usage.places:
            for person, times in one.people.items():
                people[person if wanted.by == "person" else group_of.get(person)].append(times)
        return {name: total_of(parts) for name, parts in people.items()}
    found: dict[str | None, list[Times]] = defaultdict(list)
    for one in usage.places:
        found[one.place.node if wanted.by == "node" else one.place.model].append(one.times)
    return {name: total_of(parts) for name, parts in found.items()}


def _in_order(rows: dict[str | None, Times], by: UsageBy) -> list[tuple[str | None, Times]]:
    if by == "week":
        return list(rows.items())
    return sorted(rows.items(), key=lambda row: (-row[1].used, row[0] is None, row[0] or ""))


def _weeks(start: float, end: float, zone: tzinfo | None) -> list[tuple[str, tuple[float, float]]]:
    """The weeks of a span, from Monday to Sunday by the calendar of the board, cut to whole hours."""
    day = datetime.fromtimestamp(start, zone)
    day -= timedelta(days=day.weekday())
    found = []
    since = start
    while since < end:
        following = day + timedelta(days=7)
        border = _midnight(following.year, following.month, following.day, zone)
        until = min(end, math.floor(border / HOUR_SECONDS) * HOUR_SECONDS)
        if until > since:
            year, week, _ = day.isocalendar()
            found.append((f"{year}-W{week:02}", (since, until)))
            since = until
        day = following
        if len(found) > MOST_WEEKS:
            raise UsageError(f"these are more than {MOST_WEEKS} weeks; ask for a shorter span")
    return found


def _midnight(year: int, month: int, day: int, zone: tzinfo | None) -> float:
    # Without a zone it is this machine's.
    return datetime(year, month, day, tzinfo=zone).timestamp()


def _words(total: Times, gpus: int, percent: float | None) -> str:
    if percent is None:
        return "No GPU was counted in this time."
    hours = total.span / 3_600_000
    ones = "GPU" if gpus == 1 else "GPUs"
    # Rounded down: what is not whole does not look so.
    seen = math.floor(percent * 10) / 10
    return f"{hours:,.1f} GPU-hours of {gpus:,} {ones}; {seen:.1f} % of the time observed."


def _total(times: Times) -> UsageTotal:
    return UsageTotal(
        span_ms=times.span,
        used_ms=times.used,
        idle_ms=times.idle,
        booked_ms=times.booked,
        free_ms=times.free,
        broken_ms=times.broken,
        unobserved_ms=times.unobserved,
    )


def _row(name: str | None, times: Times, by: UsageBy) -> UsageRow:
    if by in NAMED:
        return UsageRow(name=name, used_ms=times.used, idle_ms=times.idle, booked_ms=times.booked)
    return UsageRow(
        name=name,
        used_ms=times.used,
        idle_ms=times.idle,
        booked_ms=times.booked,
        free_ms=times.free,
        broken_ms=times.broken,
        unobserved_ms=times.unobserved,
    )
