"""The calendar of somebody's bookings, as a calendar program reads it."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st
from icalendar import Calendar, Event

from gpuboard.bookings.ical import LONGEST_LINE, calendar_of
from gpuboard.model.booking import Booking

START = 1_790_000_000.0
HOUR = 3600.0


def booking(comment: str | None = None, *, end: float = START + HOUR, revision: int = 0) -> Booking:
    """One of two GPUs, for an hour."""
    return Booking(
        id="0a1b2c",
        who="ana",
        places=(("gpu01", 0), ("gpu01", 1)),
        gpus=2,
        start=START,
        end=end,
        comment=comment,
        outcome=None if end > START else "cancelled",
        created_at=START - HOUR,
        changed_at=START - 60,
        revision=revision,
    )


def read(*bookings: Booking, name: str = "gpuboard: ana") -> list[Event]:
    """The events that a calendar program sees."""
    found = Calendar.from_ical(calendar_of(bookings, name=name))
    assert isinstance(found, Calendar)
    events = list(found.walk("VEVENT"))
    assert not any(event.errors for event in events)
    return [event for event in events if isinstance(event, Event)]


def test_an_event_says_where_from_when_until_when_in_utc() -> None:
    """So no zone has to be explained."""
    (event,) = read(booking("a paper"))
    assert event.decoded("dtstart") == datetime.fromtimestamp(START, UTC)
    assert event.decoded("dtend") == datetime.fromtimestamp(START + HOUR, UTC)
    assert (str(event["location"]), str(event["description"])) == ("gpu01:0,1", "a paper")
    assert str(event["status"]) == "CONFIRMED"


def test_a_change_keeps_the_event_and_raises_its_sequence() -> None:
    """Programs replace what they know by what is newer."""
    before, after = read(booking())[0], read(booking(revision=1, end=START + 2 * HOUR))[0]
    assert before["uid"] == after["uid"]
    assert (before["sequence"], after["sequence"]) == (0, 1)
    assert (
        after.decoded("last-modified") == after.decoded("dtstamp") == datetime.fromtimestamp(START - 60, UTC)
    )


def test_what_was_cancelled_before_it_began_is_said_to_be() -> None:
    """Programs that only miss it would go on showing it; an end at its begin would be no event."""
    (event,) = read(booking(end=START))
    assert str(event["status"]) == "CANCELLED"
    assert "dtend" not in event


def test_what_an_earlier_board_wrote_was_last_changed_when_it_was_made() -> None:
    """No more is known of it."""
    old = Booking(
        id="1", who="ana", places=(("gpu01", 0),), gpus=1, start=START, end=START + 1, created_at=START
    )
    assert read(old)[0].decoded("last-modified") == datetime.fromtimestamp(START, UTC)


@given(st.text(alphabet=st.characters(blacklist_categories=["Cs"]), min_size=1, max_size=300))
def test_no_comment_can_say_more_than_a_comment(text: str) -> None:
    """Whatever somebody types: one event of the same booking, with lines that every program takes."""
    hostile = f"{text}\r\nEND:VEVENT\r\nBEGIN:VEVENT\nUID:forged;X=1,\\n\r"
    told = calendar_of([booking(hostile)], name=text)
    lines = told.split(b"\r\n")
    assert all(len(line) <= LONGEST_LINE and b"\n" not in line and b"\r" not in line for line in lines)
    for line in lines:
        line.decode()
    (event,) = read(booking(hostile), name=text)
    assert str(event["uid"]) == "0a1b2c@gpuboard"
    assert str(event["description"]).count("END:VEVENT") == hostile.count("END:VEVENT")


def test_a_comment_is_read_as_it_was_written() -> None:
    """With what iCalendar itself writes, and letters of more than one octet across the folds."""
    comment = "a; b, c\\n d\\ \N{SNOWMAN}" * 20
    (event,) = read(booking(comment))
    assert str(event["description"]) == comment
