"""How the database fares, as the log tells it."""

import asyncio
import logging
from pathlib import Path

import pytest

from gpuboard.model.errors import StorageAwayError
from gpuboard.model.verdict import Reason
from gpuboard.storage import watch
from gpuboard.storage.sqlite import FILE_NAME, SqliteDatabase


def test_a_database_that_works_again_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever was woken by the trouble sees in the log that it is over."""
    monkeypatch.setattr(watch, "LOOK_SECONDS", 0.0)
    caplog.set_level(logging.INFO, logger="gpuboard.storage.watch")
    database = SqliteDatabase(tmp_path / FILE_NAME)
    database.open()
    looks = iter([True, False, False, True, True])
    has_looked = asyncio.Event()

    def find_loss() -> Reason | None:
        is_there = next(looks, None)
        if is_there is None:
            loop.call_soon_threadsafe(has_looked.set)
        if is_there is False:
            raise StorageAwayError("the server is away")
        return None

    monkeypatch.setattr(database, "find_loss", find_loss)

    async def look() -> None:
        task = asyncio.create_task(watch.StorageWatch(database).follow())
        await has_looked.wait()
        task.cancel()

    loop = asyncio.new_event_loop()
    loop.run_until_complete(look())
    loop.close()
    database.close()
    assert caplog.messages == [
        "the server is away",
        f"database works again: database={tmp_path / FILE_NAME}",
    ]
