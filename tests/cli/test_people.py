"""`gpuboard person`, `token` and `audit` on a board that runs."""

import json
import os
import pwd
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from gpuboard.assembly.accounts import ADMIN
from gpuboard.settings.access import AccessTable
from tests.board import RunningBoard, running_board
from tests.cli.test_login import command
from tests.databases import open_database
from tests.pushing import wait_until
from tests.signing_in import TestBrowser, log_in

pytestmark = pytest.mark.slow

PASSWORD = "correct horse battery"


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBoard]:
    """A board that shows nothing to visitors."""
    folder = tmp_path_factory.mktemp("closed")
    with running_board("--demo", "1", "--anonymous", "nothing", log=folder / "log") as running:
        yield running


def run(board: RunningBoard, *words: str) -> str:
    """What a command of the admin prints."""
    done = command(*words, "--state-dir", str(board.state), home=board.state)
    assert done.returncode == 0, done.stderr
    return done.stdout


def set_up(board: RunningBoard, name: str, *more: str) -> TestBrowser:
    """The browser of somebody who has just chosen a password."""
    link = run(board, "person", "add", name, *more).strip()
    browser = TestBrowser(board)
    code = link.partition("#")[2]
    assert browser.http.get("api/v1/session/link", headers={"x-link-code": code}).json()["kind"] == "set-up"
    browser.post("api/v1/session/setup", {"code": code, "password": PASSWORD}).raise_for_status()
    return browser


def test_an_account_is_added_set_up_used_raised_and_removed(closed: RunningBoard) -> None:
    """Everything holds at once, while the board runs."""
    first = set_up(closed, "eva")
    assert first.session()["role"] == "user"
    assert first.session()["ways"][1] == {"kind": "password", "label": "Password", "href": None}
    second = TestBrowser(closed)
    wrong = second.post("api/v1/session/password", {"name": "eva", "password": "wrong"})
    assert (wrong.status_code, wrong.json()["code"]) == (401, "wrong-password")
    told = second.post("api/v1/session/password", {"name": "eva", "password": PASSWORD}).json()
    assert (told["person"], told["way"], told["tier"]) == ("eva", "password", "names")
    assert "eva     user  yes" in run(closed, "person", "list")
    run(closed, "person", "role", "eva", "admin")
    wait_until(lambda: second.session()["role"] == "admin")
    assert second.session()["has_admin"]
    listed = run(closed, "audit")
    assert all(what in listed for what in ("person-add", "password-set", "wrong-password", "person-role"))
    assert second.http.get("api/v1/audit").json()[0]["what"] == "person-role"
    run(closed, "person", "remove", "eva")
    wait_until(lambda: first.session()["person"] is None and second.session()["person"] is None)


def test_another_link_for_an_account_leaves_its_role(closed: RunningBoard) -> None:
    """Who lost the first link is no less of an admin for it."""
    run(closed, "person", "add", "dana", "--role", "admin")
    run(closed, "person", "add", "dana")
    assert any(line.split() == ["dana", "admin", "no"] for line in run(closed, "person", "list").splitlines())
    run(closed, "person", "remove", "dana")


def test_what_somebody_has_booked_goes_with_the_account(closed: RunningBoard) -> None:
    """What runs ends, what is to come never will be; it is said, and written down."""
    fay, gus = set_up(closed, "fay"), set_up(closed, "gus")
    at = fay.http.get("api/v1/bookings").json()["at"]
    for browser, day in ((fay, 5), (fay, 6), (gus, 7)):
        wish = {
            "places": [{"node": "vision-01", "gpus": [1]}],
            "start": at + day * 86400,
            "for_seconds": 3600,
        }
        assert browser.post("api/v1/bookings", wish).status_code == 201
    assert "what fay had booked is free again: vision-01:1, vision-01:1\n" in run(
        closed, "person", "remove", "fay"
    )

    def states() -> list[tuple[str, str]]:
        query = {"to": at + 30 * 86400}
        told = gus.http.get("api/v1/bookings", params=query).json()["bookings"]
        return [(one["who"], one["state"]) for one in told]

    assert states() == [("fay", "cancelled"), ("fay", "cancelled"), ("gus", "upcoming")]
    assert run(closed, "audit").count("booking-cancelled") == 2


def test_a_set_up_link_wants_a_password_that_is_one(closed: RunningBoard) -> None:
    """And is not used up by one that is none."""
    link = run(closed, "person", "add", "ida").strip()
    code, browser = link.partition("#")[2], TestBrowser(closed)
    refused = browser.post("api/v1/session/setup", {"code": code, "password": "short"})
    assert (refused.status_code, refused.json()["code"]) == (400, "bad-password")
    refused = browser.use_link(code)
    assert (refused.status_code, refused.json()["code"]) == (409, "needs-password")
    assert browser.post("api/v1/session/setup", {"code": code, "password": PASSWORD}).status_code == 200
    again = run(closed, "person", "add", "ida", "--again").strip().partition("#")[2]
    other = TestBrowser(closed)
    other.post("api/v1/session/setup", {"code": again, "password": PASSWORD + "!"}).raise_for_status()
    assert browser.session()["person"] is None


def test_the_link_of_the_start_makes_an_admin_of_whoever_has_another_role(tmp_path: Path) -> None:
    """Else a viewer of that name would keep the board without an admin for ever."""
    name = pwd.getpwuid(os.getuid()).pw_name if os.getuid() >= AccessTable().vouch_from_uid else ADMIN
    log_in(tmp_path / "state", name, "viewer")
    config, log = tmp_path / "gpuboard.toml", tmp_path / "log"
    config.write_text(
        '[history]\nkind = "none"\n[access]\ntrusted_proxies = ["127.0.0.1"]\nallow_plaintext = true\n'
    )
    with running_board("--demo", "1", "--config", str(config), log=log) as board:
        (code,) = re.findall(r"sign-in/link#(\S+)", log.read_text())
        browser = TestBrowser(board)
        told = browser.post("api/v1/session/setup", {"code": code, "password": PASSWORD}).json()
        assert (told["person"], told["role"], told["has_admin"]) == (name, "admin", True)


def test_too_many_guesses_are_told_and_the_owners_browser_gets_in(closed: RunningBoard) -> None:
    """With how long to wait, for those who have to."""
    owner = set_up(closed, "mia")
    owner.post("api/v1/session/sign-out", {})
    stranger = TestBrowser(closed)
    body = {"name": "mia", "password": "wrong"}
    answers = [stranger.post("api/v1/session/password", body) for _ in range(11)]
    assert [one.status_code for one in answers] == [401] * 10 + [429]
    assert answers[-1].json()["code"] == "too-many-guesses"
    assert int(answers[-1].headers["retry-after"]) > 0
    told = owner.post("api/v1/session/password", {"name": "mia", "password": PASSWORD})
    assert told.json()["person"] == "mia"


def test_prometheus_gets_in_with_a_token_for_metrics_and_nothing_else(closed: RunningBoard) -> None:
    """Where visitors see nothing at all."""
    token = run(closed, "token", "add", "prometheus", "--scope", "metrics").strip()
    headers = {"authorization": f"Bearer {token}"}
    assert httpx.get(f"{closed.url}metrics").status_code == 401
    scraped = httpx.get(f"{closed.url}metrics", headers=headers)
    assert (scraped.status_code, "gpuboard_viewers" in scraped.text) == (200, True)
    assert httpx.get(f"{closed.url}api/v1/fleet", headers=headers).status_code == 403
    assert httpx.get(f"{closed.url}api/v1/audit", headers=headers).status_code == 403
    made = httpx.post(f"{closed.url}api/v1/tokens", headers=headers, json={"name": "x", "scopes": ["read"]})
    assert made.status_code == 403
    (ident,) = [
        one["id"] for one in json.loads(run(closed, "token", "list", "--json")) if one["name"] == "prometheus"
    ]
    assert ident in run(closed, "token", "list")
    run(closed, "token", "revoke", ident)
    wait_until(lambda: httpx.get(f"{closed.url}metrics", headers=headers).status_code == 401)


def test_a_token_belongs_to_the_person_behind_an_account(closed: RunningBoard, tmp_path: Path) -> None:
    """As the settings join them: another account is no second person with limits of its own."""
    config = tmp_path / "gpuboard.toml"
    port = urlsplit(closed.url).port
    config.write_text(
        f'[board]\nlisten = "127.0.0.1:{port}"\n[names.people]\nachen2 = "chen"\n', encoding="utf-8"
    )
    run(closed, "token", "add", "laptop", "--person", "Achen2", "--scope", "book", "--config", str(config))
    (made,) = [one for one in json.loads(run(closed, "token", "list", "--json")) if one["name"] == "laptop"]
    assert made["person"] == "chen"


def test_a_role_is_given_to_the_person_behind_an_account(closed: RunningBoard, tmp_path: Path) -> None:
    """One given to the account would do nothing; what was given to it before is taken away by its name."""
    config = tmp_path / "gpuboard.toml"
    port = urlsplit(closed.url).port
    config.write_text(f'[board]\nlisten = "127.0.0.1:{port}"\n[names.people]\nlena = "leni"\n')
    where = ("--config", str(config), "--state-dir", str(closed.state))
    done = command("person", "role", "lena", "viewer", *where, home=closed.state)
    assert done.stdout.startswith("leni is viewer from now on")
    assert "lena is leni by [names.people]" in done.stderr
    assert "chooses a password" in command("person", "add", "lena", *where, home=closed.state).stderr
    run(closed, "person", "role", "lena", "viewer")

    def known() -> set[str]:
        told = json.loads(run(closed, "person", "list", "--json"))
        return {one["name"] for one in told} & {"lena", "leni"}

    assert known() == {"lena", "leni"}
    for gone in ("lena", "leni"):
        assert f"{gone} has no account" in run(closed, "person", "remove", "lena", *where[:2])
        assert gone not in known()


def test_somebody_makes_and_revokes_tokens_of_ones_own(closed: RunningBoard) -> None:
    """With scopes that one's role allows; shown once."""
    browser = set_up(closed, "ben")
    made = browser.post(
        "api/v1/tokens", {"name": "cron", "scopes": ["read", "book"], "expires_in_seconds": 60}
    )
    assert made.status_code == 201
    token = made.json()
    assert token["token"].startswith("gpb_")
    (listed,) = browser.http.get("api/v1/tokens").json()
    assert (listed["token"], listed["id"], listed["person"]) == (None, token["id"], "ben")
    headers = {"authorization": f"Bearer {token['token']}"}
    assert httpx.get(f"{closed.url}api/v1/people", headers=headers).json()["people"] is not None
    assert browser.post("api/v1/tokens", {"name": "x", "scopes": ["admin"]}).status_code == 403
    assert browser.http.get("api/v1/tokens", params={"all": True}).status_code == 403
    assert browser.delete(f"api/v1/tokens/{token['id']}").status_code == 204
    assert httpx.get(f"{closed.url}api/v1/people", headers=headers).status_code == 401


def test_commands_say_what_they_cannot_do(closed: RunningBoard) -> None:
    """And leave everything as it was."""
    for words, code, text in (
        (("person", "remove", "nobody-at-all"), 1, "nobody here is called"),
        (("person", "add", "a\x1bb"), 2, "cannot name a person"),
        (("token", "revoke", "0123"), 1, "there is no token"),
        (("token", "add", "x", "--scope", "admin"), 2, "is no admin"),
        (("person", "add", "vic", "--role", "viewer"), 0, ""),
        (
            ("token", "add", "vic", "--scope", "read", "--scope", "book"),
            2,
            "no user, which --scope book needs",
        ),
        (("person", "remove", "vic"), 0, ""),
        (("token", "add", "x", "--for", "1s"), 2, "too short"),
        (("audit", "--limit", "0"), 2, "--limit"),
    ):
        done = command(*words, "--state-dir", str(closed.state), home=closed.state)
        assert (done.returncode, text in done.stderr) == (code, True), done.stderr


def test_who_is_admin_by_the_proxy_alone_is_one(tmp_path: Path) -> None:
    """Needs no password and so no link; whoever is removed that is known to the proxy alone is shown out."""
    config, log = tmp_path / "gpuboard.toml", tmp_path / "log"
    config.write_text('[access]\ntrusted_proxies = ["127.0.0.1"]\nproxy_header = "X-Remote-User"\n')
    arguments = ("--demo", "1", "--config", str(config))
    with running_board(*arguments, log=log) as board:
        assert "no admin yet" in log.read_text()
        run(board, "person", "role", "dana", "admin")
        wait_until(lambda: TestBrowser(board).session()["has_admin"])
    log.unlink()
    with running_board(*arguments, log=log) as board:
        assert "no admin yet" not in log.read_text()
        assert "pages that the proxy's word has opened" in run(board, "person", "remove", "ben")


def test_a_board_that_others_reach_prints_a_link_for_its_first_admin(tmp_path: Path) -> None:
    """Until there is one; and none where only this machine comes."""
    config = tmp_path / "gpuboard.toml"
    config.write_text('[access]\ntrusted_proxies = ["127.0.0.1"]\n')
    arguments = ("--demo", "1", "--config", str(config))
    with running_board(*arguments, log=tmp_path / "log") as board:
        line = next(line for line in (tmp_path / "log").read_text().splitlines() if "no admin yet" in line)
        browser = TestBrowser(board)
        assert not browser.session()["has_admin"]
        told = browser.post(
            "api/v1/session/setup", {"code": line.partition("#")[2], "password": PASSWORD}
        ).json()
        assert (told["role"], told["has_admin"]) == ("admin", True)
    (tmp_path / "log").unlink()
    with running_board(*arguments, log=tmp_path / "log"):
        assert "no admin yet" not in (tmp_path / "log").read_text()


@pytest.mark.parametrize(
    ("role", "says"),
    [("viewer", "viewer from now on, from a node too"), ("admin", "admin from now on; from a node, user")],
)
def test_a_new_role_is_said_with_what_it_is_from_a_node(closed: RunningBoard, role: str, says: str) -> None:
    """A viewer is no user there, and an admin no admin."""
    assert f"rolf is {says}\n" in run(closed, "person", "role", "rolf", role)


def test_the_link_for_the_first_admin_comes_when_the_database_first_answers(tmp_path: Path) -> None:
    """It was away at the start, and nobody starts a board twice for a link."""
    config, log, state = tmp_path / "gpuboard.toml", tmp_path / "log", tmp_path / "state"
    config.write_text('[access]\ntrusted_proxies = ["127.0.0.1"]\n')
    open_database(state).close()
    path = state / "gpuboard.sqlite"
    whole = path.read_bytes()
    path.write_bytes(b"\x07" * 20_000)
    with running_board("--demo", "1", "--config", str(config), log=log):
        assert "no admin yet" not in log.read_text()
        path.write_bytes(whole)
        wait_until(lambda: "set one up at http" in log.read_text(), 60)
    assert log.read_text().count("no admin yet") == 1
