"""Signing in by a real OpenID Connect provider."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from gpuboard.accounts.ways.oidc import role_of
from gpuboard.assembly.accounts import count_members
from gpuboard.settings.access import OidcTable
from tests.board import RunningBoard, running_board
from tests.fakes.real_oidc import running_provider
from tests.pushing import wait_until
from tests.signing_in import TestBrowser, log_in

pytestmark = pytest.mark.slow

PEOPLE = (
    {"sub": "1", "preferred_username": "ana", "name": "Ana Chen", "groups": ["lab", "gpu-admins"]},
    {"sub": "2", "preferred_username": "ben2", "groups": ["lab"]},
    {"sub": "3", "preferred_username": "eve", "groups": ["elsewhere"]},
    {"sub": "4", "groups": ["lab"]},
    {"sub": "5", "preferred_username": "", "groups": ["lab"]},
    {"sub": "6", "preferred_username": "root", "groups": ["lab"]},
)
SETTINGS = """
[history]
kind = "none"
[access]
anonymous = "counts"
[access.oidc]
issuer = "{issuer}"
client_id = "gpuboard"
client_secret_file = "{secret}"
label = "Lab account"
admin_groups = ["gpu-admins"]
user_groups = ["lab"]
session = "2h"
[names.people]
ben2 = "ben"
[bookings]
longest = "1h"
[bookings.groups.lab]
longest = "5h"
[bookings.groups.named]
longest = "3h"
[groups.people]
named = ["Ben", "ida"]
"""


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBoard]:
    """A board whose people the provider knows."""
    folder = tmp_path_factory.mktemp("oidc")
    with running_provider(*PEOPLE, log=folder / "provider") as issuer:
        secret = secret_in(folder)
        config = folder / "gpuboard.toml"
        config.write_text(SETTINGS.format(issuer=issuer, secret=secret))
        with running_board("--demo", "1", "--config", str(config), log=folder / "log") as running:
            yield running


def secret_in(folder: Path) -> Path:
    """The client's secret, in a file of its own."""
    secret = folder / "secret"
    secret.write_text("not-so-secret\n")
    secret.chmod(0o600)
    return secret


def go(browser: TestBrowser, subject: str, path: str = "sign-in/oidc") -> httpx.Response:
    """Go to the provider, say there who one is, and come back: the board's answer."""
    away = browser.http.get(path)
    assert away.status_code == 302, away.text
    back = browser.http.post(away.headers["location"], data={"sub": subject})
    assert back.status_code == 302, back.text
    return browser.http.get(back.headers["location"])


def test_somebody_signs_in_by_the_provider_and_goes_on_where_one_was(board: RunningBoard) -> None:
    """With the role that the groups give, and the name that people know."""
    browser = TestBrowser(board)
    assert {"kind": "oidc", "label": "Lab account", "href": "sign-in/oidc"} in browser.session()["ways"]
    assert browser.session()["has_admin"]
    answer = go(browser, "1", "sign-in/oidc?next=/nodes/gpu01?x=1")
    assert (answer.status_code, answer.headers["location"]) == (302, "../../nodes/gpu01?x=1")
    told = browser.session()
    assert (told["person"], told["display_name"], told["role"]) == ("ana", "Ana Chen", "admin")
    assert (told["way"], told["tier"]) == ("oidc", "names")
    other = TestBrowser(board)
    go(other, "2")
    assert (other.session()["person"], other.session()["role"]) == ("ben", "user")


def test_the_provider_is_asked_again_after_a_while(board: RunningBoard) -> None:
    """Whoever has left a group keeps its role no longer than that; by default for half a day."""
    browser = TestBrowser(board)
    go(browser, "1")
    told = browser.session()
    assert told["expires_at"] - told["since"] == 2 * 3600
    assert float(OidcTable().session) == 12 * 3600


def longest(http: httpx.Client) -> tuple[float, str | None]:
    """For how long somebody may book, and as a member of which group."""
    told = http.get("api/v1/bookings/limits").raise_for_status().json()
    (policy,) = [one for one in told["limits"] if one["policy"] == "longest"]
    return policy["most"], policy["group"]


def test_the_providers_groups_count_for_browser_and_tokens_alike(board: RunningBoard) -> None:
    """With those of the settings; and until the provider says otherwise, also after signing out."""
    browser = TestBrowser(board)
    go(browser, "2")
    wish = {"name": "cron", "scopes": ["read", "book"]}
    token = browser.post("api/v1/tokens", wish).raise_for_status().json()["token"]
    by_node = log_in(board.state, "ben", way="node").token
    assert longest(browser.http) == (5 * 3600, "lab")
    browser.post("api/v1/session/sign-out", {}).raise_for_status()
    for one in (token, by_node):
        headers = {"authorization": f"Bearer {one}"}
        assert longest(TestBrowser(board, headers=headers).http) == (5 * 3600, "lab")


def test_the_providers_groups_have_their_gpu_hours(tmp_path: Path) -> None:
    """As those of the settings have; from the next sign-in on."""
    with running_provider(*PEOPLE, log=tmp_path / "provider") as issuer:
        config = tmp_path / "gpuboard.toml"
        settings = SETTINGS.format(issuer=issuer, secret=secret_in(tmp_path))
        config.write_text(settings.replace('kind = "none"', ""))
        with running_board("--demo", "1", "--config", str(config), log=tmp_path / "log") as board:
            browser = TestBrowser(
                board, headers={"authorization": f"Bearer {log_in(board.state, 'x').token}"}
            )

            def first() -> tuple[str, str | None]:
                rows = browser.http.get("api/v1/usage").raise_for_status().json()["rows"]
                return (rows[0]["name"], rows[0]["group"]) if rows else ("", None)

            wait_until(lambda: first()[0])
            person, before = first()
            assert before is None
            claims = {"preferred_username": person, "groups": ["lab"]}
            httpx.put(f"{issuer}/users/9", json=claims).raise_for_status()
            go(TestBrowser(board), "9")
            wait_until(lambda: first() == (person, "lab"))


def test_groups_of_the_settings_decide_for_whom_they_name() -> None:
    """In GPU-hours somebody counts once; of the provider's many groups the admin may name the one."""
    named, told = {"vision": ("Ana",), "nlp": ("ida",)}, {"ana": ("all", "boss"), "ben": ("all", "nlp")}
    assert count_members(named, told) == {"vision": ("Ana",), "nlp": ("ida", "ben"), "all": ("ben",)}


def test_the_board_asks_with_pkce_and_for_this_very_visit(board: RunningBoard) -> None:
    """And sends browsers nowhere else than to the provider and back to itself."""
    asked = parse_qs(urlsplit(TestBrowser(board).http.get("sign-in/oidc").headers["location"]).query)
    assert (asked["code_challenge_method"], asked["response_type"]) == (["S256"], ["code"])
    assert asked["redirect_uri"] == [f"{board.url}sign-in/oidc/callback"]
    assert all(len(asked[one][0]) >= 43 for one in ("state", "nonce", "code_challenge"))


@pytest.mark.parametrize(
    ("subject", "who", "code", "why"),
    [
        ("3", "eve", "oidc-groups", "in none of the groups"),
        ("4", None, "oidc-nobody", "names no person"),
        ("5", None, "oidc-nobody", "names no person"),
        ("6", "root", "oidc-nobody", "names no person"),
    ],
)
def test_who_is_in_no_group_or_has_no_name_stays_outside(
    board: RunningBoard, subject: str, who: str | None, code: str, why: str
) -> None:
    """And is told why by the card; admins see whom the provider named."""
    browser, admin = TestBrowser(board), TestBrowser(board)
    answer = go(browser, subject)
    assert answer.headers["location"] == f"../../sign-in?problem={code}"
    assert browser.session()["person"] is None
    go(admin, "1")
    entries = admin.http.get("api/v1/audit").raise_for_status().json()
    refused = next(entry for entry in entries if entry["what"] == "refused")
    assert (refused["who"], why in refused["detail"]) == (who, True)


def test_nobody_is_signed_in_by_what_another_browser_has_begun(board: RunningBoard) -> None:
    """A page of somebody else must not make one that somebody; nor does the same answer work twice."""
    begun, victim = TestBrowser(board), TestBrowser(board)
    away = begun.http.get("sign-in/oidc").headers["location"]
    back = httpx.post(away, data={"sub": "1"}).headers["location"]
    assert "oidc-refused" in victim.http.get(back).headers["location"]
    assert "oidc-refused" in begun.http.get(back).headers["location"]
    for bad in ("", "?code=x&state=y", "?error=access_denied&state=z"):
        assert "oidc-refused" in victim.http.get(f"sign-in/oidc/callback{bad}").headers["location"]
    assert (victim.session()["person"], begun.session()["person"]) == (None, None)


@pytest.mark.parametrize("path", ["//evil.example", "https://evil.example", "/\\evil.example", "/../x", ""])
def test_nobody_is_led_elsewhere(board: RunningBoard, path: str) -> None:
    """Whatever stands behind next."""
    browser = TestBrowser(board)
    answer = go(browser, "2", f"sign-in/oidc?next={path}")
    assert answer.headers["location"] == "../../"


def test_a_provider_that_is_away_is_said_on_the_card(tmp_path: Path) -> None:
    """And the board works on."""
    config = tmp_path / "gpuboard.toml"
    config.write_text(
        '[history]\nkind = "none"\n[access.oidc]\nissuer = "http://127.0.0.1:1"\nclient_id = "x"\n'
    )
    with running_board("--demo", "1", "--config", str(config), log=tmp_path / "log") as running:
        answer = TestBrowser(running).http.get("sign-in/oidc")
        assert (answer.status_code, answer.headers["location"]) == (302, "../sign-in?problem=oidc-away")


def test_groups_give_roles_the_highest_first() -> None:
    """Without user_groups everybody whom the provider knows is a user."""
    options = OidcTable(
        issuer="https://x.example",
        client_id="b",
        admin_groups=("a",),
        user_groups=("u",),
        viewer_groups=("v",),
    )
    assert [role_of(options, groups) for groups in (("v", "a"), ("v", "u"), ("v",))] == [
        "admin",
        "user",
        "viewer",
    ]
    assert role_of(options, ("x",)) is None
    assert role_of(OidcTable(), ()) == "user"
