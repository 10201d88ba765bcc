"""Bookings as a calendar that other programs subscribe to (RFC 5545). Pure."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final

from gpuboard.model.booking import Booking, place_words

# What has ended, or never was, is told so long: programs that ask seldom hear of it too.
PAST_SECONDS: Final = 30 * 86400.0
# No line is longer, in octets, without its end.
LONGEST_LINE: Final = 75
REFRESH: Final = "PT15M"

_HEAD: Final = ("BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//gpuboard//bookings//EN", "CALSCALE:GREGORIAN")


def calendar_of(bookings: Iterable[Booking], *, name: str) -> bytes:
    """A calendar of these bookings, one event each; the same bookings give the same bytes."""
    lines = [
        *_HEAD,
        f"X-WR-CALNAME:{escape(name)}",
        f"REFRESH-INTERVAL;VALUE=DURATION:{REFRESH}",
        f"X-PUBLISHED-TTL:{REFRESH}",
    ]
    for booking in bookings:
        lines += _event(booking)
    lines.append("END:VCALENDAR")
    return b"".join(map(fold, lines))


def _event(booking: Booking) -> Iterator[str]:
    places = place_words(booking.places)
    changed = _moment(booking.changed_at or booking.created_at)
    yield "BEGIN:VEVENT"
    # The booking's own: the event stays the same however often it is moved.
    yield f"UID:{escape(booking.id)}@gpuboard"
    # Where no METHOD is named, both say when it was last changed.
    yield f"DTSTAMP:{changed}"
    yield f"LAST-MODIFIED:{changed}"
    yield f"CREATED:{_moment(booking.created_at)}"
    yield f"SEQUENCE:{booking.revision}"
    yield f"DTSTART:{_moment(booking.start)}"
    # An end has to be after the begin: what never was has none.
    if not booking.never_was:
        yield f"DTEND:{_moment(booking.end)}"
    yield f"SUMMARY:{escape(f'GPUs booked: {places}')}"
    yield f"LOCATION:{escape(places)}"
    about = "\n".join(filter(None, (booking.comment, booking.outcome)))
    if about:
        yield f"DESCRIPTION:{escape(about)}"
    yield f"STATUS:{'CANCELLED' if booking.never_was else 'CONFIRMED'}"
    # Whoever computes can meet others meanwhile.
    yield "TRANSP:TRANSPARENT"
    yield "END:VEVENT"


def escape(text: str) -> str:
    """A text as a value: nothing in it ends the value or begins a line."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    shown = "".join(char for char in lines if char in "\n\t" or (char >= " " and char != "\x7f"))
    return shown.replace("\\", "\\\\").replace(";", "\\;").replace(",", "\\,").replace("\n", "\\n")


def fold(line: str) -> bytes:
    """A line with its end, in parts that are short enough; no character is cut in two."""
    parts: list[bytes] = []
    part = b""
    for char in line:
        octets = char.encode(errors="replace")
        if len(part) + len(octets) > LONGEST_LINE:
            parts.append(part)
            # What goes on begins with a space, which counts.
            part = b" "
        part += octets
    return b"\r\n".join((*parts, part)) + b"\r\n"


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y%m%dT%H%M%SZ")
