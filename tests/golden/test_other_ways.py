"""The golden fleet by ways that need more than its web: the past, bookings, and a picture."""

import asyncio
from collections import Counter
from datetime import UTC
from pathlib import Path
from typing import Any

import httpx
import pytest

from gpuboard.bookings.book import MemoryBook, NodeFact
from gpuboard.bookings.choosing import Offer, choose
from gpuboard.bookings.rules import Span
from gpuboard.cli import env, main
from gpuboard.fleet.summary import find_free
from gpuboard.fleet.views import fleet_view, node_view
from gpuboard.history.base import Keep
from gpuboard.history.embedded import EmbeddedHistory
from gpuboard.model.errors import BookingRefused
from gpuboard.model.names import device_uuid
from gpuboard.web.picture import Picture
from gpuboard.web.routes.preview import draw
from gpuboard.wire.bookings import BookedPlaces, BookingList, BookingView
from gpuboard.wire.views import NodeView
from tests.golden.fleet import CLAIMS, EXPECTED, HOUR, NOW, Golden, wish_of
from tests.golden.test_outputs import verdicts_of
from tests.web.conftest import guarded

BOOKED = {"lab-01": NodeFact(claims={index: (claim,) for (_, index), claim in CLAIMS.items()})}


@pytest.fixture(scope="module")
def golden() -> Golden:
    """The fleet."""
    return Golden()


@pytest.mark.parametrize("asked", EXPECTED["wishes"], ids=str)
def test_whoever_books_any_gets_what_is_offered_as_free(golden: Golden, asked: dict[str, Any]) -> None:
    """Of whole GPUs: who books an instance books its card."""
    wish = wish_of(asked)
    nodes = list(golden.tracker.nodes.values())
    rows = [row for row in golden.tracker.gpus.values() if row.mig_parent_uuid is None]
    booked_from = golden.fleet.next_claim_at
    found = find_free(nodes, filter(wish.fits, rows), wish, at=NOW, booked_from=booked_from)
    offered = [f"{block.node}:{index}" for block in found.blocks for index in block.indexes[: block.chosen]]
    span = Span(start=NOW, end=NOW + HOUR / 2)
    offer = Offer(nodes=nodes, gpus=list(golden.tracker.gpus.values()))
    try:
        taken, _ = choose(MemoryBook(), wish, span, offer=offer, facts=BOOKED, now=NOW, zone=UTC)
    except BookingRefused:
        assert not found.enough
        assert asked["book"] is None
        return
    assert found.enough
    assert sorted(f"{node}:{index}" for node, index in taken) == asked["book"]
    assert [f"{node}:{index}" for node, index in taken] == offered[: wish.gpus]
    if wish.memory_bytes:
        # None of the instances has so much: it is what every other output says.
        said = [place.partition(":") for place in asked["take"]]
        told = [f"{node}:{label}" for node, _, labels in said for label in labels.split(",") if label]
        assert offered == told


class Desk:
    """Somebody's bookings, as a board would tell them."""

    def __init__(self, golden: Golden, *places: BookedPlaces) -> None:
        self._fleet = golden.fleet
        self._places = places

    def bookings(self, *, mine: bool) -> BookingList:
        """One that runs."""
        assert mine
        running = BookingView(
            id="1",
            kind="booking",
            who="dana",
            places=self._places,
            start=NOW,
            end=NOW + HOUR,
            state="running",
        )
        return BookingList(at=NOW, tier="names", bookings=(running,), tomorrow=NOW)

    def node(self, name: str) -> NodeView:
        """As the board tells it."""
        node = self._fleet.find(name)
        assert node is not None
        found = node_view(self._fleet, node)
        assert found is not None
        return found


@pytest.mark.parametrize("labels", [("lab-01", "5"), ("mig-01", "0:0", "0:1", "0:2")], ids=str)
def test_the_environment_of_a_booking_names_what_is_counted_there(
    golden: Golden,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    labels: tuple[str, ...],
) -> None:
    """The GPU by its UUID; of a card that is cut, its instances."""
    node, *wanted = labels
    desk = Desk(golden, BookedPlaces(node=node, gpus=(int(wanted[0][0]),)))
    monkeypatch.setattr(env, "client_of", lambda _arguments: desk)
    # As UUIDs are here.
    monkeypatch.setattr(env, "_is_cuda_uuid", lambda uuid: uuid.startswith("GPU-"))
    (view,) = [each for each in fleet_view(golden.fleet).nodes if each.name == node]
    uuids = [device_uuid(gpu.uuid) for gpu in view.gpus if gpu.counted and gpu.label in wanted]
    assert len(uuids) == len(wanted)
    assert main(["env", "--node", node]) == 0
    assert f"CUDA_VISIBLE_DEVICES={','.join(uuids)}\n" in capsys.readouterr().out


def test_the_picture_has_the_number(golden: Golden, monkeypatch: pytest.MonkeyPatch) -> None:
    """How many are free, of how many, and a square for each by its verdict."""
    written: list[str] = []
    squares: list[int] = []
    monkeypatch.setattr(Picture, "write", lambda _, text, *_rest: written.append(text))
    monkeypatch.setattr(Picture, "fill", lambda *words: squares.append(words[-1]))
    draw(golden.services.summary())
    assert written == [str(EXPECTED["by_verdict"]["free"]), f"OF {EXPECTED['gpus']} GPUS FREE"]
    counts = [count for count in EXPECTED["by_verdict"].values() if count]
    assert sorted(Counter(squares).values()) == sorted(counts)


@pytest.fixture
def past(tmp_path: Path) -> Golden:
    """The same fleet with a history, a few seconds later."""
    history = EmbeddedHistory(tmp_path / "history.sqlite", Keep())
    history.open()
    golden = Golden(history)
    golden.say_again(NOW + 5.0)
    return golden


def ask(golden: Golden, *paths: str) -> list[Any]:
    """What the board answers, once its history is written."""

    async def answers() -> list[Any]:
        assert golden.recorder is not None
        await golden.recorder.write()
        transport = httpx.ASGITransport(app=guarded(golden.services))  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost/api/v1/") as client:
            return [(await client.get(path)).raise_for_status().json() for path in paths]

    return asyncio.run(answers())


def users_of(view: dict[str, Any]) -> dict[str, list[str]]:
    """Who computes on which GPU; who has booked it, the past does not tell."""
    return {
        gpu["uuid"]: [user["name"] for user in gpu["users"] or ()]
        for node in view["nodes"]
        for gpu in node["gpus"]
    }


def test_the_past_of_now_is_now(past: Golden) -> None:
    """Whoever goes back to this very moment sees what everybody sees."""
    now, then = ask(past, "fleet", f"fleet?at={NOW + 5.0}")
    assert verdicts_of(now) == EXPECTED["verdicts"]
    assert verdicts_of(then) == verdicts_of(now)
    assert verdicts_of(then, counted=False).keys() == verdicts_of(now, counted=False).keys()
    assert users_of(then) == users_of(now)


def test_the_same_gpus_are_counted_in_hours(past: Golden) -> None:
    """Node by node, those of the fleet."""
    (usage,) = ask(past, f"usage?by=node&from={NOW - 2 * HOUR}&to={NOW + HOUR}")
    nodes = {place.partition(":")[0] for place in EXPECTED["verdicts"]}
    assert usage["gpus"] == EXPECTED["gpus"]
    assert {row["name"] for row in usage["rows"]} == nodes
