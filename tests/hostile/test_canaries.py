"""Whoever may see counts sees no name: canaries in every text that could carry one, looked for everywhere."""

import asyncio
import itertools
from functools import partial
from typing import Any, Final

import httpx
import pytest
from litestar.routes import HTTPRoute

from gpuboard.fleet.changes import ChangeTracker
from gpuboard.fleet.clock import SteadyClock
from gpuboard.fleet.names import Names
from gpuboard.fleet.state import Fleet
from gpuboard.model.codes import OF_NODES, OF_PARTS, OF_PULL, OF_SSH, OF_THE_OUTSIDE
from gpuboard.model.problems import BREAKING
from gpuboard.model.report import Address, Disk, GpuProcess, GpuReading, HostFacts, NodeReport, Problem
from gpuboard.model.verdict import Claim, Reason
from gpuboard.web.access import AccessPolicy, Anonymous
from gpuboard.web.components import Components
from gpuboard.web.routes import health
from gpuboard.web.services import Services
from gpuboard.web.stream import Broadcaster
from gpuboard.wire.stream import BoardInfo
from gpuboard.wire.views import Tier
from tests.web.conftest import decode_frame, guarded, web_app

CANARY: Final = "canary"
# Every code with which a source says why it cannot read a node; some of them quote what they met.
TROUBLES: Final = (*sorted(OF_NODES | OF_SSH | OF_PULL | OF_THE_OUTSIDE), "some-code-of-tomorrow")
PATHS: Final = {"name": "node-0", "_name": "node-0", "uuid": "GPU-node-0", "path": "x", "ident": "1"}


def words(kind: str) -> str:
    """A sentence with a name in it."""
    return f"{CANARY}-{kind}: /home/{CANARY}/.ssh/id as {CANARY}@10.9.8.7"


def _same(reason: Reason) -> Reason:
    return reason


class House:
    """A fleet in every kind of trouble, and its web."""

    def __init__(self, anonymous: Anonymous) -> None:
        self.fleet = Fleet(SteadyClock(), names=Names(people={}))
        tracker = ChangeTracker(self.fleet)
        info = BoardInfo(version="0", name="here", demo=False, tick_seconds=1.0)
        components = Components()
        for code in (*sorted(OF_PARTS), "some-code-of-tomorrow"):
            reason = Reason(code=code, text=words(code), values={"path": words(code), "who": CANARY})
            components.add("folder", f"/nfs/{CANARY}/{code}", partial(_same, reason))
        self.broadcaster = Broadcaster(tracker, info, components)
        self.services = Services(
            fleet=self.fleet,
            tracker=tracker,
            broadcaster=self.broadcaster,
            access=AccessPolicy(anonymous=anonymous),
            info=info,
            started_boot_seconds=0.0,
            components=components,
        )
        self._numbers = itertools.count()

    def fill(self) -> None:
        """Let every kind of node be there."""
        sink = self.fleet.sink("ssh")
        for code in TROUBLES:
            values = {"remedy": words(code), "who": CANARY, "seconds": words(code), "users": [CANARY]}
            node = f"node-{next(self._numbers)}"
            sink.trouble(node, Reason(code=code, text=words(code), values=values), state="error")
        claim = Claim(who=CANARY, comment=CANARY)
        self.fleet.set_claims("booking", {(f"node-{number}", 1): claim for number in range(100)})
        for kind in (*sorted(BREAKING), "clock-off", f"{CANARY}-kind", None):
            node = f"node-{next(self._numbers)}"
            sink.report(node, report(node, kind))


def report(node: str, kind: str | None) -> NodeReport:
    """Everything that a node may write, with a canary wherever text goes."""
    process = GpuProcess(pid=7, user=CANARY, program=CANARY, arguments=CANARY, memory_used_bytes=2**33)
    problem = Problem(kind=kind or "xid", text=words("p"), remedy=words("p"), detail=words("p"))
    return NodeReport(
        node=node,
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


def paths() -> list[str]:
    """Every address that can be asked for."""
    found = [route.path_format for route in web_app().routes if isinstance(route, HTTPRoute)]
    return [path.format(**PATHS) for path in found if not path.startswith("/assets")]


def everything_said(anonymous: Anonymous, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What everybody hears: each answer, and the frames of the stream."""
    monkeypatch.setattr(health, "own_families", lambda _myself: [])
    monkeypatch.setattr("gpuboard.web.pages._FILES", {})
    house = House(anonymous)
    tier: Tier = "counts" if anonymous == "counts" else "names"
    house.broadcaster.follow(house.services.tracker.tick())
    viewer = house.broadcaster.join(tier)
    house.fill()
    house.broadcaster.follow(house.services.tracker.tick())

    async def ask() -> dict[str, str]:
        transport = httpx.ASGITransport(guarded(house.services), raise_app_exceptions=False)  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return {path: (await client.get(path)).text for path in paths()}

    said = asyncio.run(ask())
    frames: list[dict[str, Any]] = []
    for seen in (viewer, house.broadcaster.join(tier)):
        while not seen.frames.empty():
            frame = seen.frames.get_nowait()
            assert frame is not None
            frames.append(decode_frame(frame))
    if anonymous != "nothing":
        said |= {f"frame {number} {frame['kind']}": str(frame) for number, frame in enumerate(frames)}
    return said


@pytest.mark.parametrize("anonymous", ["counts", "nothing"])
def test_nobody_who_may_see_no_names_sees_one(anonymous: Anonymous, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not by any address, not in any frame, whatever is wrong."""
    said = everything_said(anonymous, monkeypatch)
    assert {where: text for where, text in said.items() if CANARY in text} == {}


def test_the_canaries_are_where_names_may_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the test before would look for what is not there."""
    said = everything_said("names", monkeypatch)
    singing = {where for where, text in said.items() if CANARY in text}
    assert {"/api/v1/fleet", "/api/v1/people", "/api/v1/nodes/node-0", "/api/v1/stream", "/readyz"} <= singing
    assert any("snapshot" in where for where in singing)
    assert any("change" in where for where in singing)


def test_figures_are_told_to_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hiding names must not hide why a GPU is busy."""
    said = everything_said("counts", monkeypatch)
    assert "50 % in use" in said["/api/v1/fleet"]
    assert "fallen off the bus" in said["/api/v1/fleet"]
