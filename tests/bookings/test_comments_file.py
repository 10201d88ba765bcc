"""The bookings file of a PHP board, followed while people book."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from gpuboard.bookings.comments import Claims, CommentsFile
from gpuboard.fleet.clock import SteadyClock
from gpuboard.fleet.state import Fleet
from gpuboard.model.report import GpuReading, NodeReport

TOMORROW = f"{datetime.now(UTC) + timedelta(days=1):%Y-%m-%d %H:%M}"
LAST_WEEK = f"{datetime.now(UTC) - timedelta(days=7):%Y-%m-%d %H:%M}"


class Booked:
    """What was handed over."""

    def __init__(self) -> None:
        self.all: list[dict[tuple[str, int], str]] = []
        self._news = asyncio.Event()

    def __call__(self, claims: Claims) -> None:
        """Take all claims."""
        self.all.append({key: claim.who for key, claim in claims.items()})
        self._news.set()

    async def until(self, expected: dict[tuple[str, int], str]) -> None:
        """Wait until the claims are these."""
        async with asyncio.timeout(60):
            while not self.all or self.all[-1] != expected:
                self._news.clear()
                await self._news.wait()


@asynccontextmanager
async def following(path: Path, booked: Booked) -> AsyncIterator[CommentsFile]:
    """Follow a file for the length of a block."""
    comments = CommentsFile(str(path), booked, every=0.02)
    task = asyncio.create_task(comments.run())
    try:
        yield comments
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def bookings(**hosts: object) -> str:
    """The file as the PHP page writes it."""
    return json.dumps(hosts)


def entry(name: str, date: str = TOMORROW) -> dict[str, str]:
    """One booking."""
    return {"name": name, "date": date, "comment": "paper"}


async def test_bookings_are_taken_up_as_people_make_them(tmp_path: Path) -> None:
    """Both forms of the file are read; what has ended long ago is left out."""
    path = tmp_path / "comments.json"
    path.write_text(bookings(gpu1=[entry("ana"), entry("ben", LAST_WEEK)]))
    booked = Booked()
    async with following(path, booked):
        await booked.until({("gpu1", 0): "ana"})
        path.write_text(bookings(gpu1=[entry("ana")], gpu2={"3": entry("cem", "2d 4h")}))
        await booked.until({("gpu1", 0): "ana", ("gpu2", 3): "cem"})
        path.write_text("[]")
        await booked.until({})
    assert len(booked.all) == 3


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(None, id="missing"),
        pytest.param(b"", id="empty"),
        pytest.param(b'{"gpu1": [{"name": "a', id="cut off"),
        pytest.param(b"null", id="null"),
        pytest.param(b"\xff\xfe", id="no text"),
        pytest.param(b"x" * 2_000_000, id="too large"),
    ],
)
async def test_a_damaged_file_changes_nothing_and_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: bytes | None
) -> None:
    """The PHP page truncates before it writes; whoever reads between must not forget everybody."""
    path = tmp_path / "comments.json"
    path.write_text(bookings(gpu1=[entry("ana")]))
    booked = Booked()
    caplog.set_level(logging.INFO)
    async with following(path, booked) as comments:
        await booked.until({("gpu1", 0): "ana"})
        path.unlink()
        if damage is not None:
            path.write_bytes(damage)
        async with asyncio.timeout(60):
            while comments.trouble is None:  # noqa: ASYNC110 - it has no event
                await asyncio.sleep(0.01)
        assert len(booked.all) == 1
        path.write_text(bookings(gpu1=[entry("ben")]))
        await booked.until({("gpu1", 0): "ben"})
        assert comments.trouble is None
    # Once for what it is; the unlinking before the damage may have been seen too.
    assert 1 <= caplog.text.count("bookings not read") <= 2
    assert caplog.text.count("bookings read again") == 1


async def test_an_entry_that_cannot_be_read_is_said_and_the_others_hold(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The part is in trouble and says which entry; all is well when it was corrected."""
    path = tmp_path / "comments.json"
    path.write_text(bookings(gpu1=[entry("ana"), entry("ben", "tomorrow")]))
    booked = Booked()
    async with following(path, booked) as comments:
        await booked.until({("gpu1", 0): "ana", ("gpu1", 1): "somebody (unreadable date)"})
        said = comments.trouble
        path.write_text(bookings(gpu1=[entry("ana"), entry("cem")]))
        await booked.until({("gpu1", 0): "ana", ("gpu1", 1): "cem"})
        assert comments.trouble is None
    assert said is not None
    assert said.text.startswith("1 of 2 entries cannot be wholly read: gpu1:1 ")
    assert caplog.text.count("bookings not wholly read") == 1
    assert "bookings not read" not in caplog.text


async def test_a_file_that_is_missing_at_the_start_may_come_later(tmp_path: Path) -> None:
    """The board runs without it meanwhile."""
    booked = Booked()
    async with following(tmp_path / "comments.json", booked):
        await asyncio.sleep(0.1)
        assert booked.all == []
        (tmp_path / "comments.json").write_text(bookings(gpu1=[entry("ana")]))
        await booked.until({("gpu1", 0): "ana"})


async def test_a_booked_gpu_shows_as_booked(tmp_path: Path) -> None:
    """From the file to the one word for the GPU."""
    path = tmp_path / "comments.json"
    path.write_text(bookings(gpu1=[entry("ana")]))
    fleet = Fleet(SteadyClock())
    gpu = GpuReading(
        uuid="GPU-1",
        index=0,
        memory_used_bytes=0,
        memory_total_bytes=2**34,
        utilization_percent=0.0,
        processes=(),
    )
    fleet.sink("pull").report("gpu1", NodeReport(node="gpu1", gpus=(gpu,)))
    node = fleet.get("gpu1")
    assert node is not None
    task = asyncio.create_task(
        CommentsFile(str(path), partial(fleet.set_claims, "comments-json"), now=fleet.clock.now).run()
    )
    async with asyncio.timeout(60):
        while True:
            fleet.settle()
            verdict = node.gpus["GPU-1"].verdict
            if verdict is not None and verdict.word == "booked":
                break
            await asyncio.sleep(0.01)
    task.cancel()
