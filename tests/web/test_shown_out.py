"""Who is no longer welcome is out within two seconds: by the board's own steps, and by the clock."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self

import httpx
import pytest
from websockets.sync.client import connect

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
from tests.board import RunningBoard, running_board
from tests.cli.test_login import command
from tests.clock import HandClock
from tests.databases import open_database
from tests.signing_in import make_token, signed_in
from tests.web.conftest import decode_frame
from tests.web.test_sessions import closing

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


class Lateness:
    """How much of the time this machine was busy with others: by how much short sleeps were too long."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._doze, daemon=True)

    def _doze(self) -> None:
        began = time.monotonic()
        while not self._stop.wait(0.02):
            now = time.monotonic()
            self.seconds += now - began - 0.02
            began = now

    def __enter__(self) -> Self:
        """Begin to measure."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Measure no longer."""
        self._stop.set()
        self._thread.join()


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBoard]:
    """A board whose visitors see counts, and which believes a proxy of its machine."""
    folder = tmp_path_factory.mktemp("board")
    config = folder / "gpuboard.toml"
    config.write_text(
        '[history]\nkind = "none"\n[access]\nanonymous = "counts"\ntrusted_proxies = ["127.0.0.1"]\n'
        'proxy_header = "X-Remote-User"\nallow_plaintext = true\n'
    )
    with running_board("--demo", "1", "--config", str(config), log=folder / "log") as running:
        yield running


@pytest.mark.parametrize(
    ("shown", "out"),
    [("token", "token"), ("token", "person"), ("session", "person"), ("proxy", "person")],
)
def test_an_open_stream_ends_within_two_seconds_of_the_command(
    board: RunningBoard, shown: str, out: str
) -> None:
    """From when the command has done it, by its own entry in the log; a token opens nothing more then."""
    ident, token = make_token(board.state, "mia", "read")
    headers = {
        "token": {"authorization": f"Bearer {token}"},
        "session": {"cookie": signed_in(board, "mia").cookie_header()},
        "proxy": {"x-remote-user": "mia", "x-forwarded-for": "192.0.2.7", "x-forwarded-proto": "https"},
    }[shown]
    words = ("token", "revoke", ident) if out == "token" else ("person", "remove", "mia")
    url = board.url.replace("http", "ws") + "api/v1/stream"
    with connect(url, additional_headers=headers, compression=None) as stream, Lateness() as machine:
        assert decode_frame(stream.recv(timeout=60))["tier"] == "names"
        with ThreadPoolExecutor(1) as one:
            done = one.submit(command, *words, "--state-dir", str(board.state), home=board.state)
            assert closing(stream) == (SIGNED_OUT, "signed-out")
            ended_at = time.time()
        assert done.result().returncode == 0, done.result().stderr
    # Where others take the processors, two programs and a disk wait for them no less than we do.
    assert ended_at - last_deed(board.state) < PROMISED_SECONDS + machine.seconds
    if shown == "token":
        assert httpx.get(f"{board.url}api/v1/fleet", headers=headers).status_code == 401


def last_deed(state: Path) -> float:
    """When an admin has last done something."""
    database = open_database(state)
    try:
        return AccountDesk(database).deeds(limit=1)[0].at
    finally:
        database.close()
