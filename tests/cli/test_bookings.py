"""Commands that look by themselves know of bookings what the board would."""

import csv
import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gpuboard.agent.drop import write_drop
from gpuboard.agent.outlet import TimedReport
from gpuboard.cli import main
from gpuboard.model.report import GpuReading, NodeReport

TOMORROW = f"{datetime.now(UTC) + timedelta(days=1):%Y-%m-%d %H:%M}"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Settings of a board that reads a folder, in which one free GPU is, and somebody's bookings."""
    (tmp_path / "nfs").mkdir()
    gpu = GpuReading(
        uuid="GPU-1",
        index=0,
        model="A100",
        utilization_percent=0.0,
        memory_used_bytes=0,
        memory_total_bytes=80 << 30,
        processes=(),
    )
    report = NodeReport(node="gpu01", taken_at=time.time(), gpus=(gpu,), interval_seconds=600.0)
    write_drop(tmp_path / "nfs", "gpu01", TimedReport(report, 0.0))
    path = tmp_path / "gpuboard.toml"
    path.write_text(
        f'[bookings]\ncomments_json = "{tmp_path}/comments.json"\n'
        f'[[source]]\nkind = "folder"\npath = "{tmp_path}/nfs"\n'
    )
    return path


def book(config: Path, content: object) -> None:
    """Write what the PHP board would."""
    (config.parent / "comments.json").write_text(json.dumps(content))


def test_a_booked_gpu_is_booked_for_status_and_export_too(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A cron job that exports what is free must not offer what somebody booked."""
    book(config, {"gpu01": {"0": {"name": "ana", "date": TOMORROW}}})
    said = []
    for command in (
        ["status", "--csv"],
        ["export", "csv"],
        ["status", "--csv", "--folder", str(config.parent / "nfs")],
    ):
        assert main([*command, "--config", str(config)]) == 0
        [row] = csv.DictReader(capsys.readouterr().out.splitlines())
        said.append((row["verdict"], row["booked_by"]))
    assert said == [("booked", "ana")] * 3


def test_bookings_that_cannot_be_read_are_said_on_stderr(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Why a GPU is not called free, or who holds it until when; whoever uses the output is told."""
    for command in (["status", "--json"], ["export", "csv"]):
        (config.parent / "comments.json").unlink(missing_ok=True)
        main([*command, "--config", str(config)])
        assert "bookings: " in capsys.readouterr().err
        book(config, {"gpu01": {"0": {"name": "ana", "date": "some day"}}})
        main([*command, "--config", str(config)])
        assert "1 of 1 entry cannot be wholly read" in capsys.readouterr().err


@pytest.mark.parametrize("content", [None, '{"gpu01": {"0": {"na'], ids=["missing", "half-written"])
def test_while_bookings_cannot_be_read_no_gpu_is_called_free(
    config: Path, capsys: pytest.CaptureFixture[str], content: str | None
) -> None:
    """It may be booked; the page of a cron job says so too, and is whole again with the file."""
    comments = config.parent / "comments.json"
    if content is not None:
        comments.write_text(content)
    for command in (["status", "--csv"], ["export", "csv"]):
        main([*command, "--config", str(config)])
        [row] = csv.DictReader(capsys.readouterr().out.splitlines())
        assert (row["verdict"], "bookings" in row["reason"]) == ("unknown", True)
    main(["export", "html", "--config", str(config)])
    page = capsys.readouterr().out
    assert "0 free" in page
    assert "The bookings cannot be read" in page
    book(config, {})
    main(["export", "html", "--config", str(config)])
    page = capsys.readouterr().out
    assert ("1 free" in page, "cannot be read" in page) == (True, False)
