"""A row that cannot be written costs that row, is said, and never ends the stream or the page."""

import asyncio
import logging
from typing import Any

import httpx
import pytest

from gpuboard.fleet.changes import ChangeTracker
from gpuboard.fleet.clock import SteadyClock
from gpuboard.fleet.state import Fleet
from gpuboard.model.report import GpuReading, NodeReport
from gpuboard.web.access import AccessPolicy
from gpuboard.web.components import Components
from gpuboard.web.routes import health
from gpuboard.web.services import Services
from gpuboard.web.stream import Broadcaster, Viewer
from gpuboard.wire.stream import BoardInfo
from tests.web.conftest import decode_frame, guarded


class Odd(float):
    """A number of a type that no encoder knows."""


# A type that no encoder knows, in a node's row; half a character, as undecodable bytes become, in a GPU's.
BAD = ("type", "surrogate")


class House:
    """A fleet with its stream and its web, without a network."""

    def __init__(self) -> None:
        self.fleet = Fleet(SteadyClock())
        self.sink = self.fleet.sink("pull")
        tracker = ChangeTracker(self.fleet)
        info = BoardInfo(version="0", name="here", demo=False, tick_seconds=1.0)
        components = Components()
        self.broadcaster = Broadcaster(tracker, info, components)
        self.services = Services(
            fleet=self.fleet,
            tracker=tracker,
            broadcaster=self.broadcaster,
            access=AccessPolicy(anonymous="names"),
            info=info,
            started_boot_seconds=0.0,
            components=components,
        )

    def tick(self) -> None:
        """Let the board tick."""
        self.broadcaster.follow(self.services.tracker.tick())

    def report(self, node: str, *, interval: float = 5.0, model: str = "A100") -> None:
        """Let a node say something new."""
        gpu = GpuReading(uuid=f"GPU-{node}", index=0, model=model, processes=(), memory_used_bytes=0)
        self.sink.report(node, NodeReport(node=node, gpus=(gpu,), interval_seconds=interval))

    def get(self, *paths: str) -> list[httpx.Response]:
        """Ask for these."""

        async def ask() -> list[httpx.Response]:
            transport = httpx.ASGITransport(guarded(self.services), raise_app_exceptions=False)  # type: ignore[arg-type]
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                return [await client.get(path) for path in paths]

        return asyncio.run(ask())


def heard(viewer: Viewer) -> list[dict[str, Any]]:
    """All messages that wait for a viewer."""
    frames = [viewer.frames.get_nowait() for _ in range(viewer.frames.qsize())]
    return [decode_frame(frame) for frame in frames if frame is not None]


def make_bad(house: House, kind: str) -> None:
    """Let one node say what cannot be written."""
    if kind == "type":
        house.report("bad", interval=Odd(10))
    else:
        house.report("bad", model="\udcff")


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("is_seen", [True, False], ids=["with a viewer", "with none"])
def test_a_row_that_cannot_be_written_does_not_end_the_stream(kind: str, is_seen: bool) -> None:  # noqa: FBT001
    """Its node says so, the others go on, for those who look already and for those who come later."""
    house = House()
    house.report("good")
    house.tick()
    viewer = house.broadcaster.join("names") if is_seen else None
    make_bad(house, kind)
    house.report("good", interval=6.0)
    house.tick()
    told = heard(viewer)[-1]["nodes"]["name"] if viewer else ["bad", "good"]
    snapshot = heard(house.broadcaster.join("counts"))[0]
    table = "nodes" if kind == "type" else "gpus"
    keys = snapshot[table]["name" if kind == "type" else "node"]
    codes = {
        key: reason and reason["code"] for key, reason in zip(keys, snapshot[table]["reason"], strict=True)
    }
    assert sorted(told) == ["bad", "good"]
    assert codes.keys() == {"good", "bad"}
    assert (codes["bad"], codes["good"] != "unwritable") == ("unwritable", True)


@pytest.mark.parametrize("kind", BAD)
def test_a_row_that_cannot_be_written_is_said_by_readyz(kind: str) -> None:
    """As a part in trouble, until it can be written again; and the log says it once."""
    house = House()
    make_bad(house, kind)
    house.tick()
    house.tick()
    (troubled,) = house.get("/readyz")
    parts = [part for part in troubled.json()["components"] if part["state"] == "trouble"]
    assert (troubled.json()["ok"], [part["code"] for part in parts]) == (False, ["unwritable"])
    assert "bad" in parts[0]["reason"]
    house.report("bad")
    house.tick()
    (well,) = house.get("/readyz")
    assert [part["state"] for part in well.json()["components"]] == ["ok"]


@pytest.mark.parametrize("kind", BAD)
def test_every_get_survives_a_row_that_cannot_be_written(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fleet, the node itself, its GPU, sums and metrics are answered, and the good node is in them."""
    # Reads this process's own files, which the guard against blocking calls takes for any other.
    monkeypatch.setattr(health, "own_families", lambda _myself: [])
    house = House()
    house.report("good")
    make_bad(house, kind)
    house.tick()
    paths = ("fleet", "nodes/bad", "gpus/GPU-bad", "summary", "people", "free", "activity")
    answers = house.get(*(f"/api/v1/{path}" for path in paths), "/metrics")
    assert [answer.status_code for answer in answers] == [200] * (len(paths) + 1)
    assert [node["name"] for node in answers[0].json()["nodes"]] == ["bad", "good"]
    assert 'node="good"' in answers[-1].text


def test_a_row_that_cannot_be_written_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """However often its node reports."""
    house = House()
    with caplog.at_level(logging.ERROR):
        for interval in range(10, 20):
            house.report("bad", interval=Odd(interval))
            house.tick()
    assert len([record for record in caplog.records if "row not shown" in record.message]) == 1
