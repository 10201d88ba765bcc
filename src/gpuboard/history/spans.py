"""Spans of time as people mean them: months, weeks, and what came before. Pure.

They follow the calendar of the board, in a zone; without one, this machine's.
"""

import math
from collections.abc import Iterator
from datetime import datetime, timedelta, tzinfo
from typing import Final

from gpuboard.model.errors import UsageError

HOUR_SECONDS: Final = 3600.0
MOST_WEEKS: Final = 110
MOST_DAYS: Final = 100
_MONTHS: Final = 12

Span = tuple[float, float]


def month_of(text: str, *, now: float, zone: tzinfo | None = None) -> Span:
    """From when to when a month is, `2026-10`, `this` or `last`, by the calendar of the board.

    Raises:
        ValueError: it is none.
    """
    today = datetime.fromtimestamp(now, zone)
    year, month = today.year, today.month
    if text == "last":
        year, month = _moved(year, month, -1)
    elif text != "this":
        found = datetime.strptime(text, "%Y-%m")  # noqa: DTZ007 - a month has no zone
        year, month = found.year, found.month
    return _midnight(year, month, 1, zone), _midnight(*_moved(year, month, 1), 1, zone)


def month_before(start: float, zone: tzinfo | None = None) -> Span:
    """The calendar month before the one that begins at a moment."""
    first = datetime.fromtimestamp(start, zone)
    return _midnight(*_moved(first.year, first.month, -1), 1, zone), start


def as_long_before(start: float, end: float) -> Span:
    """The span of the same length that ends where this one begins; nothing was before time began."""
    return max(0.0, start - (end - start)), start


def whole_hours(start: float, end: float, *, now: float, zone: tzinfo | None = None) -> Span:
    """A span from the begin of its first hour to the end of its last, or to now.

    Where days begin at half an hour of UTC, that hour is the following day's alone.
    """
    first, last = math.floor(start / HOUR_SECONDS), math.ceil(end / HOUR_SECONDS)
    if _is_midnight(end, zone):
        last = math.floor(end / HOUR_SECONDS)
    return first * HOUR_SECONDS, min(last * HOUR_SECONDS, max(first * HOUR_SECONDS, now))


def weeks_of(start: float, end: float, zone: tzinfo | None) -> list[tuple[str, Span]]:
    """The weeks of a span, from Monday to Sunday by the calendar of the board, cut to whole hours.

    Raises:
        UsageError: these are too many.
    """
    day = datetime.fromtimestamp(start, zone)
    found = []
    for monday, span in _cut(start, end, day - timedelta(days=day.weekday()), 7):
        year, week, _ = monday.isocalendar()
        found.append((f"{year}-W{week:02}", span))
        if len(found) > MOST_WEEKS:
            raise UsageError(f"these are more than {MOST_WEEKS} weeks; ask for a shorter span")
    return found


def days_of(start: float, end: float, zone: tzinfo | None) -> list[tuple[str, Span]]:
    """The days of a span by the calendar of the board, like `2026-10-25`, cut to whole hours.

    Raises:
        UsageError: these are too many.
    """
    found = []
    for day, span in _cut(start, end, datetime.fromtimestamp(start, zone), 1):
        found.append((day.date().isoformat(), span))
        if len(found) > MOST_DAYS:
            raise UsageError(f"these are more than {MOST_DAYS} days; ask for a shorter span")
    return found


def _cut(start: float, end: float, day: datetime, days: int) -> Iterator[tuple[datetime, Span]]:
    """A span in parts of so many days from a day on, that day first."""
    since = start
    while since < end:
        following = day + timedelta(days=days)
        border = _midnight(following.year, following.month, following.day, day.tzinfo)
        until = min(end, math.floor(border / HOUR_SECONDS) * HOUR_SECONDS)
        if until > since:
            yield day, (since, until)
            since = until
        day = following


def week_before(start: float, zone: tzinfo | None) -> Span:
    """The whole week before the one that a moment is in, cut to whole hours."""
    day = datetime.fromtimestamp(start, zone)
    monday = day - timedelta(days=day.weekday())
    before = monday - timedelta(days=7)
    first, last = (_midnight(one.year, one.month, one.day, zone) for one in (before, monday))
    return tuple(math.floor(one / HOUR_SECONDS) * HOUR_SECONDS for one in (first, last))  # type: ignore[return-value] # two


def hour_of_week(at: float, zone: tzinfo | None) -> tuple[int, int]:
    """The day, Monday is 0, and the hour that a clock on the wall shows."""
    then = datetime.fromtimestamp(at, zone)
    return then.weekday(), then.hour


def _moved(year: int, month: int, by: int) -> tuple[int, int]:
    months = year * _MONTHS + month - 1 + by
    return months // _MONTHS, months % _MONTHS + 1


def _is_midnight(at: float, zone: tzinfo | None) -> bool:
    day = datetime.fromtimestamp(at, zone)
    return at == _midnight(day.year, day.month, day.day, zone)


def _midnight(year: int, month: int, day: int, zone: tzinfo | None) -> float:
    # Without a zone it is this machine's.
    return datetime(year, month, day, tzinfo=zone).timestamp()
