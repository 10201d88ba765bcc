"""The calendar feed of one's own bookings, on a running board."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from icalendar import Calendar

from gpuboard.wire.people import is_person_token
from tests.booking_lab import NODE, Lab, booking_lab
from tests.pushing import wait_until
from tests.signing_in import TestBrowser, make_token, remove_person, signed_in

pytestmark = pytest.mark.slow

FEED = "api/v1/bookings/feed"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the board has its log."""
    return tmp_path_factory.mktemp("lab")


@pytest.fixture(scope="module")
def lab(place: Path) -> Iterator[Lab]:
    """One board for all."""
    with booking_lab(place) as lab:
        yield lab


def feed_of(browser: TestBrowser) -> str:
    """The address of somebody's feed, below the board's."""
    path: str = browser.post(FEED, {}).raise_for_status().json()["path"]
    return path


def book(browser: TestBrowser, number: int, comment: str = "") -> str:
    """Book a GPU for an hour, tomorrow."""
    start = browser.http.get("api/v1/bookings").json()["at"] + 86400
    wish = {
        "places": [{"node": NODE, "gpus": [number]}],
        "start": start,
        "for_seconds": 3600,
        "comment": comment,
    }
    made = browser.post("api/v1/bookings", wish)
    assert made.status_code == 201, made.text
    ident: str = made.json()["booking"]["id"]
    return ident


def events(lab: Lab, path: str) -> dict[str, dict[str, str]]:
    """What a calendar program sees that knows nothing but the address, by booking."""
    answer = httpx.get(f"{lab.board.url}{path}").raise_for_status()
    assert answer.headers["content-type"] == "text/calendar; charset=utf-8"
    found = Calendar.from_ical(answer.content)
    assert isinstance(found, Calendar)
    told = [{name.lower(): str(event[name]) for name in event} for event in found.walk("VEVENT")]
    return {one["uid"].partition("@")[0]: one for one in told}


def test_a_feed_shows_ones_own_bookings_and_nobody_elses(lab: Lab) -> None:
    """With what was typed, whatever that is; changed and cancelled it stays the same event."""
    ana, ben = signed_in(lab.board, "ana"), signed_in(lab.board, "ben")
    mine, theirs = book(ana, 0, "x\nEND:VCALENDAR"), book(ben, 1)
    path = feed_of(ana)
    found = events(lab, path)
    assert mine in found
    assert theirs not in found
    assert (found[mine]["status"], found[mine]["sequence"]) == ("CONFIRMED", "0")
    ana.delete(f"api/v1/bookings/{mine}").raise_for_status()
    after = events(lab, path)[mine]
    assert (after["uid"], after["status"], after["sequence"]) == (found[mine]["uid"], "CANCELLED", "1")


def test_a_key_is_told_once_and_ends_when_it_is_replaced_or_revoked(lab: Lab) -> None:
    """Whoever has the old address sees nothing any more."""
    ana = signed_in(lab.board, "ana")
    old = feed_of(ana)
    new = feed_of(ana)
    assert ana.http.get(FEED).json()["path"] is None
    assert httpx.get(f"{lab.board.url}{old}").status_code == 403
    events(lab, new)
    assert ana.http.get(FEED).json()["last_used_at"] is not None
    assert ana.delete(FEED).status_code == 204
    assert httpx.get(f"{lab.board.url}{new}").status_code == 403
    assert ana.http.get(FEED).json()["created_at"] is None
    assert ana.delete(FEED).status_code == 404


def test_the_key_of_somebody_who_was_removed_dies(lab: Lab) -> None:
    """Also by another process."""
    path = feed_of(signed_in(lab.board, "gone"))
    events(lab, path)
    remove_person(lab.board.state, "gone")
    wait_until(lambda: httpx.get(f"{lab.board.url}{path}").status_code == 403)


def test_a_key_opens_the_feed_alone_and_a_token_opens_no_feed(lab: Lab) -> None:
    """A lost calendar address is no way in, and a token never stands in an address."""
    key = feed_of(signed_in(lab.board, "ana")).partition("key=")[2]
    assert not is_person_token(key)
    shown = httpx.get(f"{lab.board.url}{FEED}", headers={"authorization": f"Bearer {key}"})
    assert shown.status_code == 401
    _, token = make_token(lab.board.state, "ana", "read", "book")
    assert httpx.get(f"{lab.board.url}api/v1/bookings.ics", params={"key": token}).status_code == 403
    made = httpx.post(f"{lab.board.url}{FEED}", headers={"authorization": f"Bearer {token}"})
    assert made.status_code == 403


def test_no_key_is_written_anywhere(lab: Lab, place: Path) -> None:
    """Neither into the log nor into the database, however it is asked with; what was done is."""
    ana, admin = signed_in(lab.board, "ana"), signed_in(lab.board, "boss", "admin")
    path = feed_of(ana)
    key = path.partition("key=")[2]
    events(lab, path)
    httpx.get(f"{lab.board.url}api/v1/bookings.ics", params={"key": key, "nosuch": "1"})
    ana.delete(FEED).raise_for_status()
    files = [place / "log", *(one for one in lab.board.state.iterdir() if one.is_file())]
    assert not [file for file in files if key.encode() in file.read_bytes()]
    deeds = [one["what"] for one in admin.http.get("api/v1/audit").json() if one["who"] == "ana"]
    assert deeds[:2] == ["feed-revoked", "feed-made"]
