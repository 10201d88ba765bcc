"""Spans as people mean them, on clocks that are set twice a year."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from gpuboard.history.averaging import trend_of
from gpuboard.history.spans import as_long_before, hour_of_week, month_before, month_of, week_before

BERLIN = ZoneInfo("Europe/Berlin")


def at(*when: int, zone: ZoneInfo = BERLIN) -> float:
    """A moment."""
    return datetime(*when, tzinfo=zone).timestamp()  # type: ignore[arg-type, misc] # year, month, day


def test_the_month_before_is_a_whole_one_of_the_calendar() -> None:
    """Not as many days: March is compared with February, January with December."""
    march, _ = month_of("2026-03", now=0.0, zone=BERLIN)
    assert month_before(march, BERLIN) == (at(2026, 2, 1), at(2026, 3, 1))
    assert month_before(at(2026, 1, 1), BERLIN) == (at(2025, 12, 1), at(2026, 1, 1))


def test_any_other_span_is_compared_with_one_as_long() -> None:
    """Right before it; never before time began."""
    assert as_long_before(100.0, 130.0) == (70.0, 100.0)
    assert as_long_before(10.0, 130.0) == (0.0, 10.0)


def test_the_week_before_begins_on_monday_also_when_clocks_are_set() -> None:
    """Clocks go forward on 29 March 2026."""
    assert week_before(at(2026, 4, 2, 13), BERLIN) == (at(2026, 3, 23), at(2026, 3, 30))


def test_hours_of_the_week_are_those_on_the_wall() -> None:
    """Of the board's zone."""
    monday = datetime(2026, 6, 29, 22, 30, tzinfo=UTC).timestamp()
    assert (hour_of_week(monday, UTC), hour_of_week(monday, BERLIN)) == ((0, 22), (1, 0))


@pytest.mark.parametrize(
    ("shorter", "longer", "trend"),
    [(2.0, 1.0, "up"), (0.0, 1.0, "down"), (10.5, 10.0, "level"), (0.05, 0.0, "level"), (None, 1.0, None)],
)
def test_a_little_more_or_less_is_no_trend(
    shorter: float | None, longer: float | None, trend: str | None
) -> None:
    """Arrows that flicker say nothing."""
    assert trend_of(shorter, longer) == trend
