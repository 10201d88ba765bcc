"""Who is no longer welcome is out within two seconds, by the board's own steps."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from gpuboard.accounts.admin import AccountAdmin
from gpuboard.accounts.audit import Deed
from gpuboard.accounts.desk import AccountDesk
from gpuboard.accounts.guesses import GuessLimit
from gpuboard.accounts.passwords import Passwords
from gpuboard.accounts.records import PersonToken, Vouched
from gpuboard.accounts.view import AccountView
from gpuboard.accounts.ways.node import NodeWay
from gpuboard.accounts.ways.oidc import OidcWay
from gpuboard.accounts.ways.password import PasswordWay
from gpuboard.accounts.ways.proxy import ProxyWay
from gpuboard.fleet.changes import ChangeTracker
from gpuboard.fleet.state import Fleet
from gpuboard.settings.access import AccessTable
from gpuboard.storage.base import Database
from gpuboard.web.access import AccessPolicy
from gpuboard.web.people import SIGNED_OUT, PeopleDoor, Ways
from gpuboard.web.stream import Broadcaster, Viewer
from gpuboard.wire.stream import BoardInfo
from tests.clock import HandClock

DEED = Deed(what="test")
INFO = BoardInfo(version="0", name="here", demo=False, tick_seconds=1.0)
# What a look may take, besides the pause before it.
PROMISED_SECONDS = 2.0


class House:
    """A board's door with one open page, and a count of how often it looked who may stay."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.desk = AccountDesk(database)
        self.view = AccountView(self.desk, run=self._run)
        guesses, passwords = GuessLimit(clock=time.monotonic), Passwords()
        ways = Ways(
            node=NodeWay(AccessTable, str),
            password=PasswordWay(AccessTable, self.view, passwords, guesses),
            oidc=OidcWay(AccessTable, str),
            proxy=ProxyWay(AccessTable, str),
        )
        access = AccessPolicy(anonymous="counts")
        door = PeopleDoor(self.desk, self.view, ways, run=self._run, access=access, passwords=passwords)
        self.broadcaster = Broadcaster(ChangeTracker(Fleet(HandClock())), INFO)
        self.view.on_change(lambda: door.show_out(self.broadcaster))
        self.looks = 0

    async def _run(self, call: Callable[[], Any], *, is_write: bool = False) -> Any:  # noqa: ANN401 - whatever it gives
        self.looks += call == self.desk.generation
        return await self._database.run(call, is_write=is_write)

    async def open_page(self, person: str) -> tuple[PersonToken, Viewer]:
        """A page that somebody has opened with a token."""
        vouched = Vouched(person=person, way="password")
        made, _ = await self._database.run(
            lambda: self.desk.add_token(vouched, "user", name="x", scopes=["read"], seconds=None, deed=DEED),
            is_write=True,
        )
        await self.view.look()
        return made, self.broadcaster.join("names", credential=made.id, role="user")


@pytest.mark.parametrize("out", ["token", "person"])
async def test_the_first_look_after_it_shows_out_and_looks_are_a_second_apart(
    database: Database, monkeypatch: pytest.MonkeyPatch, out: str
) -> None:
    """Whoever revokes, in whatever process; so it holds in two seconds, with one for the look itself."""
    house, pauses, sleep = House(database), list[float](), asyncio.sleep

    async def note_pause(seconds: float) -> None:
        pauses.append(seconds)
        await sleep(0)

    made, page = await house.open_page("mia")
    monkeypatch.setattr("gpuboard.accounts.view.asyncio.sleep", note_pause)
    following = asyncio.create_task(house.view.follow())
    while not pauses:
        await sleep(0.001)
    assert page in house.broadcaster.people()
    # By another process's desk.
    desk, admin = AccountDesk(database), AccountAdmin(database)
    revoke = (lambda: desk.end_token(made.id, DEED)) if out == "token" else lambda: admin.remove("mia", DEED)
    await database.run(revoke, is_write=True)
    looks = house.looks
    while page in house.broadcaster.people():
        await sleep(0)
    assert page.goodbye[0] == SIGNED_OUT
    assert house.looks <= looks + 1
    assert max(pauses) <= PROMISED_SECONDS / 2
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)


async def test_a_look_that_takes_long_is_not_waited_for_twice(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next is due a second after it began."""
    house, pauses, sleep = House(database), list[float](), asyncio.sleep
    now = [0.0]
    look = house.view.look

    async def look_slowly() -> None:
        now[0] += 0.75
        await look()

    async def note_pause(seconds: float) -> None:
        pauses.append(seconds)
        await sleep(0)

    monkeypatch.setattr(house.view, "look", look_slowly)
    monkeypatch.setattr("gpuboard.accounts.view.asyncio.sleep", note_pause)
    monkeypatch.setattr("gpuboard.accounts.view.time.monotonic", lambda: now[0])
    following = asyncio.create_task(house.view.follow())
    while not pauses:
        await sleep(0.001)
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    assert pauses[0] == pytest.approx(0.25)
