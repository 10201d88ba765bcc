"""Bookings over the API, on a running board."""

import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import httpx
import pytest

from gpuboard.bookings.limits import week_of
from gpuboard.bookings.store import GENERATION
from gpuboard.model.problems import problem
from gpuboard.storage.sqlite import FILE_NAME
from tests.booking_lab import NODE, SETTINGS, Lab, booking_lab, gpu
from tests.pushing import wait_until
from tests.signing_in import TestBrowser, make_token, signed_in

HOUR = 3600.0
ONE = {"places": [{"node": NODE, "gpus": [0]}], "for_seconds": HOUR}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """One board for all; every test gives back what it books."""
    with booking_lab(tmp_path_factory.mktemp("lab")) as lab:
        yield lab


@pytest.fixture(scope="module")
def ana(lab: Lab) -> TestBrowser:
    """Somebody who books."""
    return signed_in(lab.board, "ana")


@pytest.fixture(scope="module")
def ben(lab: Lab) -> TestBrowser:
    """Somebody else."""
    return signed_in(lab.board, "ben")


@pytest.fixture(scope="module")
def admin(lab: Lab) -> TestBrowser:
    """An admin."""
    return signed_in(lab.board, "boss", "admin")


@pytest.fixture(autouse=True)
def _given_back(lab: Lab, admin: TestBrowser) -> Iterator[None]:
    yield
    for one in bookings(admin):
        if one["state"] in ("upcoming", "running"):
            admin.delete(f"api/v1/bookings/{one['id']}").raise_for_status()
    lab.report(gpu(0), gpu(1), gpu(2))


def book(who: TestBrowser, **wish: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """Book, and see what is booked."""
    answer = who.post("api/v1/bookings", {**ONE, **wish})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def bookings(who: TestBrowser | None, lab: Lab | None = None, **query: str) -> list[dict[str, Any]]:
    """What is booked, as somebody sees it."""
    get = who.http.get if who else httpx.get
    url = "api/v1/bookings" if who else f"{lab.board.url}api/v1/bookings"  # type: ignore[union-attr] # one of both
    found: list[dict[str, Any]] = get(url, params=query).raise_for_status().json()["bookings"]
    return found


def test_what_somebody_books_is_booked_for_all(lab: Lab, ana: TestBrowser) -> None:
    """On the board, in the list and by its id, until it is cancelled."""
    made = book(ana, comment="a paper")["booking"]
    assert (made["who"], made["state"], made["comment"], made["is_mine"]) == (
        "ana",
        "running",
        "a paper",
        True,
    )
    wait_until(lambda: lab.row(0)["verdict"]["word"] == "booked")
    url = f"api/v1/bookings/{made['id']}"
    for found in (bookings(ana, mine="true"), [ana.http.get(url).json()]):
        assert [{**one, "use": None} for one in found] == [made]
    ended = ana.delete(f"api/v1/bookings/{made['id']}").json()["booking"]
    assert (ended["state"], ended["outcome"], ended["may_change"]) == ("cancelled", "cancelled", False)
    wait_until(lambda: lab.row(0)["verdict"]["word"] == "free")


def test_whoever_sees_counts_alone_sees_no_name_comment_or_id(lab: Lab, ana: TestBrowser) -> None:
    """That a place is booked and until when is no secret."""
    made = book(ana, comment="secret paper")["booking"]
    (seen,) = bookings(None, lab)
    assert (seen["places"], seen["end"], seen["state"]) == (made["places"], made["end"], "running")
    assert (seen["id"], seen["who"], seen["comment"], seen["created_at"]) == (None, None, None, None)
    assert httpx.get(f"{lab.board.url}api/v1/bookings/{made['id']}").status_code == 404


@pytest.mark.parametrize("name", ["Pacific/Kiritimati", "Pacific/Pago_Pago"])
def test_the_list_says_when_tomorrow_begins_for_the_board(tmp_path: Path, name: str) -> None:
    """It refuses by its own clocks: a page in another zone would offer what is refused."""
    zone = ZoneInfo(name)
    with booking_lab(tmp_path, f'{SETTINGS}\n[board]\ntimezone = "{name}"\n') as lab:
        told = httpx.get(f"{lab.board.url}api/v1/bookings").json()
    midnight = datetime.fromtimestamp(told["tomorrow"], zone)
    assert (midnight.hour, midnight.minute, midnight.second) == (0, 0, 0)
    assert 0 < told["tomorrow"] - told["at"] <= 24 * HOUR


def test_a_conflict_says_who_until_when_and_the_next_gap(ana: TestBrowser, ben: TestBrowser) -> None:
    """As words, and as values for pages."""
    made = book(ana)["booking"]
    answer = ben.post("api/v1/bookings", ONE)
    assert answer.status_code == 409
    problem = answer.json()
    assert problem["code"] == "booking-conflict"
    assert "booked by ana until" in problem["detail"]
    assert (problem["values"]["until"], problem["values"]["gap_start"]) == (made["end"], made["end"])


def test_a_token_that_sees_no_names_is_told_none(lab: Lab, ana: TestBrowser) -> None:
    """With the scope book alone."""
    book(ana)
    _, token = make_token(lab.board.state, "carl", "book")
    headers = {"authorization": f"Bearer {token}"}
    answer = httpx.post(f"{lab.board.url}api/v1/bookings", json=ONE, headers=headers)
    assert answer.status_code == 409
    assert "ana" not in answer.text


def test_a_name_that_is_part_of_a_nodes_name_is_not_given_away(lab: Lab) -> None:
    """The node is called in the sentence as it is: what is missing there would be the name."""
    book(signed_in(lab.board, "gpu"))
    _, token = make_token(lab.board.state, "carl", "book")
    headers = {"authorization": f"Bearer {token}"}
    problem = httpx.post(f"{lab.board.url}api/v1/bookings", json=ONE, headers=headers).json()
    assert problem["detail"].startswith(f"{NODE}:0 is booked by somebody until")
    assert (problem["values"]["node"], problem["values"]["who"]) == (NODE, None)


def test_a_token_without_the_scope_books_nothing(lab: Lab) -> None:
    """Reading is something else."""
    _, token = make_token(lab.board.state, "carl", "read")
    headers = {"authorization": f"Bearer {token}"}
    assert httpx.post(f"{lab.board.url}api/v1/bookings", json=ONE, headers=headers).status_code == 403


def test_a_token_for_booking_knows_what_it_has_booked(lab: Lab, ana: TestBrowser) -> None:
    """Its own bookings whole, of others what everybody sees."""
    book(ana)
    _, token = make_token(lab.board.state, "carl", "book")
    headers = {"authorization": f"Bearer {token}"}
    url = f"{lab.board.url}api/v1/bookings"
    other = {"places": [{"node": NODE, "gpus": [1]}], "for_seconds": HOUR}
    made = httpx.post(url, json=other, headers=headers).json()["booking"]
    seen = httpx.get(url, headers=headers).json()["bookings"]
    assert {(one["id"], one["who"], one["is_mine"]) for one in seen} == {
        (made["id"], "carl", True),
        (None, None, False),
    }
    assert httpx.get(f"{url}/{made['id']}", headers=headers).json()["who"] == "carl"


def test_an_admin_may_change_what_is_not_theirs(ana: TestBrowser, admin: TestBrowser) -> None:
    """Others may not, and nobody's booking becomes an admin's."""
    book(ana)
    (seen,) = bookings(admin)
    assert (seen["is_mine"], seen["may_change"]) == (False, True)


def test_without_the_pages_token_nothing_is_booked(ana: TestBrowser) -> None:
    """Another site's page may send the cookie, and no more."""
    answer = ana.http.post("api/v1/bookings", json=ONE)
    assert (answer.status_code, answer.json()["code"]) == (403, "csrf")


def test_policies_hold_and_are_named_and_a_group_has_its_own(lab: Lab, ana: TestBrowser) -> None:
    """What holds for somebody is told before."""
    answer = ana.post("api/v1/bookings", {**ONE, "for_seconds": 9 * HOUR})
    assert (answer.status_code, answer.json()["code"]) == (403, "booking-longest")
    assert "(policy [bookings] longest)" in answer.json()["detail"]
    vera = signed_in(lab.board, "vera")
    assert book(vera, for_seconds=9 * HOUR)["booking"]["who"] == "vera"
    (limit,) = vera.http.get("api/v1/bookings/limits").json()["limits"]
    assert (limit["policy"], limit["most"], limit["group"]) == ("longest", 10 * 86400, "vip")


def test_a_group_may_name_any_account_of_its_people(tmp_path: Path) -> None:
    """Whoever signs in is the person; as soon as settings join the account with that one."""
    with booking_lab(tmp_path, SETTINGS) as lab:
        willem = signed_in(lab.board, "willem")

        def groups() -> set[str | None]:
            told = willem.http.get("api/v1/bookings/limits").json()["limits"]
            return {one["group"] for one in told}

        assert groups() == {None}
        (tmp_path / "gpuboard.toml").write_text(SETTINGS + '\n[names.people]\nwim = "willem"\n')
        lab.board.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "few" in groups())


def test_what_is_left_is_that_of_the_span_that_is_asked_for(lab: Lab) -> None:
    """A booking of next week takes no hours of this one, and no GPU of now."""
    wim = signed_in(lab.board, "wim")
    monday = week_of(time.time(), None)[1]
    made = book(wim, start=monday + HOUR, for_seconds=4 * HOUR)["booking"]["id"]

    def left(start: float, end: float, without: str = "") -> dict[str, float | None]:
        told = wim.http.get("api/v1/bookings/limits", params={"from": start, "to": end, "without": without})
        return {one["policy"]: one["left"] for one in told.raise_for_status().json()["limits"]}

    assert left(monday - 2 * HOUR, monday - HOUR) == {
        "longest": None,
        "gpus_at_once": 2,
        "hours_per_week": 10,
    }
    assert left(monday, monday + 2 * HOUR) == {"longest": None, "gpus_at_once": 1, "hours_per_week": 6}
    assert left(monday + 6 * HOUR, monday + 8 * HOUR)["gpus_at_once"] == 2
    # What is to change takes nothing from itself.
    as_if_not = left(monday, monday + 2 * HOUR, made)
    assert as_if_not == {"longest": None, "gpus_at_once": 2, "hours_per_week": 10}
    # Over two weeks the one with least is told, and each beside it.
    assert left(monday - HOUR, monday + HOUR) == {"longest": None, "gpus_at_once": 2, "hours_per_week": 6}
    told = wim.http.get("api/v1/bookings/limits", params={"from": monday - HOUR, "to": monday + HOUR}).json()
    assert [(one["end"], one["left"]) for one in told["weeks"]] == [
        (monday, 10),
        (week_of(monday, None)[1], 6),
    ]
    (longest, *_) = wim.http.get("api/v1/bookings/limits").raise_for_status().json()["limits"]
    assert longest["most"] == 8 * HOUR
    backwards = wim.http.get("api/v1/bookings/limits", params={"from": monday, "to": monday})
    assert (backwards.status_code, "must be before to" in backwards.text) == (400, True)


def test_whoever_writes_a_name_in_another_case_has_no_second_quota(lab: Lab) -> None:
    """A proxy whose sign-in ignores case would else give everybody several."""
    small, large = signed_in(lab.board, "wim"), signed_in(lab.board, "WIM")
    one = {"places": [{"node": NODE, "gpus": [0, 1]}], "for_seconds": HOUR}
    made = small.post("api/v1/bookings", one).json()["booking"]
    other = {"places": [{"node": NODE, "gpus": [2]}], "for_seconds": HOUR}
    refused = large.post("api/v1/bookings", other)
    assert (refused.status_code, refused.json()["code"]) == (403, "booking-gpus-at-once")
    mine = [found["id"] for found in bookings(large, mine="true") if found["state"] == "running"]
    assert mine == [made["id"]]
    limits = large.http.get("api/v1/bookings/limits").raise_for_status().json()["limits"]
    assert [found["left"] for found in limits if found["policy"] == "gpus_at_once"] == [0]


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ({"start": "2030-01-01T09:00:00"}, "without its offset"),
        ({"end": "soon", "for_seconds": None}, "RFC 3339"),
        ({"for_seconds": None}, "either end or for_seconds"),
        ({"places": []}, "either places or any"),
        ({"any": {"gpus": 1}}, "either places or any"),
        ({"comment": "x" * 501}, "comment"),
        ({"end": 1, "for_seconds": None}, "over already"),
    ],
)
def test_what_makes_no_sense_is_refused(ana: TestBrowser, wish: dict[str, Any], words: str) -> None:
    """In words that say what to write."""
    answer = ana.post("api/v1/bookings", {**ONE, **wish})
    assert answer.status_code == 400
    assert words in answer.text


def test_times_are_unix_seconds_or_rfc_3339_with_offset(ana: TestBrowser) -> None:
    """Both mean the same moment."""
    at = float(int(time.time()) + 7200)
    text = datetime.fromtimestamp(at, UTC).isoformat()
    made = book(ana, start=text, for_seconds=None, end=at + 60)["booking"]
    assert (made["start"], made["end"], made["state"]) == (at, at + 60, "upcoming")


def test_what_is_broken_is_chosen_only_where_there_is_nothing_else(lab: Lab, ana: TestBrowser) -> None:
    """It may still be so then, which is said; what works comes first."""
    lab.report(gpu(0), gpu(1), gpu(2), problems=(problem("gpu-lost", gpu_uuid=gpu(0).uuid),))
    later: dict[str, Any] = {"start": int(time.time()) + 2 * 86_400, "places": []}
    works = book(ana, **later, any={"gpus": 2, "same_node": True})
    assert works["booking"]["places"] == [{"node": NODE, "gpus": [1, 2]}]
    assert [note["code"] for note in works["notes"]] == ["booking-chosen-smallest"]
    broken = book(ana, **later, any={"gpus": 1})
    assert broken["booking"]["places"] == [{"node": NODE, "gpus": [0]}]
    assert [note["code"] for note in broken["notes"]][1:] == ["booking-broken-now"]


def test_any_gpus_are_chosen_as_free_would_and_it_is_said_why(ana: TestBrowser, ben: TestBrowser) -> None:
    """What is booked is not offered; more than there are is refused."""
    book(ana)
    wish = {"places": [], "any": {"gpus": 2, "memory": "40G", "same_node": True}, "for_seconds": HOUR}
    made = ben.post("api/v1/bookings", wish).json()
    assert made["booking"]["places"] == [{"node": NODE, "gpus": [1, 2]}]
    assert made["notes"][0]["code"] == "booking-chosen-smallest"
    answer = ben.post("api/v1/bookings", wish)
    assert (answer.status_code, answer.json()["code"]) == (409, "booking-not-enough")


def test_who_is_on_a_gpu_may_book_it_now_and_nobody_else(
    lab: Lab, ana: TestBrowser, ben: TestBrowser
) -> None:
    """Somebody else hears who is there."""
    lab.report(gpu(0, user="ben"), gpu(1), gpu(2))
    answer = ana.post("api/v1/bookings", ONE)
    assert (answer.status_code, answer.json()["values"]["who"]) == (409, "ben")
    assert book(ben)["booking"]["who"] == "ben"


def test_somebody_else_on_a_booked_gpu_is_flagged(lab: Lab, ana: TestBrowser) -> None:
    """The booker and root are not."""
    book(ana)
    flags = []
    for user, uid in (("ben", 2001), ("root", 0), ("ana", 2000)):
        lab.report(gpu(0, user=user, uid=uid), gpu(1), gpu(2))
        # The next look is of a later tick than the report's.
        wait_until(lambda user=user: _user(ana) == user)  # type: ignore[misc] # bound at once
        flags.append("trespass" in ana.http.get(f"api/v1/nodes/{NODE}").json()["gpus"][0]["verdict"]["flags"])
    assert flags == [True, False, False]


def _user(who: TestBrowser) -> str | None:
    users = who.http.get(f"api/v1/nodes/{NODE}").json()["gpus"][0]["users"]
    return users[0]["user"] if users else None


def test_a_booking_is_extended_moved_and_described_by_its_owner(ana: TestBrowser, ben: TestBrowser) -> None:
    """Not by others."""
    made = book(ana, start=time.time() + 7200)["booking"]
    url = f"api/v1/bookings/{made['id']}"
    headers = {"x-csrf-token": ben.csrf}
    assert ben.http.patch(url, json={"extend_seconds": 60}, headers=headers).status_code == 403
    change = {"extend_seconds": 600, "comment": "longer", "places": [{"node": NODE, "gpus": [2]}]}
    changed = ana.http.patch(url, json=change, headers={"x-csrf-token": ana.csrf}).json()["booking"]
    assert changed["end"] == made["end"] + 600
    assert (changed["comment"], changed["places"]) == ("longer", [{"node": NODE, "gpus": [2]}])


def test_a_part_of_a_second_is_booked_by_nobody(ana: TestBrowser) -> None:
    """All times are whole seconds, also after one was extended by more than that."""
    made = book(ana)["booking"]
    url, headers = f"api/v1/bookings/{made['id']}", {"x-csrf-token": ana.csrf}
    longer = ana.http.patch(url, json={"extend_seconds": 60.7}, headers=headers).json()["booking"]
    assert longer["end"] == made["end"] + 60


def test_who_has_seen_an_older_state_changes_nothing(ana: TestBrowser) -> None:
    """The second of two windows hears what it is now; without a revision it is changed however it is."""
    made = book(ana)["booking"]
    url, headers = f"api/v1/bookings/{made['id']}", {"x-csrf-token": ana.csrf}
    seen = made["revision"]
    first = ana.http.patch(url, json={"extend_seconds": 600, "revision": seen}, headers=headers)
    assert first.json()["booking"]["revision"] > seen
    second = ana.http.patch(url, json={"end": made["end"], "revision": seen}, headers=headers)
    told = second.json()
    assert (second.status_code, told["code"]) == (409, "booking-outdated")
    assert told["values"] == {"start": made["start"], "end": made["end"] + 600}
    assert ana.http.get(url).json()["end"] == made["end"] + 600
    assert ana.http.patch(url, json={"end": made["end"]}, headers=headers).is_success


def test_what_is_booked_for_an_account_is_its_persons(tmp_path: Path) -> None:
    """Whichever of somebody's names an admin writes: they find it as theirs, on the board too."""
    with booking_lab(tmp_path, '[names.people]\nachen2 = "chen"\n' + SETTINGS) as lab:
        boss, chen = signed_in(lab.board, "boss", "admin"), signed_in(lab.board, "chen")
        made = boss.post("api/v1/bookings", {**ONE, "who": "AChen2"}).json()["booking"]
        assert made["who"] == "chen"
        assert [one["id"] for one in bookings(chen, mine="true")] == [made["id"]]
        again = boss.post("api/v1/bookings", {**ONE, "who": "achen2"}).json()["values"]
        assert (again["who"], again["asked_for"]) == ("chen", "chen")


@pytest.mark.parametrize("name", ["root", "Unknown", "nobody", "maintenance", " "])
def test_nobody_books_for_whom_no_person_can_be(admin: TestBrowser, name: str) -> None:
    """Such accounts are never seen as somebody: the booking would be no one's."""
    answer = admin.post("api/v1/bookings", {**ONE, "who": name})
    assert (answer.status_code, answer.json()["detail"]) == (400, "who: this can be nobody's name")


def test_an_admins_block_cuts_bookings_and_says_whose(ana: TestBrowser, admin: TestBrowser) -> None:
    """The owner sees it displaced; who is no admin cannot block."""
    made = book(ana, start=time.time() + 7200)["booking"]
    block = {"places": [{"node": NODE}], "for_seconds": 4 * HOUR, "kind": "block"}
    assert ana.post("api/v1/bookings", block).status_code == 403
    cut = admin.post("api/v1/bookings", block).json()["displaced"]
    assert [(one["id"], one["who"]) for one in cut] == [(made["id"], "ana")]
    assert ana.http.get(f"api/v1/bookings/{made['id']}").json()["state"] == "displaced"


def test_a_body_that_says_something_twice_books_and_changes_nothing(ana: TestBrowser) -> None:
    """One of both was not meant."""
    headers = {
        "x-csrf-token": ana.http.get("api/v1/session").json()["csrf"],
        "content-type": "application/json",
    }
    made = book(ana)["booking"]
    for method, path in (("POST", "api/v1/bookings"), ("PATCH", f"api/v1/bookings/{made['id']}")):
        answer = ana.http.request(method, path, content=b'{"end": 4e9, "end": 5e9}', headers=headers)
        assert (answer.status_code, answer.json()["detail"]) == (
            400,
            "the key 'end' stands twice in one object",
        )


@pytest.mark.parametrize("before", ["", "nan", "💥", "1-2", "00001784000000000-0000000g"])
def test_what_is_no_entry_of_the_audit_log_is_refused(admin: TestBrowser, before: str) -> None:
    """As other parameters: who mistypes it would think that there is nothing before."""
    newest = admin.http.get("api/v1/audit").json()[0]["id"]
    assert admin.http.get("api/v1/audit", params={"before": newest}).status_code == 200
    answer = admin.http.get("api/v1/audit", params={"before": before})
    assert (answer.status_code, answer.json()["detail"][:7]) == (400, "before:")


def test_what_was_done_is_in_the_audit_log(ana: TestBrowser, admin: TestBrowser) -> None:
    """Who booked what by which way."""
    made = book(ana)["booking"]
    newest = admin.http.get("api/v1/audit").json()[0]
    assert (newest["who"], newest["what"], newest["way"]) == ("ana", "booking-made", "socket")
    assert made["id"] in newest["detail"]
    assert f"{NODE}:0" in newest["detail"]


def test_the_claims_of_the_fleet_are_those_of_the_book(lab: Lab, ana: TestBrowser, ben: TestBrowser) -> None:
    """After books, changes and cancellations, also what another process has written."""
    book(ana, places=[{"node": NODE, "gpus": [0, 1]}], comment="one")
    other = book(ben, places=[{"node": NODE, "gpus": [2]}])["booking"]
    ben.delete(f"api/v1/bookings/{other['id']}")
    with closing(sqlite3.connect(lab.board.state / FILE_NAME)) as connection:
        connection.execute("UPDATE bookings SET comment = 'by another process' WHERE comment = 'one'")
        connection.execute("UPDATE facts SET value = value + 1 WHERE name = 'bookings_generation'")
        connection.commit()

    def claims() -> list[str | None]:
        gpus = ana.http.get(f"api/v1/nodes/{NODE}").json()["gpus"]
        return [one["claim"] and f"{one['claim']['who']}: {one['claim']['comment']}" for one in gpus]

    wait_until(lambda: claims() == ["ana: by another process", "ana: by another process", None])


def test_running_bookings_show_their_use_and_are_counted_by_state(lab: Lab, ana: TestBrowser) -> None:
    """Who is on it now is counted as it happens; the metrics say no names."""
    made = book(ana)["booking"]
    lab.report(gpu(0, user="ana"), gpu(1), gpu(2))
    url = f"api/v1/bookings/{made['id']}"
    wait_until(lambda: (ana.http.get(url).json()["use"] or {}).get("used_seconds"))
    wait_until(lambda: 'gpuboard_bookings{state="running"} 1' in httpx.get(f"{lab.board.url}metrics").text)


def test_what_was_released_says_that_nobody_came(lab: Lab, ana: TestBrowser) -> None:
    """After its end too: whoever reads it later asks why."""
    made = book(ana)["booking"]
    with closing(sqlite3.connect(lab.board.state / FILE_NAME)) as connection:
        connection.execute(
            "UPDATE bookings SET outcome = 'released', end_at = start_at + 1 WHERE id = ?", (made["id"],)
        )
        # As with every change.
        connection.execute("UPDATE facts SET value = value + 1 WHERE name = ?", (GENERATION,))
        connection.commit()
    wait_until(lambda: ana.http.get(f"api/v1/bookings/{made['id']}").json()["state"] == "released")
    assert ana.http.get(f"api/v1/bookings/{made['id']}").json()["no_show"] is True
