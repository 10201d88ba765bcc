"""Signing in and out, links and tokens: the same on every database."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

import pytest
from msgspec.structs import replace
from sqlalchemy import Connection

from gpuboard.accounts.admin import AccountAdmin
from gpuboard.accounts.audit import Deed
from gpuboard.accounts.desk import AccountDesk
from gpuboard.accounts.people import remove_person
from gpuboard.accounts.person_tokens import MAX_LOGINS_OF_ONE, MAX_TOKENS_OF_ONE
from gpuboard.accounts.records import PersonToken, Place, Vouched, granted
from gpuboard.accounts.sessions import IDLE_SECONDS, LONGEST_SECONDS, MAX_BROWSERS_OF_ONE, MAX_SESSIONS_OF_ONE
from gpuboard.accounts.view import AccountView
from gpuboard.model.errors import LinkRefused, UsageError
from gpuboard.model.identity import Role, WayKind
from gpuboard.storage.base import Database

Value = TypeVar("Value")
ANA = Vouched(person="ana", way="node", through="gpu01")
HERE = Place(address="192.0.2.7", browser="b" * 64)
DEED = Deed(what="test", who="ana")


class SettableClock:
    """A clock that stands until somebody sets it."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        """The time."""
        return self.now


@pytest.fixture
def clock() -> SettableClock:
    """The time in a test."""
    return SettableClock()


@pytest.fixture
def desk(database: Database, clock: SettableClock) -> AccountDesk:
    """A desk on each kind of database."""
    return AccountDesk(database, clock=clock)


@pytest.fixture
def admin(database: Database, clock: SettableClock) -> AccountAdmin:
    """What admins do, on the same database."""
    return AccountAdmin(database, clock=clock)


def view_of(desk: AccountDesk, clock: Callable[[], float]) -> AccountView:
    """Who may come in, as a board sees it now."""
    view = AccountView(desk, clock=clock)
    view.learn(desk.known())
    return view


def test_whoever_signs_in_is_known_by_the_cookie_alone(desk: AccountDesk, clock: SettableClock) -> None:
    """And nothing of the cookie is stored as it is."""
    ident, secret = desk.sign_in(ANA, HERE)
    view = view_of(desk, clock)
    session = view.session(secret)
    assert session is not None
    assert (session.id, session.person, session.role, session.through) == (ident, "ana", "user", "gpu01")
    assert secret not in repr(desk.known())
    assert view.session(secret[:-1] + "x") is None


@pytest.mark.parametrize(
    ("way", "is_known"), [("node", False), ("socket", True), ("password", True), ("oidc", True)]
)
def test_a_browser_becomes_known_by_ways_that_are_stronger_than_a_nodes_word(
    desk: AccountDesk, clock: SettableClock, way: WayKind, *, is_known: bool
) -> None:
    """Root of a node signs in as anybody there, and must not get guesses at the owner's password by that."""
    desk.sign_in(Vouched(person="ana", way=way), HERE)
    view = view_of(desk, clock)
    assert view.knows_browser("b" * 64, "ana") == is_known
    assert not view.knows_browser("b" * 64, "ben")


def test_who_signs_in_as_somebody_by_a_node_makes_no_browser_of_the_owner_forgotten(
    desk: AccountDesk, clock: SettableClock
) -> None:
    """Nor ends a session that the owner began by another way; of each way the newest are kept."""
    owner = desk.sign_in(Vouched(person="ana", way="password"), HERE)[1]
    by_node = []
    for number in range(MAX_SESSIONS_OF_ONE + 1):
        clock.now += 1
        by_node.append(desk.sign_in(ANA, Place(browser=f"{number:064d}"))[1])
    view = view_of(desk, clock)
    assert desk.known().browsers == {("b" * 64, "ana")}
    assert view.session(owner) is not None
    assert [view.session(secret) is None for secret in by_node[:2]] == [True, False]


def test_a_session_ends_when_nobody_uses_it_and_at_the_latest_after_a_month(
    desk: AccountDesk, clock: SettableClock
) -> None:
    """Being used keeps it, but not for ever."""
    begun = clock.now
    ident, secret = desk.sign_in(ANA, HERE)
    clock.now = begun + IDLE_SECONDS - 1
    assert view_of(desk, clock).session(secret) is not None
    desk.note_use({ident: clock.now}, {})
    clock.now += IDLE_SECONDS - 1
    assert view_of(desk, clock).session(secret) is not None
    clock.now += 2
    assert view_of(desk, clock).session(secret) is None
    ident, secret = desk.sign_in(ANA, HERE)
    clock.now += LONGEST_SECONDS + 1
    desk.note_use({ident: clock.now}, {})
    assert desk.known().sessions == []


def test_an_exchanged_cookie_is_good_for_a_moment_only(desk: AccountDesk, clock: SettableClock) -> None:
    """What was under way gets through; a copy that somebody stole before does not last."""
    _, old = desk.sign_in(ANA, HERE)
    session = view_of(desk, clock).session(old)
    assert session is not None
    new = desk.exchange(session)
    assert new is not None
    assert desk.exchange(session) is None
    view = view_of(desk, clock)
    assert (view.session(old), view.session(new)) == (view.session(new), view.session(old))
    clock.now += 61
    assert view.session(old) is None
    assert view.session(new) is not None


def test_signing_out_everywhere_ends_all_sessions_and_command_lines(
    desk: AccountDesk, clock: SettableClock
) -> None:
    """But not the tokens that were made on purpose, nor anybody else's."""
    cookies = [desk.sign_in(ANA, HERE)[1] for _ in range(3)]
    ben = desk.sign_in(Vouched(person="ben", way="node"), HERE)[1]
    login = desk.log_in(ANA, terminal="gpu01", address=None)
    _, kept = desk.add_token(ANA, "user", name="cron", scopes=["read"], seconds=None, deed=DEED)
    desk.end_everything(Deed(what="sign-out", who="ana"))
    view = view_of(desk, clock)
    assert [view.session(cookie) for cookie in cookies] == [None] * 3
    assert view.token(login.token) is None
    assert view.token(kept) is not None
    assert view.session(ben) is not None


def test_a_link_signs_in_once(desk: AccountDesk, clock: SettableClock) -> None:
    """To look at it, as often as one likes, does not use it up."""
    login = desk.log_in(ANA, terminal="gpu01", address=None)
    assert [desk.read_link(login.code).person for _ in range(3)] == ["ana"] * 3
    _, secret = desk.sign_in_by_link(login.code, HERE)
    session = view_of(desk, clock).session(secret)
    assert session is not None
    assert (session.person, session.way, session.through) == ("ana", "node", "gpu01")
    for use in (lambda: desk.sign_in_by_link(login.code, HERE), lambda: desk.read_link(login.code)):
        with pytest.raises(LinkRefused) as refused:
            use()
        assert refused.value.code == "link-used"


def test_a_link_is_over_after_two_minutes_and_no_other_is_known(
    desk: AccountDesk, clock: SettableClock
) -> None:
    """Whoever types any code hears nothing of those that are there."""
    login = desk.log_in(ANA, terminal="gpu01", address=None)
    clock.now += 121
    with pytest.raises(LinkRefused) as over:
        desk.sign_in_by_link(login.code, HERE)
    assert over.value.code == "link-over"
    for code in ("", "x" * 43, "ä" * 43, login.code[:-1]):
        with pytest.raises(LinkRefused) as unknown:
            desk.read_link(code)
        assert unknown.value.code == "link-unknown"


def test_who_logs_in_again_at_one_place_has_one_token_there(desk: AccountDesk, clock: SettableClock) -> None:
    """Tokens that nobody holds any more do not pile up."""
    first = desk.log_in(ANA, terminal="gpu01", address=None)
    second = desk.log_in(ANA, terminal="gpu01", address=None)
    other = desk.log_in(ANA, terminal="gpu02", address=None)
    view = view_of(desk, clock)
    assert view.token(first.token) is None
    assert [view.token(one.token) is not None for one in (second, other)] == [True, True]


def test_a_set_up_link_gives_the_account_its_password_and_ends_older_sessions(
    desk: AccountDesk, admin: AccountAdmin, clock: SettableClock
) -> None:
    """Whoever knew the old password is out."""
    code = admin.add("eva", "admin", DEED)
    with pytest.raises(LinkRefused) as refused:
        desk.sign_in_by_link(code, HERE)
    assert refused.value.code == "needs-password"
    _, first = desk.set_up(code, "hash-1", HERE)
    view = view_of(desk, clock)
    session = view.session(first)
    assert session is not None
    assert (session.role, view.has_admin()) == ("admin", True)
    with pytest.raises(UsageError, match="has an account already"):
        admin.add("eva", "user", DEED)
    desk.set_up(admin.invite("eva", "user", DEED), "hash-2", HERE)
    view = view_of(desk, clock)
    assert view.session(first) is None
    eva = view.person("eva")
    assert eva is not None
    assert (eva.password, eva.role) == ("hash-2", "admin")


def test_a_link_for_an_admin_makes_one_of_a_viewer_too(
    desk: AccountDesk, admin: AccountAdmin, clock: SettableClock
) -> None:
    """And of nobody before it is used, nor after another role was given meanwhile."""
    admin.set_role("eva", "viewer", DEED)
    code = admin.invite_admin("eva", DEED)
    assert [one.role for one in admin.people()] == ["viewer"]
    _, secret = desk.set_up(code, "hash-1", HERE)
    session = view_of(desk, clock).session(secret)
    assert session is not None
    assert (session.role, admin.has_admin()) == ("admin", True)
    code = admin.invite_admin("eva", DEED)
    admin.set_role("eva", "viewer", DEED)
    desk.set_up(code, "hash-2", HERE)
    assert not admin.has_admin()


def test_a_role_that_changes_holds_for_what_somebody_has_in_hand(
    desk: AccountDesk, admin: AccountAdmin, clock: SettableClock
) -> None:
    """A node's word still gives users at most."""
    admin.set_role("ana", "admin", DEED)
    by_node = desk.sign_in(ANA, HERE)[1]
    by_oidc = desk.sign_in(Vouched(person="ana", way="oidc"), HERE)[1]
    _, token = desk.add_token(
        Vouched(person="ana", way="oidc"), "admin", name="a", scopes=["admin"], seconds=None, deed=DEED
    )

    def roles() -> list[str]:
        view = view_of(desk, clock)
        held = (view.session(by_node), view.session(by_oidc), view.token(token))
        return [one.role for one in held if one is not None]

    assert roles() == ["user", "admin", "admin"]
    admin.set_role("ana", "viewer", DEED)
    assert roles() == ["viewer", "viewer", "viewer"]
    admin.set_role("ana", "admin", DEED)
    assert roles() == ["user", "admin", "admin"]
    assert admin.remove("ana", DEED)
    assert roles() == []
    assert not admin.remove("ana", DEED)


def test_the_newest_word_of_the_provider_holds_for_all_that_it_gave(
    desk: AccountDesk, admin: AccountAdmin, clock: SettableClock
) -> None:
    """Groups and role of whoever has left them end with the next sign-in, wherever that is."""
    boss = Vouched(person="Ana", way="oidc", role="admin", groups=("boss", "vision"))
    first = desk.sign_in(boss, HERE)[1]
    _, token = desk.add_token(boss, "admin", name="a", scopes=["admin"], seconds=None, deed=DEED)
    by_password = desk.sign_in(Vouched(person="Ana", way="password", role="admin"), HERE)[1]
    assert view_of(desk, clock).groups == {"ana": ("boss", "vision")}
    desk.sign_in(replace(boss, role="user", groups=("vision",)), HERE)
    view = view_of(desk, clock)
    held = (view.session(first), view.token(token), view.session(by_password))
    assert [one.role for one in held if one is not None] == ["user", "user", "admin"]
    assert view.groups == {"ana": ("vision",)}
    desk.sign_in(replace(boss, groups=()), HERE)
    assert view_of(desk, clock).groups == {}
    desk.sign_in(boss, HERE)
    admin.remove("Ana", DEED)
    assert view_of(desk, clock).groups == {}


def test_a_person_is_removed_whole_or_not_at_all(
    desk: AccountDesk, admin: AccountAdmin, clock: SettableClock
) -> None:
    """Nobody is gone whose bookings stay, whatever happens in between."""
    admin.set_role("ana", "admin", DEED)
    cookie = desk.sign_in(ANA, HERE)[1]

    def fail(connection: Connection) -> None:
        remove_person(connection, "ana")
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError):
        admin.remove("ana", DEED, also=fail)
    view = view_of(desk, clock)
    assert (view.person("ana") is not None, view.session(cookie) is not None) == (True, True)


@pytest.mark.parametrize(
    ("way", "said", "given", "role"),
    [
        ("node", "user", None, "user"),
        # Root of a node says what it likes, and is believed for users at most.
        ("node", "admin", None, "user"),
        ("node", "user", "admin", "user"),
        ("node", "user", "viewer", "viewer"),
        ("socket", "admin", None, "admin"),
        ("socket", "admin", "viewer", "admin"),
        ("socket", "user", "admin", "admin"),
        ("password", "user", "viewer", "viewer"),
        ("oidc", "viewer", "admin", "admin"),
        ("oidc", "admin", "viewer", "admin"),
        ("oidc", "viewer", None, "viewer"),
        ("proxy", "user", "admin", "admin"),
        ("proxy", "user", None, "user"),
    ],
)
def test_which_role_somebody_gets_depends_on_the_way(
    way: WayKind, said: Role, given: Role | None, role: Role
) -> None:
    """Admin comes by the board's own socket, an account, the provider or the proxy, never by a node."""
    assert granted(Vouched(person="ana", way=way, role=said), given) == role


def test_a_token_has_its_end_and_is_revoked_by_whom_it_belongs_to(
    desk: AccountDesk, clock: SettableClock
) -> None:
    """Others revoke nothing of it."""
    made, token = desk.add_token(ANA, "user", name="cron", scopes=["metrics", "read"], seconds=60, deed=DEED)
    assert made.scopes == ("read", "metrics")
    view = view_of(desk, clock)
    assert view.token(token) == made
    assert desk.end_token(made.id, DEED, person="ben") is None
    clock.now += 61
    assert view.token(token) is None
    assert desk.known().tokens == []
    again, _ = desk.add_token(ANA, "user", name="cron", scopes=["read"], seconds=None, deed=DEED)
    assert desk.end_token(again.id, DEED, person="ana") is not None
    assert desk.known().tokens == []


def test_the_log_says_whose_a_token_is_that_somebody_makes_or_revokes(
    desk: AccountDesk, clock: SettableClock
) -> None:
    """An admin makes them for others."""
    boss = Deed(what="token-made", who="boss", way="command")
    made, _ = desk.add_token(ANA, "user", name="cron", scopes=["read", "book"], seconds=None, deed=boss)
    clock.now += 1
    desk.end_token(made.id, replace(boss, what="token-revoked"))
    revoked, told = desk.deeds(limit=2)
    assert (told.what, told.who, told.detail) == ("token-made", "boss", f"{made.id} of ana, cron: read, book")
    assert (revoked.what, "ana" in (revoked.detail or "")) == ("token-revoked", True)


def test_nobody_has_more_tokens_than_fifty(desk: AccountDesk) -> None:
    """And hears so in words."""
    for number in range(MAX_TOKENS_OF_ONE):
        desk.add_token(ANA, "user", name=str(number), scopes=["read"], seconds=None, deed=DEED)
    with pytest.raises(UsageError, match="50 tokens"):
        desk.add_token(ANA, "user", name="one more", scopes=["read"], seconds=None, deed=DEED)


def test_who_logs_in_on_many_nodes_is_signed_out_where_that_was_longest_ago(
    desk: AccountDesk, clock: SettableClock
) -> None:
    """And is refused nowhere, whatever else is there; nor are tokens that are made on purpose."""
    logins = []
    for number in range(MAX_LOGINS_OF_ONE + 1):
        clock.now += 1
        logins.append(
            desk.log_in(replace(ANA, through=f"gpu{number:03d}"), terminal=f"{number}", address=None)
        )
    made = [
        desk.add_token(ANA, "user", name=str(number), scopes=["read"], seconds=None, deed=DEED)[1]
        for number in range(MAX_TOKENS_OF_ONE)
    ]
    clock.now += 1
    logins.append(desk.log_in(ANA, terminal="one more", address=None))
    view = view_of(desk, clock)
    assert [view.token(one.token) is not None for one in logins] == [False] * 2 + [True] * MAX_LOGINS_OF_ONE
    assert all(view.token(token) for token in made)


def test_of_many_browsers_the_newest_are_known(desk: AccountDesk, clock: SettableClock) -> None:
    """What is remembered of one person has an end."""
    for number in range(MAX_BROWSERS_OF_ONE + 3):
        clock.now += 1
        desk.sign_in(Vouched(person="ana", way="password"), Place(browser=f"{number:064d}"))
    known = {browser for browser, _ in desk.known().browsers}
    assert known == {f"{number:064d}" for number in range(3, MAX_BROWSERS_OF_ONE + 3)}


def test_every_deed_is_written_down_with_its_way(desk: AccountDesk, clock: SettableClock) -> None:
    """The newest first, and page by page."""
    desk.sign_in(ANA, HERE)
    clock.now += 1
    desk.note(Deed(what="refused", who="root", way="node", through="gpu02", detail="a\x1b[31m" + "x" * 1000))
    first, second = desk.deeds(limit=10)
    assert (first.what, first.who, first.through) == ("refused", "root", "gpu02")
    assert first.detail is not None
    assert first.detail.startswith("a\\x1b[31mxxx")
    assert len(first.detail) <= 500
    assert (second.what, second.who, second.way, second.address) == ("sign-in", "ana", "node", "192.0.2.7")
    assert [one.what for one in desk.deeds(limit=1, before=first.id)] == ["sign-in"]


async def test_what_another_process_changes_is_seen_with_the_next_look(
    desk: AccountDesk, database: Database, clock: SettableClock
) -> None:
    """A token made a moment ago is found, one that was revoked is not."""
    view = AccountView(desk, clock=clock)
    other = AccountDesk(database, clock=clock)

    def add() -> tuple[PersonToken, str]:
        return other.add_token(ANA, "user", name="cron", scopes=["read"], seconds=None, deed=DEED)

    made, token = await database.run(add)
    assert view.token(token) is None
    assert await view.find_token(token) == made
    await database.run(lambda: other.end_token(made.id, DEED))
    heard: list[bool] = []
    view.on_change(lambda: heard.append(view.is_good(made.id)))
    await view.look()
    await view.look()
    assert heard == [False]


async def test_a_token_made_while_somebody_looks_is_found_too(
    desk: AccountDesk, database: Database, clock: SettableClock
) -> None:
    """What a look saw is as old as its begin, however late it ended."""
    other = AccountDesk(database, clock=clock)
    tokens: list[tuple[PersonToken, str]] = []
    added, asked = asyncio.Event(), asyncio.Event()

    async def run(call: Callable[[], Value], *, is_write: bool = False) -> Value:
        found = await database.run(call, is_write=is_write)
        if not tokens:
            tokens.append(await database.run(add, is_write=True))
            added.set()
            await asked.wait()
        return found

    def add() -> tuple[PersonToken, str]:
        return other.add_token(ANA, "user", name="cron", scopes=["read"], seconds=None, deed=DEED)

    view = AccountView(desk, clock=clock, run=run)
    view.learn(await database.run(desk.known))
    looking = asyncio.create_task(view.look())
    await added.wait()
    made, token = tokens[0]
    finding = asyncio.create_task(view.find_token(token))
    # While the look is under way nobody is told that there is no such token.
    await asyncio.sleep(0.1)
    assert not finding.done()
    asked.set()
    assert await finding == made
    await looking
