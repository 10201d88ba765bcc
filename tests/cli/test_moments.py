"""Times as people type them at a terminal."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from gpuboard.cli.moments import read_duration, read_moment, show_moment
from gpuboard.model.errors import UsageError

BERLIN = ZoneInfo("Europe/Berlin")
# A Wednesday.
NOW = datetime(2026, 3, 25, 12, 30, tzinfo=BERLIN).timestamp()


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("18:00", "2026-03-25 18:00 CET"),
        ("9:05", "2026-03-26 09:05 CET"),
        ("today 9:00", "2026-03-25 09:00 CET"),
        ("tomorrow 9:00", "2026-03-26 09:00 CET"),
        ("fri 14:00", "2026-03-27 14:00 CET"),
        ("Wednesday 12:00", "2026-04-01 12:00 CEST"),
        ("2026-03-30 09:00", "2026-03-30 09:00 CEST"),
        ("2026-03-30T9:00", "2026-03-30 09:00 CEST"),
        ("2026-03-30T07:00:00Z", "2026-03-30 09:00 CEST"),
        ("2026-03-30 07:00 +00:00", "2026-03-30 09:00 CEST"),
        ("now", "2026-03-25 12:30 CET"),
    ],
)
def test_a_time_is_read_in_the_terminals_zone_and_shown_back_with_it(text: str, meant: str) -> None:
    """Also across a change of clock."""
    assert show_moment(read_moment("--until", text, now=NOW, zone=BERLIN), BERLIN)[4:] == meant


@pytest.mark.parametrize(
    "text", ["", "soon", "25:00", "someday 9:00", "2026-02-30 09:00", "03/04/2026 9:00", "9"]
)
def test_what_is_no_time_is_refused_with_an_example(text: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(UsageError, match="write it like 18:00"):
        read_moment("--until", text, now=NOW, zone=BERLIN)


def test_an_hour_that_the_clock_is_set_over_is_refused() -> None:
    """Nobody can mean it."""
    with pytest.raises(UsageError, match="the clock is set over it"):
        read_moment("--from", "2026-03-29 02:30", now=NOW, zone=BERLIN)


def test_of_an_hour_that_comes_twice_the_first_is_taken_and_both_are_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Whoever means the other one reads how to say so."""
    text = "2026-10-25 02:30"
    assert show_moment(read_moment("--from", text, now=NOW, zone=BERLIN), BERLIN)[4:] == f"{text} CEST"
    said = capsys.readouterr().err
    assert "--from: 02:30 comes twice on 2026-10-25: 2026-10-25 02:30+02:00 is taken" in said
    assert "not 2026-10-25 02:30+01:00; an offset says which" in said
    second = read_moment("--from", "2026-10-25 02:30+01:00", now=NOW, zone=BERLIN)
    assert show_moment(second, BERLIN)[4:] == f"{text} CET"
    read_moment("--from", "2026-10-25 03:00", now=NOW, zone=BERLIN)
    assert capsys.readouterr().err == ""


def test_a_duration_needs_its_unit() -> None:
    """Four of what?"""
    assert read_duration("--for", "2d 4h") == 52 * 3600
    with pytest.raises(UsageError, match="no unit"):
        read_duration("--for", "4")


def test_a_duration_that_nobody_lives_to_see_is_mistyped() -> None:
    """It is said here, and no board is asked."""
    with pytest.raises(UsageError, match="more than ten years"):
        read_duration("--for", "99999999999999999999h")
