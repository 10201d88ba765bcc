"""How much people have booked, and how much of that they used, within a span. Pure."""

from collections.abc import Callable, Iterable

from msgspec import Struct

from gpuboard.bookings.use import Use
from gpuboard.model.booking import Booking


class Reserved(Struct):
    """Milliseconds of GPUs that somebody had booked, and used."""

    # The name as it is written.
    who: str
    booked: int = 0
    used: int = 0


def reserved_by(
    bookings: Iterable[tuple[Booking, Use]],
    start: float,
    end: float,
    *,
    now: float,
    person_of: Callable[[str], str],
) -> dict[str, Reserved]:
    """What people had booked in a span, as far as that has come; by name in lower case.

    Of a booking that reaches beyond the span, so much was used in it as would be if it had been evenly.
    """
    found: dict[str, Reserved] = {}
    for booking, use in bookings:
        until = min(booking.end, now)
        inside = min(until, end) - max(booking.start, start)
        if booking.kind != "booking" or inside <= 0:
            continue
        who = person_of(booking.who)
        of_person = found.setdefault(who.casefold(), Reserved(who=who))
        booked = round(1000 * inside * booking.gpus)
        share = inside / (until - booking.start)
        of_person.booked += booked
        # Counted tick by tick: a little more may have been seen than there was.
        of_person.used += min(booked, round(1000 * use.used_seconds * share))
    return found
