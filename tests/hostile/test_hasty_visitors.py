"""Visitors who ask too much: they wait, what is dear is made once, and a request has one host."""

import asyncio
import socket
from collections.abc import Callable, Mapping
from typing import Any

import httpx
import msgspec
import pytest

from gpuboard.accounts.tokens import KnownToken
from gpuboard.web import guard, pages, services
from gpuboard.web.routes import fleet, health
from gpuboard.wire.stream import Snapshot
from gpuboard.wire.views import Tier
from tests.board import RunningBoard
from tests.hostile.floods import place_of
from tests.web.conftest import decode_frame, guarded
from tests.web.test_unwritable import House


def ask(
    house: House, address: str, *paths: str, headers: dict[str, str] | None = None
) -> list[httpx.Response]:
    """Ask for these from an address, one after another."""

    async def go() -> list[httpx.Response]:
        transport = httpx.ASGITransport(guarded(house.services), client=(address, 1234))  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return [await client.get(path, headers=headers) for path in paths]

    return asyncio.run(go())


def test_an_address_that_asks_without_end_is_told_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """In words, with how long; another address, and this machine, are not."""
    monkeypatch.setattr(guard, "VISITS_BURST", 5.0)
    monkeypatch.setattr(guard, "VISITS_PER_SECOND", 0.1)
    house, many = House(), ["/healthz"] * 8
    hasty = ask(house, "2001:db8::7", *many)
    here = ask(house, "127.0.0.1", *many)
    assert [answer.status_code for answer in hasty] == [200] * 5 + [429] * 3
    assert (int(hasty[-1].headers["retry-after"]) > 0, "wait" in hasty[-1].json()["detail"]) == (True, True)
    assert {answer.status_code for answer in here} == {200}


@pytest.mark.parametrize("path", ["/api/v1/fleet", "/api/v1/activity", "/metrics", "/api/v1/stream"])
def test_a_dear_answer_is_made_once_a_tick(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many ask, compressed or not; after a tick it is made anew."""
    made = 0

    def counted() -> list[object]:
        nonlocal made
        made += 1
        return []

    monkeypatch.setattr(health, "own_families", lambda _myself: counted())
    house = House()
    house.report("good")
    house.tick()
    whole, encode, snapshot = fleet._encode_fleet, fleet._encode_activity, house.broadcaster._snapshot
    monkeypatch.setattr(fleet, "_encode_fleet", lambda *args: (counted(), whole(*args))[1])
    monkeypatch.setattr(fleet, "_encode_activity", lambda *args: (counted(), encode(*args))[1])
    monkeypatch.setattr(house.broadcaster, "_snapshot", lambda tier: (counted(), snapshot(tier))[1])
    answers = ask(house, "127.0.0.1", *[path] * 20)
    once = made
    house.report("good", model="B200")
    house.tick()
    ask(house, "127.0.0.1", path)
    assert {answer.status_code for answer in answers} == {200}
    assert (once, made) == (1, 2)


@pytest.mark.parametrize("path", ["/", "/preview.png", "/badge.svg", "/api/v1/summary", "/api/v1/free"])
def test_the_fleet_is_counted_once_a_tick(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """For all who ask for the same of it; after a tick it is counted anew."""
    made = 0

    def counted(count: Callable[..., object]) -> Callable[..., object]:
        def count_and_note(*args: object, **options: object) -> object:
            nonlocal made
            made += 1
            return count(*args, **options)

        return count_and_note

    monkeypatch.setattr(pages, "_FILES", {"index.html": b"<html>\n  <head>\n  </head></html>"})
    for name in ("summarize", "find_free"):
        monkeypatch.setattr(services, name, counted(getattr(services, name)))
    house = House()
    house.report("good")
    house.tick()
    answers = ask(house, "127.0.0.1", *[path] * 20)
    once = made
    house.tick()
    ask(house, "127.0.0.1", path)
    assert {answer.content for answer in answers} == {answers[0].content}
    assert (answers[0].status_code, once, made) == (200, 1, 2)


def test_pages_that_are_opened_at_once_share_their_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    """The very same bytes, made and compressed once for each tier; whoever comes later has what is new."""
    house = House()
    for number in range(20):
        house.report(f"node{number}")
    house.tick()
    made: list[str] = []
    snapshot = house.broadcaster._snapshot

    def noted(tier: Tier) -> Snapshot:
        made.append(tier)
        return snapshot(tier)

    monkeypatch.setattr(house.broadcaster, "_snapshot", noted)
    frames = [house.broadcaster.join(tier).frames.get_nowait() for tier in ("names", "counts", "names") * 5]
    once = sorted(made)
    house.report("new")
    house.tick()
    later = house.broadcaster.join("names").frames.get_nowait()
    assert once == ["counts", "names"]
    assert len({id(frame) for frame in frames}) == 2
    assert later is not None
    assert len(decode_frame(later)["nodes"]["name"]) == 21


@pytest.mark.parametrize("hosts", [b"", b"Host: localhost\r\nHost: evil.example\r\n"], ids=["none", "two"])
def test_a_request_names_its_host_once(push_board: RunningBoard, hosts: bytes) -> None:
    """Otherwise one part of the board would read the one, and another the other."""
    with socket.create_connection(place_of(push_board.url), timeout=10) as line:
        line.sendall(b"GET /healthz HTTP/1.1\r\n" + hosts + b"\r\n")
        assert line.recv(1000).split()[1] == b"400"


class KnownHouse(House):
    """A house whose door knows one token."""

    def __init__(self) -> None:
        super().__init__()
        door: Any = Door()
        self.services = msgspec.structs.replace(self.services, agents=door)


class Door:
    """Lets in whoever has the one good token."""

    def recognise(self, headers: Mapping[str, str]) -> KnownToken | None:
        """Whose it is."""
        good = headers["authorization"] == "Bearer good"
        return KnownToken(node="gpu01", digest="d", expires_at=None) if good else None


@pytest.mark.parametrize(("token", "last"), [("good", 405), ("wrong", 429)])
def test_only_a_good_token_is_not_counted_as_a_visit(
    token: str, last: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else anybody could ask without end, by a header of no meaning."""
    monkeypatch.setattr(guard, "VISITS_BURST", 5.0)
    monkeypatch.setattr(guard, "VISITS_PER_SECOND", 0.1)
    paths = ["/api/v1/reports"] * 8
    answers = ask(KnownHouse(), "192.0.2.7", *paths, headers={"authorization": f"Bearer {token}"})
    assert [answers[0].status_code, answers[-1].status_code] == [405, last]
    assert (answers[-1].headers.get("connection") == "close") == (last == 429)


def test_an_address_with_wrong_tokens_is_hung_up_on(push_board: RunningBoard) -> None:
    """A kept connection would make the next try cheap."""
    with httpx.Client(
        base_url=push_board.url, transport=httpx.HTTPTransport(local_address="127.0.0.77")
    ) as visitor:
        wrong = {"authorization": "Bearer nobody"}
        answers = [visitor.post("api/v1/reports", headers=wrong) for _ in range(25)]
    assert answers[-1].status_code == 429
    assert answers[-1].headers["connection"] == "close"
