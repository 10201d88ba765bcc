"""When a booking of a PHP board ends: dates as PHP writes them, and as people type them there. Pure.

Only what has one meaning is read. What PHP makes of `tomorrow` changes with the day on which it is asked, and
`12/01/2026` is another day to half of the people who write it.
"""

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Final

_CLOCK: Final = r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.\d{1,9})?)? *(?P<half>[ap]m)?"
_TIME: Final = rf"(?:(?:t|,? +){_CLOCK})?"
_ZONE: Final = r" *(?P<zone>z|utc|gmt|[+-]\d\d:?\d\d)?"
_DAY_NAME: Final = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6},? +)?"
_MONTH: Final = r"(?P<name>[a-z]{3,9})\.?"
_NTH: Final = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_DATES: Final = (
    r"(?P<year>\d{4})(?P<sign>[-/.])(?P<month>\d{1,2})(?P=sign)(?P<day>\d{1,2})",
    r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})",
    rf"{_DAY_NAME}{_MONTH} +{_NTH},? +(?P<year>\d{{4}})",
    rf"{_DAY_NAME}{_NTH} +{_MONTH},? +(?P<year>\d{{4}})",
)
_FORMS: Final = tuple(re.compile(date + _TIME + _ZONE, re.IGNORECASE) for date in _DATES)
_WHOLE: Final = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_MONTHS: Final = {name: number for number, whole in enumerate(_WHOLE, 1) for name in (whole, whole[:3])}
# What the form accepts besides a date: `2d`, `5h`, `1d 12h`.
_DURATION: Final = re.compile(r"(?:(\d{1,5})d)? ?(?:(\d{1,6})h)?", re.IGNORECASE)
_LONGEST: Final = 64


def read_end(text: str, *, written_at: float, zone: tzinfo | None = None) -> float | None:
    """The moment that a text tells, in Unix seconds; None when that is not sure.

    A date without a zone of its own is in this one (None: this machine's); a duration counts from
    `written_at`.
    """
    duration = _DURATION.fullmatch(text)
    if duration is not None and text:
        return written_at + int(duration[1] or 0) * 86400 + int(duration[2] or 0) * 3600
    if len(text) > _LONGEST:
        return None
    for form in _FORMS:
        match = form.fullmatch(text)
        if match is not None:
            return _moment(match.groupdict(), zone)
    return None


def _moment(parts: dict[str, str | None], zone: tzinfo | None) -> float | None:
    year = int(parts["year"] or 0)
    if year == 0:
        # How databases write "no date": long ago.
        return 0.0
    name = parts.get("name")
    month = _MONTHS.get(name.lower(), 0) if name else int(parts["month"] or 0)
    hour, minute, second = (int(parts[name] or 0) for name in ("hour", "minute", "second"))
    try:
        if parts["half"]:
            hour = datetime.strptime(f"{hour} {parts['half']}", "%I %p").hour  # noqa: DTZ007 - an hour
        moment = datetime(year, month, int(parts["day"] or 0), hour, minute, second)  # noqa: DTZ001
        if parts["hour"] is None:
            # PHP takes a day alone for its first second, but who writes one means that day too. Its last
            # second is of that day, so that nobody reads "until Wednesday" where Tuesday was written.
            moment += timedelta(days=1, seconds=-1)
        told = _zone(parts["zone"]) or zone
        return (moment if told is None else moment.replace(tzinfo=told)).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _zone(text: str | None) -> tzinfo | None:
    if text is None:
        return None
    if text[0] not in "+-":
        return UTC
    away = timedelta(hours=int(text[1:3]), minutes=int(text[-2:]))
    return timezone(-away if text[0] == "-" else away)
