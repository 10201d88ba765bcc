"""How much was booked, and used by who had booked it."""

import pytest

from gpuboard.bookings.reserved import Reserved, reserved_by
from gpuboard.bookings.use import Use
from gpuboard.model.booking import Booking, BookingKind

HOUR = 3600.0


def booking(who: str, start: float, end: float, gpus: int = 1, kind: BookingKind = "booking") -> Booking:
    """Somebody's booking."""
    return Booking(
        id=f"{who}{start}",
        kind=kind,
        who=who,
        places=(("n1", 0),),
        gpus=gpus,
        start=start,
        end=end,
        created_at=0.0,
    )


def reserved(*found: tuple[Booking, Use], now: float = 100 * HOUR) -> dict[str, Reserved]:
    """What people had booked in the first ten hours."""
    return reserved_by(found, 0.0, 10 * HOUR, now=now, person_of=str.lower)


def test_bookings_of_all_accounts_of_a_person_add_up() -> None:
    """GPU by GPU; blocks are nobody's."""
    found = reserved(
        (booking("ana", 0.0, HOUR, gpus=2), Use(used_seconds=1800.0)),
        (booking("Ana", 2 * HOUR, 3 * HOUR), Use(used_seconds=3600.0)),
        (booking("root", 0.0, HOUR, kind="block"), Use()),
    )
    assert found == {"ana": Reserved(who="ana", booked=3 * 3_600_000, used=5_400_000)}


def test_only_what_is_in_the_span_counts() -> None:
    """Of a booking that reaches beyond it, its share of what was used."""
    found = reserved((booking("ana", 5 * HOUR, 15 * HOUR), Use(used_seconds=4 * HOUR)))
    assert (found["ana"].booked, found["ana"].used) == (5 * 3_600_000, 2 * 3_600_000)


def test_what_is_to_come_is_not_reserved_yet() -> None:
    """A booking under way counts up to now, a cancelled one not at all."""
    found = reserved(
        (booking("ana", 0.0, 4 * HOUR), Use(used_seconds=HOUR)),
        (booking("ana", 3 * HOUR, 4 * HOUR), Use()),
        (booking("ben", 0.0, 0.0), Use()),
        now=HOUR,
    )
    assert found == {"ana": Reserved(who="ana", booked=3_600_000, used=3_600_000)}


@pytest.mark.parametrize("seconds", [3600.0, 3700.0])
def test_no_more_is_used_than_was_booked(seconds: float) -> None:
    """Ticks do not end with the booking."""
    assert reserved((booking("ana", 0.0, HOUR), Use(used_seconds=seconds)))["ana"].used == 3_600_000
