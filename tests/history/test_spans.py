"""Spans as people mean them, on clocks that are set twice a year."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from gpuboard.history.averaging import trend_of
from gpuboard.history.spans import (
    as_long_before,
    hour_of_week,
    month_before,
    month_of,
    week_before,
    whole_hours,
)

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


@pytest.mark.parametrize("name", ["Asia/Kolkata", "Asia/Kathmandu", "Australia/Lord_Howe", "Europe/Berlin"])
def test_no_hour_is_of_two_months(name: str) -> None:
    """Days begin at half an hour of UTC in some zones: each month begins where the one before ends."""
    zone = ZoneInfo(name)
    now = at(2028, 1, 1, zone=zone)
    spans = [
        whole_hours(*month_of(f"{year}-{month:02}", now=now, zone=zone), now=now, zone=zone)
        for year in (2026, 2027)
        for month in range(1, 13)
    ]
    assert [start for start, _ in spans[1:]] == [end for _, end in spans[:-1]]
    assert all(second % 3600 == 0 for span in spans for second in span)


def test_a_span_of_half_an_hour_is_of_its_whole_hour() -> None:
    """Only the last hour ends with now."""
    kolkata = ZoneInfo("Asia/Kolkata")
    noon = at(2026, 3, 1, 12, 30, zone=kolkata)
    assert whole_hours(noon + 600, noon + 1200, now=noon + 86_400, zone=kolkata) == (noon, noon + 3600)
    assert whole_hours(noon + 600, noon + 1200, now=noon + 1500, zone=kolkata) == (noon, noon + 1500)


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
