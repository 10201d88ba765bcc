"""Signing in by a link, staying, leaving: over HTTP and on open streams."""

import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from gpuboard.model.identity import Scope
from tests.board import RunningBoard, running_board
from tests.signing_in import (
    TestBrowser,
    log_in,
    make_token,
    revoke_token,
    signed_in,
)
from tests.web.conftest import decode_frame

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def counting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBoard]:
    """A board whose visitors see counts."""
    folder = tmp_path_factory.mktemp("counting")
    with running_board("--demo", "2", "--anonymous", "counts", log=folder / "log") as running:
        yield running


def people_of(browser: TestBrowser) -> object:
    """Who holds what, as this browser sees it."""
    return browser.http.get("api/v1/people").json()["people"]


def test_a_link_shows_names_to_whom_it_signs_in(counting: RunningBoard) -> None:
    """Counts before, names after; and the session says who, how and until when."""
    login = log_in(counting.state, "ana")
    browser = TestBrowser(counting)
    before = browser.session()
    assert (before["person"], before["role"], before["tier"]) == (None, "anonymous", "counts")
    assert people_of(browser) is None
    looked = browser.http.get("api/v1/session/link", headers={"x-link-code": login.code})
    assert looked.json()["person"] == "ana"
    answer = browser.use_link(login.code)
    assert answer.status_code == 200
    told = answer.json()
    assert (told["person"], told["role"], told["tier"], told["way"]) == ("ana", "user", "names", "socket")
    assert told["expires_at"] > told["since"]
    assert people_of(browser)
    assert browser.session()["person"] == "ana"


def test_a_link_is_used_up_by_its_button_and_not_by_looks(counting: RunningBoard) -> None:
    """A chat's preview asks twice before anybody has pressed anything."""
    login = log_in(counting.state, "ana")
    for _ in range(2):
        preview = httpx.get(f"{counting.url}api/v1/session/link", headers={"x-link-code": login.code})
        assert preview.status_code == 200
        assert httpx.get(f"{counting.url}sign-in/link").status_code in (200, 503)
    first, second = TestBrowser(counting), TestBrowser(counting)
    assert first.use_link(login.code).status_code == 200
    refused = second.use_link(login.code)
    assert (refused.status_code, refused.json()["code"]) == (410, "link-used")
    assert second.session()["person"] is None
    unknown = second.use_link("x" * 43)
    assert unknown.status_code == 404


def test_cookies_are_kept_from_scripts_and_other_sites(counting: RunningBoard) -> None:
    """And have the port in their names: browsers share them among all ports of a host."""
    browser = TestBrowser(counting)
    answer = browser.use_link(log_in(counting.state, "ana").code)
    (cookie,) = answer.headers.get_list("set-cookie")
    port = httpx.URL(counting.url).port
    assert cookie.startswith(f"gpuboard-session-{port}=")
    assert {"httponly", "path=/", "samesite=lax"} <= {part.strip().lower() for part in cookie.split(";")}
    # Beyond this machine it would need https; here there is no TLS to be had.
    assert "secure" not in cookie.lower()


def test_a_stolen_cookie_dies_with_signing_out_everywhere(counting: RunningBoard) -> None:
    """Streams that were opened with it are closed, and say why."""
    owner = signed_in(counting, "eve")
    thief = TestBrowser(counting)
    stolen = {"cookie": owner.cookie_header()}
    assert thief.http.get("api/v1/people", headers=stolen).json()["people"]
    url = counting.url.replace("http", "ws") + "api/v1/stream"
    with connect(url, additional_headers=stolen, compression=None) as stream:
        assert decode_frame(stream.recv(timeout=60))["tier"] == "names"
        assert owner.post("api/v1/session/sign-out", {"everywhere": True}).status_code == 204
        assert closing(stream) == (4001, "signed-out")
    assert thief.http.get("api/v1/people", headers=stolen).json()["people"] is None
    assert owner.session()["person"] is None


def test_a_session_by_a_nodes_word_reaches_nothing_that_began_otherwise(counting: RunningBoard) -> None:
    """Root of a node is any of its users there: what they have by another way it neither sees nor ends."""
    owner = signed_in(counting, "olga")
    cron = owner.post("api/v1/tokens", {"name": "cron", "scopes": ["read"]}).json()["id"]
    owner.post("api/v1/bookings/feed", {}).raise_for_status()
    (own,) = [one["id"] for one in owner.http.get("api/v1/sessions").json()]
    root = TestBrowser(counting)
    root.use_link(log_in(counting.state, "olga", way="node").code).raise_for_status()
    assert [one["way"] for one in root.http.get("api/v1/sessions").json()] == ["node"]
    assert [one["name"] for one in root.http.get("api/v1/tokens").json()] == ["terminal of olga"]
    assert root.http.get("api/v1/bookings/feed").json()["created_at"] is None
    for what in (f"sessions/{own}", f"tokens/{cron}", "bookings/feed"):
        assert root.delete(f"api/v1/{what}").status_code == 404
    assert len(owner.http.get("api/v1/sessions").json()) == 2
    assert root.post("api/v1/session/sign-out", {"everywhere": True}).status_code == 204
    assert root.session()["person"] is None
    assert owner.session()["person"] == "olga"
    assert {one["name"] for one in owner.http.get("api/v1/tokens").json()} >= {"cron", "calendar feed"}


def closing(stream: object, seconds: float = 60.0) -> tuple[int, str] | None:
    """How a stream ends."""
    deadline = time.monotonic() + seconds
    try:
        while time.monotonic() < deadline:
            stream.recv(timeout=seconds)  # type: ignore[attr-defined] # a connection
    except ConnectionClosed as closed:
        return None if closed.rcvd is None else (closed.rcvd.code, closed.rcvd.reason)
    return None


def test_signing_out_here_leaves_others_signed_in(counting: RunningBoard) -> None:
    """Each browser is its own."""
    first, second = signed_in(counting, "ida"), signed_in(counting, "ida")
    assert first.post("api/v1/session/sign-out", {}).status_code == 204
    assert (first.session()["person"], second.session()["person"]) == (None, "ida")


def test_who_signs_in_as_another_is_no_longer_the_first(counting: RunningBoard) -> None:
    """The session before is over, not only hidden."""
    browser = signed_in(counting, "ida")
    before = {"cookie": browser.cookie_header()}
    assert browser.use_link(log_in(counting.state, "ben").code).json()["person"] == "ben"
    assert httpx.get(f"{counting.url}api/v1/session", headers=before).json()["person"] is None


def test_a_change_needs_the_token_of_our_own_page(counting: RunningBoard) -> None:
    """A page of somebody else has the cookies along, and cannot know it."""
    browser = signed_in(counting, "ana")
    other = TestBrowser(counting)
    for csrf in ("", "x", other.csrf, "ä"):
        headers = {b"x-csrf-token": csrf.encode()}
        refused = browser.http.post("api/v1/session/sign-out", json={}, headers=headers)
        assert (refused.status_code, refused.json()["code"]) == (403, "csrf")
    foreign = {"x-csrf-token": browser.csrf, "origin": "https://evil.example"}
    assert browser.http.post("api/v1/session/sign-out", json={}, headers=foreign).status_code == 421
    assert browser.session()["person"] == "ana"


def test_a_token_that_is_not_good_is_told_so(counting: RunningBoard) -> None:
    """Counts instead of names would look like an answer."""
    ident, token = make_token(counting.state, "ana", "read")
    headers = {"authorization": f"Bearer {token}"}
    assert httpx.get(f"{counting.url}api/v1/people", headers=headers).json()["people"]
    revoke_token(counting.state, ident)
    wrong = {"authorization": f"Bearer {token[:-4]}aaaa"}
    assert httpx.get(f"{counting.url}api/v1/people", headers=wrong).status_code == 401
    assert httpx.get(f"{counting.url}healthz", headers=wrong).status_code == 200


@pytest.mark.parametrize(
    "shown", ["Bearer gpb_short", "Bearer", f"bearer gpf_{'A' * 43}", "Bearer Bearer gpb_x", "Bearer sk-123"]
)
def test_what_is_no_token_at_all_is_told_so(counting: RunningBoard, shown: str) -> None:
    """As of a variable that is empty, or a line that was cut: counts would look like an answer."""
    headers = {"authorization": shown}
    assert httpx.get(f"{counting.url}api/v1/people", headers=headers).status_code == 401
    assert httpx.get(f"{counting.url}healthz", headers=headers).status_code == 200


@pytest.mark.parametrize("scope", ["metrics", "read", "book"])
def test_a_programs_token_manages_nothing_of_its_owner(counting: RunningBoard, scope: Scope) -> None:
    """Who finds it in a cron job neither sees where its owner is signed in nor signs them out."""
    mine = signed_in(counting, "ana")
    (here,) = [one["id"] for one in mine.http.get("api/v1/sessions").json() if one["is_this"]]
    _, token = make_token(counting.state, "ana", scope)
    with httpx.Client(
        base_url=f"{counting.url}api/v1/", headers={"authorization": f"Bearer {token}"}
    ) as program:
        answers = [
            program.get("sessions"),
            program.get("tokens"),
            program.delete(f"sessions/{here}"),
            program.post("tokens", json={"name": "more", "scopes": [scope]}),
            program.post("session/sign-out", json={"everywhere": True}),
        ]
    assert {one.status_code for one in answers} == {403}
    assert mine.session()["person"] == "ana"


def test_a_token_for_metrics_is_told_no_limits(counting: RunningBoard) -> None:
    """They are for whoever may read or book."""
    _, token = make_token(counting.state, "ana", "metrics")
    answer = httpx.get(f"{counting.url}api/v1/bookings/limits", headers={"authorization": f"Bearer {token}"})
    assert answer.status_code == 403


def test_a_session_outlives_the_board(tmp_path: Path) -> None:
    """After a restart everybody is still who they were."""
    port = None
    with running_board("--demo", "1", "--anonymous", "counts", log=tmp_path / "log") as board:
        browser = signed_in(board, "ana")
        port = httpx.URL(board.url).port
    with running_board("--demo", "1", "--anonymous", "counts", log=tmp_path / "log", port=port):
        assert browser.session()["person"] == "ana"
