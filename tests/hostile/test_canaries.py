"""Whoever may see counts sees no name: canaries in every text that could carry one, looked for everywhere."""

import asyncio
import itertools
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from litestar.routes import HTTPRoute

from gpuboard.assembly.board import Board
from gpuboard.bookings.rules import Span
from gpuboard.fleet.clock import SteadyClock
from gpuboard.model.codes import OF_NODES, OF_PARTS, OF_PULL, OF_SSH, OF_THE_OUTSIDE
from gpuboard.model.identity import Identity
from gpuboard.model.problems import BREAKING
from gpuboard.model.report import Address, Disk, GpuProcess, GpuReading, HostFacts, NodeReport, Problem
from gpuboard.model.verdict import Claim, Reason
from gpuboard.settings.access import AccessTable
from gpuboard.settings.board import BoardTable, Settings
from gpuboard.web.access import Anonymous
from gpuboard.web.app import openapi_document
from gpuboard.web.routes import health
from gpuboard.wire.views import Tier
from tests.clock import Clock
from tests.parts import ROOT
from tests.web.conftest import decode_frame, web_app

# Of the framework about itself.
pytestmark = pytest.mark.filterwarnings("ignore::litestar.exceptions.LitestarDeprecationWarning")

CANARY: Final = "canary"
# Every code with which a source says why it cannot read a node; some of them quote what they met.
TROUBLES: Final = (*sorted(OF_NODES | OF_SSH | OF_PULL | OF_THE_OUTSIDE), "some-code-of-tomorrow")
NODE: Final = "node-all"
START: Final = 1_800_000_000.0
STEP: Final = 60.0
NOW: Final = START + 12 * STEP
PATHS: Final = {"name": NODE, "_name": NODE, "uuid": f"GPU-{NODE}", "path": "x"}
# What a question cannot do without, and what else it may ask for.
ASKED: Final = {
    "/api/v1/history": f"?gpu=GPU-{NODE}",
    "/api/v1/history/states": f"?gpu=GPU-{NODE}",
    "/api/v1/usage": f"?by=person&from={START}&to={NOW}",
    "/api/v1/usage.csv": f"?by=program&from={START}&to={NOW}",
    "/api/v1/usage/days": f"?person={CANARY}",
}
EARLIER: Final = (f"/api/v1/fleet?at={NOW - STEP}", f"/api/v1/stream?at={NOW - STEP}")
# What answers otherwise to whoever has not signed in, and where what it says then is tested.
NOT_ASKED: Final = {
    "/api/v1/session/link": "tests/web/test_sessions.py",
    "/api/v1/sessions": "tests/web/test_access_table.py",
    "/api/v1/tokens": "tests/web/test_access_table.py",
    "/api/v1/audit": "tests/web/test_access_table.py",
    "/api/v1/bookings/limits": "tests/web/test_access_table.py",
    "/api/v1/bookings/feed": "tests/web/test_access_table.py",
    "/api/v1/bookings.ics": "tests/web/test_feed.py",
    "/sign-in/oidc": "tests/web/test_oidc.py",
    "/sign-in/oidc/callback": "tests/web/test_oidc.py",
    # No address of ours, and those of older boards.
    "/api/x": "tests/web/test_odd_requests.py",
    f"/{NODE}": "tests/web/test_badge_and_pages.py",
    "/nodes": "tests/web/test_familiar.py",
    "/index": "tests/web/test_familiar.py",
    "/gpus": "tests/web/test_familiar.py",
    "/index.php": "tests/web/test_familiar.py",
}


def words(kind: str) -> str:
    """A sentence with a name in it."""
    return f"{CANARY}-{kind}: /home/{CANARY}/.ssh/id as {CANARY}@10.9.8.7"


def _same(reason: Reason) -> Reason:
    return reason


class House:
    """A whole board in every kind of trouble, with a past and with bookings."""

    def __init__(self, anonymous: Anonymous, place: Path) -> None:
        self._wall, self._boot = Clock(START), Clock(77.0)
        settings = Settings(board=BoardTable(state_dir=str(place)), access=AccessTable(anonymous=anonymous))
        self.board = Board(settings, clock=SteadyClock(wall=self._wall, boot=self._boot))
        self.broadcaster = self.board._broadcaster
        for code in (*sorted(OF_PARTS), "some-code-of-tomorrow"):
            reason = Reason(code=code, text=words(code), values={"path": words(code), "who": CANARY})
            self.board._components.add("folder", f"/nfs/{CANARY}/{code}", partial(_same, reason))
        self.board._booking_side.desk.load()()
        self.booking = ""

    def tick(self) -> None:
        """Let the board look."""
        self.board._ticker.tick()

    async def live(self) -> None:
        """Let every kind of node be there for some minutes, and somebody book."""
        sink = self.board.fleet.sink("ssh")
        numbers = itertools.count()
        for code in TROUBLES:
            values = {"remedy": words(code), "who": CANARY, "seconds": words(code), "users": [CANARY]}
            node = f"node-{next(numbers)}"
            sink.trouble(node, Reason(code=code, text=words(code), values=values), state="error")
        claim = Claim(who=CANARY, comment=CANARY)
        self.board.fleet.set_claims("lease", {(f"node-{number}", 1): claim for number in range(100)})
        first = next(numbers)
        while self._wall.now < NOW:
            self._wall.now += STEP
            self._boot.now += STEP
            kinds = enumerate((*sorted(BREAKING), "clock-off", f"{CANARY}-kind", None), first)
            for node, kind in ((NODE, None), *((f"node-{number}", kind) for number, kind in kinds)):
                sink.report(node, report(node, kind))
            self.tick()
        await self._book()
        history = self.board._history
        assert history is not None
        await history.recorder.write()
        self.tick()

    async def _book(self) -> None:
        ana = Identity(address="10.9.8.7", counted_as=None, tier="names", role="user", person=CANARY)
        made = await self.board._booking_side.desk.book(
            ana,
            [(NODE, 0)],
            Span(start=NOW, end=NOW + 3600.0),
            kind="booking",
            comment=f"{CANARY} for a paper",
        )
        self.booking = made.booking.id

    async def close(self) -> None:
        """Let go of what was written."""
        assert self.board._history is not None
        await self.board._history.close()
        await asyncio.to_thread(self.board._storage.close)


def report(node: str, kind: str | None) -> NodeReport:
    """Everything that a node may write, with a canary wherever text goes."""
    process = GpuProcess(pid=7, user=CANARY, program=CANARY, arguments=CANARY, memory_used_bytes=2**33)
    problem = Problem(kind=kind or "xid", text=words("p"), remedy=words("p"), detail=words("p"))
    return NodeReport(
        node=node,
        interval_seconds=STEP,
        host=HostFacts(
            hostname=f"{CANARY}.lab",
            addresses=(Address(interface="eth0", address=f"{CANARY}"),),
            disks=(Disk(mount=f"/home/{CANARY}", used_bytes=1, total_bytes=2),),
        ),
        gpus=(
            GpuReading(
                uuid=f"GPU-{node}",
                index=0,
                memory_used_bytes=2**33,
                memory_total_bytes=2**34,
                utilization_percent=50.0,
                processes=(process,),
            ),
            GpuReading(uuid=f"GPU-{node}-held", index=1, memory_used_bytes=2**33, processes=(process,)),
        ),
        problems=() if kind is None else (problem,),
    )


def paths(booking: str) -> list[str]:
    """Every address that can be asked for."""
    found = [
        route.path_format.format(**PATHS, ident=booking)
        for route in web_app().routes
        if isinstance(route, HTTPRoute) and "GET" in route.methods
    ]
    return [path + ASKED.get(path, "") for path in found if not path.startswith("/assets")] + [*EARLIER]


def everything_said(
    anonymous: Anonymous, place: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, tuple[int, str]]:
    """What everybody hears: each answer with its status, and the frames of the stream."""
    monkeypatch.setattr(health, "own_families", lambda _myself: [])
    monkeypatch.setattr("gpuboard.web.pages._FILES", {"index.html": b"<title>gpuboard</title>"})
    tier: Tier = "counts" if anonymous == "counts" else "names"

    house = House(anonymous, place)
    # What the framework needs for it it reads from the disk, once.
    openapi_document()

    async def ask() -> dict[str, tuple[int, str]]:
        house.tick()
        viewer = house.broadcaster.join(tier)
        await house.live()
        frames: list[dict[str, Any]] = []
        for seen in (viewer, house.broadcaster.join(tier)):
            while not seen.frames.empty():
                frame = seen.frames.get_nowait()
                assert frame is not None
                frames.append(decode_frame(frame))
        transport = httpx.ASGITransport(house.board.app, raise_app_exceptions=False)  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            said = {}
            for path in paths(house.booking):
                answer = await client.get(path)
                said[path.replace(house.booking, "ID")] = (answer.status_code, answer.text)
        await house.close()
        if anonymous != "nothing":
            said |= {f"frame {at} {frame['kind']}": (200, str(frame)) for at, frame in enumerate(frames)}
        return said

    return asyncio.run(ask())


@pytest.mark.parametrize("anonymous", ["counts", "nothing"])
def test_nobody_who_may_see_no_names_sees_one(
    anonymous: Anonymous, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by any address, not in any frame, whatever is wrong."""
    said = everything_said(anonymous, tmp_path, monkeypatch)
    # Who asks for somebody by name is told that name.
    heard = {where: text.replace(where, "") for where, (_, text) in said.items()}
    assert {where: text for where, text in heard.items() if CANARY in text} == {}


def test_the_canaries_are_where_names_may_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the test before would look for what is not there; every address answers, or is in a list."""
    said = everything_said("names", tmp_path, monkeypatch)
    # Parts of this board are in trouble, so it says all that it has to say with a 503.
    assert said["/readyz"][0] == 503
    refused = {where for where, (status, _) in said.items() if status != 200} - {"/readyz"}
    assert refused == NOT_ASKED.keys()
    singing = {where.partition("?")[0] for where, (_, text) in said.items() if CANARY in text}
    assert singing >= {
        "/api/v1/fleet",
        f"/api/v1/nodes/{NODE}",
        f"/api/v1/gpus/GPU-{NODE}",
        "/api/v1/people",
        "/api/v1/stream",
        "/api/v1/history/states",
        "/api/v1/episodes",
        "/api/v1/events",
        "/api/v1/usage",
        "/api/v1/usage.csv",
        "/api/v1/usage/days",
        "/api/v1/usage/averages",
        "/api/v1/bookings",
        "/api/v1/bookings/ID",
        "/readyz",
    }
    assert all(CANARY in said[where][1] for where in EARLIER)
    assert any("snapshot" in where for where in singing)
    assert any("change" in where for where in singing)


def test_whoever_answers_otherwise_is_tested_where_the_list_says() -> None:
    """A file that is gone tests nothing."""
    assert [path for path in NOT_ASKED.values() if not (ROOT / path).is_file()] == []


def test_figures_are_told_to_everybody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hiding names must not hide why a GPU is busy."""
    said = everything_said("counts", tmp_path, monkeypatch)
    assert "50 % in use" in said["/api/v1/fleet"][1]
    assert "fallen off the bus" in said["/api/v1/fleet"][1]
