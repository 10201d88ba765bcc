"""Sizes and durations between numbers and words."""

import re
from typing import Final

MIB: Final = 1024**2
GIB: Final = 1024**3
# Drivers, error correction and MIG keep some of what is printed on the box.
BOX_SHARE: Final = 0.92

# A bare number is G: nobody asks for 40 bytes. The page's filter has the same rule.
_SIZES: Final = {"": GIB, "B": 1, "K": 1024, "M": MIB, "G": GIB, "T": 1024**4}
# Written so that regular expressions of other languages understand it too.
SIZE_PATTERN: Final = r"^ *([0-9]+(?:\.[0-9]+)?) *((?:[KMGTkmgt](?:[Ii]?[Bb])?|[Bb])?) *$"
_SIZE: Final = re.compile(SIZE_PATTERN)
_SECONDS: Final = {"ms": 0.001, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "w": 604800}
_DURATION_PART: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|min|s|m|h|d|w)", re.IGNORECASE)


def parse_size(text: str) -> int:
    """Turn `40G`, `500 MiB` or `40` into bytes; units are binary, and a bare number is G.

    Raises:
        ValueError: the text is no size.
    """
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no size; write it like 40G or 500M")
    return round(float(match[1]) * _SIZES[match[2][:1].upper()])


def fits_size(total: int | None, asked: int) -> bool:
    """Whether a card is of the size asked for, as it stands on the box; an unknown one fits no size."""
    return asked <= 0 or (total is not None and total >= BOX_SHARE * asked)


def parse_duration(text: str) -> float:
    """Turn `5s`, `1h30m` or `2d 4h` into seconds; a bare number is seconds.

    Raises:
        ValueError: the text is no duration.
    """
    plain = text.strip()
    if re.fullmatch(r"\d+(?:\.\d+)?", plain):
        return float(plain)
    parts = _DURATION_PART.findall(plain)
    if not parts or _DURATION_PART.sub("", plain).strip():
        raise ValueError(f"{text!r} is no duration; write it like 5s, 10min, 1h30m or 3d")
    return float(sum(float(number) * _SECONDS[unit.lower()] for number, unit in parts))


def format_size(size: int | None) -> str:
    """Write bytes for people: `24.0 GiB`; `—` when unknown."""
    if size is None:
        return "—"
    if size >= GIB:
        return f"{size / GIB:.1f} GiB"
    return f"{size / MIB:.0f} MiB"


def format_duration(seconds: float | None) -> str:
    """Write a duration for people, its two largest parts: `3h 10m`; `—` when unknown."""
    if seconds is None:
        return "—"
    whole = max(0, int(seconds))
    days, hours, minutes = whole // 86400, whole % 86400 // 3600, whole % 3600 // 60
    if days:
        return f"{days}d {hours}h"
    if hours:
        return f"{hours}h {minutes}m"
    return f"{minutes}m" if minutes else f"{whole}s"
