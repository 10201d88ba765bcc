"""Nodes of gpu-monitor under this board: the folder that each serves, fetched as its own board did."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuboard.model.errors import SourceError
from gpuboard.outside.answer import HttpAnswer
from gpuboard.settings.base import Duration
from gpuboard.sources.pull import PullOptions
from gpuboard.sources.pull.gpu_monitor import read_listing
from tests.fakes.http import always, answer_bytes, raw_server
from tests.fakes.sink import RecordingSink, running
from tests.sources.pull.agents import at, pull
from tests.sources.pull.served_folder import ServedFolder

OPTIONS = PullOptions(protocol="gpu-monitor", timeout=Duration(10))


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ServedFolder]:
    """A folder that is served, with some that belong to nobody."""
    for name in ("gpus.csv", "other_notes.csv", "evil_gpus.csv.php", "x_y.php"):
        (tmp_path / name).write_text("nothing of interest\n")
    folder = ServedFolder(tmp_path)
    yield folder
    folder.stop()


async def test_a_served_folder_is_read_as_its_own_board_did(served: ServedFolder) -> None:
    """GPUs, who is on them, the host; and only files that such a node writes are asked for."""
    served.write(seconds_ago=3)
    sink = RecordingSink()
    async with running(pull(at("gpu07.lab", served.port), options=OPTIONS), sink):
        await sink.reports_of("gpu07.lab", 1)
    _, report = sink.reports[0]
    first, second = report.gpus or ()
    assert (report.node, first.utilization_percent, second.processes) == ("gpu07.lab", 88, ())
    assert [(process.user, process.pid) for process in first.processes or ()] == [("ana", 4242)]
    assert report.host is not None
    assert report.host.cpu_count == 16
    assert report.interval_seconds == 20
    assert set(served.asked) == {
        "/",
        *(f"/gpu07_{member}.csv" for member in ("gpus", "processes", "users", "status")),
    }


@pytest.mark.parametrize(("lines", "copied"), [(3, 0), (3, 600), (600, 3), (90_000, 3)])
async def test_the_age_of_a_served_folder_is_that_of_its_lines(
    served: ServedFolder, lines: int, copied: int
) -> None:
    """Whether nvidia-smi hangs there or the loop that copies: what is old is old, after days too."""
    served.write(seconds_ago=lines, copied_ago=copied)
    sink = RecordingSink()
    async with running(pull(at("gpu07", served.port), options=OPTIONS), sink):
        await sink.until(lambda: bool(sink.reports or sink.troubles))
    ages = [report.age_seconds for _, report in sink.reports]
    # Beyond a day it cannot be told, and so it is not believed.
    assert all(age >= lines + copied - 2 for age in ages)
    assert lines > 86_400 or ages[0] < lines + copied + 20


async def test_a_folder_without_files_is_not_ready(served: ServedFolder) -> None:
    """Its loops do not run."""
    sink = RecordingSink()
    async with running(pull(at("gpu07", served.port), options=OPTIONS), sink):
        code, _, text = await sink.trouble_of("gpu07")
        assert code == "not-ready"
        assert "are its loops running?" in text
        served.write()
        await sink.reports_of("gpu07", 1)


@pytest.mark.parametrize(
    "listing",
    [
        b'<a href="../../etc/passwd_gpus.csv">', b'<a href="http://elsewhere/x_gpus.csv">',
        b'<a href="x_gpus.csv?y">',
        b'<a href="/x_gpus.csv\r\nX: y">', b'<a href="-x_gpus.csv">', b"", b"\xff" * 1000,
    ],
)  # fmt: skip
def test_a_listing_cannot_lead_elsewhere(listing: bytes) -> None:
    """Only plain names below the folder itself are followed."""
    with pytest.raises(SourceError, match="holds no file about GPUs"):
        read_listing(HttpAnswer(status=200, headers={}, body=listing), "gpu07")


async def test_a_server_that_does_not_say_when_is_not_believed() -> None:
    """The age of its files is unknown."""
    listing = b'<li><a href="gpu07_gpus.csv">gpu07_gpus.csv</a>'
    sink = RecordingSink()
    async with (
        raw_server(always(answer_bytes(listing, media_type="text/html"))) as fake,
        running(pull(at("gpu07", fake.port), options=OPTIONS), sink),
    ):
        code, _, text = await sink.trouble_of("gpu07")
    assert (code, sink.reports) == ("bad-report", [])
    assert "when its files were written" in text
