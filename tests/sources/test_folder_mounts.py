"""A shared folder on a mount that lags and hangs, as network mounts do."""

import asyncio
import time
from pathlib import Path

import pytest

from gpuboard.agent.drop import write_drop
from gpuboard.agent.outlet import TimedReport
from gpuboard.probes.simulated import simulate
from gpuboard.settings.base import Duration
from gpuboard.sources.folder import FolderOptions, FolderSource
from gpuboard.sources.folder import source as folder_module
from tests.fakes.lagging_fs import HUNG, lagging
from tests.fakes.sink import RecordingSink, running


def source(path: Path) -> FolderSource:
    """A source that looks often."""
    return FolderSource(FolderOptions(path=str(path), interval=Duration(0.05)))


async def drop(folder: Path, name: str) -> None:
    """Write a report as a node does, on the server's side of the mount."""
    sample = TimedReport(simulate("dgx-01", time.time()), 0.0)
    await asyncio.to_thread(write_drop, folder, name, sample)


async def test_what_is_seen_late_is_read_late_and_whole(tmp_path: Path) -> None:
    """New files and new content both; what is shown in between is the last whole report."""
    with lagging(tmp_path, lag_seconds=0.5) as share:
        await drop(share.behind, "early")
        sink = RecordingSink()
        async with running(source(share.mount), sink):
            await sink.reports_of("early", 1)
            await drop(share.behind, "later")
            await sink.reports_of("later", 1)
            for number in (2, 3):
                await drop(share.behind, "early")
                await sink.reports_of("early", number)
    assert sink.troubles == []
    assert all(report.age_seconds < 10 for _, report in sink.reports)


async def test_a_read_that_hangs_is_said_and_blocks_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The event loop goes on, every node of the folder says why it ages, and comes back afterwards."""
    monkeypatch.setattr(folder_module, "HUNG_SECONDS", 0.3)
    with lagging(tmp_path, lag_seconds=0.0) as share:
        await drop(share.behind, "good")
        sink, shared = RecordingSink(), source(share.mount)
        async with running(shared, sink):
            await sink.reports_of("good", 1)
            await drop(share.behind, HUNG)
            code, state, text = await sink.trouble_of("good")
            said = shared.trouble
            began = time.monotonic()
            await asyncio.sleep(0.1)
            held_up = time.monotonic() - began
            await drop(share.behind, "good")
            share.release()
            await sink.reports_of("good", 2)
            await sink.reports_of(HUNG, 1)
    assert (code, state, "mount hangs" in text) == ("folder-hung", "error", True)
    assert held_up < 1
    assert said is not None
    assert (said.code, shared.trouble) == ("folder-hung", None)
