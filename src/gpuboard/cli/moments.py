"""Moments and durations as people type them at a terminal, in its zone; shown back with the zone."""

import re
import sys
from datetime import datetime, timedelta, tzinfo
from typing import Final

from gpuboard.model.errors import UsageError
from gpuboard.model.units import parse_duration

_HOW: Final = 'write it like 18:00, "tomorrow 9:00", "fri 14:00", "2026-03-02 09:00", or with an offset'
_CLOCK: Final = re.compile(r"(?:(?P<day>[a-z]+)\s+)?(?P<hour>\d{1,2}):(?P<minute>\d\d)", re.IGNORECASE)
_DATE: Final = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d{1,2}:\d\d(?::\d\d)?(?:\s?(?:Z|[+-]\d\d:?\d\d))?", re.IGNORECASE
)
_WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SHORTEST_DAY: Final = 3
# Whoever names more has mistyped.
LONGEST_SECONDS: Final = 10 * 366 * 86400.0


def read_moment(flag: str, text: str, *, now: float, zone: tzinfo | None = None) -> float:
    """The moment that is meant, in Unix seconds; a time of day alone is the next such time.

    Of a time that comes twice, where the clock is set back, the first; that is said on stderr.

    Raises:
        UsageError: it is none, or the clock is set over it on that day.
    """
    plain = text.strip()
    if plain.lower() == "now":
        return now
    today = _local(now, zone)
    clock = _CLOCK.fullmatch(plain)
    try:
        if clock is not None:
            return _of_clock(flag, clock, today, zone)
        if _DATE.fullmatch(plain):
            return _of_date(flag, plain, zone)
    except (ValueError, OverflowError):
        pass
    raise UsageError(f"{flag}: {text!r} is no time; {_HOW}")


def read_duration(flag: str, text: str) -> float:
    """A duration with its unit.

    Raises:
        UsageError: it is none, or has no unit: hours are meant by some, minutes by others.
    """
    if text.strip().replace(".", "", 1).isdigit():
        raise UsageError(f"{flag}: {text!r} has no unit; write it like 4h or 2d 4h")
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise UsageError(f"{flag}: {error}") from None
    if seconds <= 0:
        raise UsageError(f"{flag}: {text} is no time at all")
    if seconds > LONGEST_SECONDS:
        raise UsageError(f"{flag}: {text} is more than ten years")
    return seconds


def show_moment(at: float, zone: tzinfo | None = None) -> str:
    """A moment for people, with the zone in which it is said."""
    return _local(at, zone).strftime("%a %Y-%m-%d %H:%M %Z")


def _local(at: float, zone: tzinfo | None) -> datetime:
    return datetime.fromtimestamp(at, zone) if zone else datetime.fromtimestamp(at).astimezone()


def _of_clock(flag: str, clock: re.Match[str], today: datetime, zone: tzinfo | None) -> float:
    day = (clock["day"] or "").lower()
    wall = today.replace(tzinfo=None, second=0, microsecond=0)
    meant = wall.replace(hour=int(clock["hour"]), minute=int(clock["minute"]))
    weekday = _weekday(day)
    if day == "tomorrow":
        meant += timedelta(days=1)
    elif weekday is not None:
        meant += timedelta(days=(weekday - meant.weekday()) % 7)
        meant += timedelta(days=7) if meant <= wall else timedelta()
    elif not day:
        meant += timedelta(days=1) if meant <= wall else timedelta()
    elif day != "today":
        raise ValueError(day)
    return _on_the_wall(flag, meant, zone)


def _weekday(day: str) -> int | None:
    is_short = len(day) < _SHORTEST_DAY
    return next((n for n, name in enumerate(_WEEKDAYS) if not is_short and name.startswith(day)), None)


def _of_date(flag: str, text: str, zone: tzinfo | None) -> float:
    day, clock = re.split(r"[Tt ]", text, maxsplit=1)
    hour, colon, rest = clock.replace(" ", "").partition(":")
    found = datetime.fromisoformat(f"{day}T{hour:0>2}{colon}{rest}")
    return found.timestamp() if found.tzinfo else _on_the_wall(flag, found, zone)


def _on_the_wall(flag: str, wall: datetime, zone: tzinfo | None) -> float:
    at = (wall.replace(tzinfo=zone) if zone else wall).timestamp()
    if _local(at, zone).replace(tzinfo=None) != wall:
        raise UsageError(f"{flag}: there is no {wall:%H:%M} on {wall:%Y-%m-%d}: the clock is set over it")
    # Where the clock is set back, the same time comes a second time.
    second = (wall.replace(tzinfo=zone, fold=1) if zone else wall.replace(fold=1)).timestamp()
    if second > at:
        first, other = (_local(one, zone).isoformat(" ", "minutes") for one in (at, second))
        print(
            f"gpuboard: {flag}: {wall:%H:%M} comes twice on {wall:%Y-%m-%d}: {first} is taken, "
            f"not {other}; an offset says which",
            file=sys.stderr,
        )
    return at
