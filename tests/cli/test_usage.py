"""`gpuboard usage`, asked of a running board."""

import csv
import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gpuboard.cli import main
from gpuboard.client.board import BoardClient
from gpuboard.wire.usage import UsageAnswer, UsageBy, UsageRow, UsageTotal
from tests.board import RunningBoard, running_board
from tests.cli.test_login import command
from tests.pushing import wait_until

KINDS = ("used_ms", "idle_ms", "booked_ms", "free_ms", "broken_ms", "unobserved_ms")


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBoard]:
    """A board that has recorded something of a few nodes."""
    with running_board("--demo", "3", log=tmp_path_factory.mktemp("board") / "log") as running:
        yield running


def usage(board: RunningBoard, home: Path, *words: str) -> str:
    """What somebody reads who types it."""
    done = command("usage", *words, "--board", board.url, home=home)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_six_kinds_add_up_to_the_span(board: RunningBoard, tmp_path: Path) -> None:
    """To the millisecond, in what is printed for programs."""
    wait_until(lambda: json.loads(usage(board, tmp_path, "--json"))["total"]["used_ms"])
    total = json.loads(usage(board, tmp_path, "--json"))["total"]
    assert sum(total[kind] for kind in KINDS) == total["span_ms"]


def test_weeks_that_a_demo_has_behind_it_are_counted(board: RunningBoard, tmp_path: Path) -> None:
    """By whatever is asked, and compared with the weeks before."""
    start = datetime.fromtimestamp(time.time() - 14 * 86_400, UTC).isoformat(timespec="seconds")
    found = json.loads(usage(board, tmp_path, "--json", "--by", "program", "--from", start))
    assert {row["name"] for row in found["rows"]} >= {"python train.py"}
    assert found["total"]["used_ms"] > 0
    assert found["total"]["previous_used_ms"] > 0
    # This board keeps bookings, and nobody has booked.
    assert (found["total"]["reserved_ms"], found["total"]["weighted_ms"]) == (0, None)


def test_a_table_and_a_sheet_are_written_as_files(board: RunningBoard, tmp_path: Path) -> None:
    """As cron would have them."""
    table, sheet = tmp_path / "usage.csv", tmp_path / "usage.html"
    usage(board, tmp_path, "--by", "node", "--csv", "--out", str(table))
    usage(board, tmp_path, "--month", "this", "--html", "--out", str(sheet))
    rows = list(csv.reader(table.read_text().splitlines()))
    assert len({len(row) for row in rows}) == 1
    assert sheet.read_text().startswith("<!doctype html>")


def test_a_month_and_a_span_together_are_refused(board: RunningBoard, tmp_path: Path) -> None:
    """Nobody knows which is meant."""
    done = command("usage", "--month", "last", "--from", "now", "--board", board.url, home=tmp_path)
    assert (done.returncode, "--month" in done.stderr) == (2, True)


def test_a_month_that_is_none_is_the_askers_mistake(board: RunningBoard, tmp_path: Path) -> None:
    """Not one of the board: it ends with 2."""
    done = command("usage", "--month", "2026-13", "--board", board.url, home=tmp_path)
    assert done.returncode == 2
    assert "month: write last, this, or a month like 2026-10" in done.stderr


def test_a_report_names_the_span_that_was_asked_for(board: RunningBoard, tmp_path: Path) -> None:
    """Also where nothing was counted in it."""
    told = usage(board, tmp_path, "--from", "2025-01-01T00:00:00Z", "--to", "2025-02-01T00:00:00Z")
    assert told.startswith("2025-01-01T00:00:00Z to 2025-02-01T00:00:00Z (")
    assert "): No GPU was counted in this time." in told


@pytest.mark.parametrize(
    ("by", "names", "used", "is_said"),
    [("person", [], 1, True), ("group", [], 1, True), ("person", ["ana"], 1, False), ("person", [], 0, False),
     ("node", [], 1, False)],
)  # fmt: skip
def test_whoever_sees_no_names_hears_how_to_see_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *,
    by: UsageBy, names: list[str], used: int, is_said: bool,
) -> None:  # fmt: skip
    """Only where there would be some: somebody has used something."""
    total = UsageTotal(
        span_ms=9, used_ms=used, idle_ms=0, booked_ms=0, free_ms=9, broken_ms=0, unobserved_ms=0
    )
    answer = UsageAnswer(
        start=0.0, end=3600.0, by=by, gpus=1, observed_percent=50.0, text="t", total=total,
        rows=[UsageRow(name=name, used_ms=used, idle_ms=0, booked_ms=0) for name in names],
    )  # fmt: skip
    monkeypatch.setattr(BoardClient, "_ask", lambda *_, **__: answer)
    assert main(["usage", "--by", by, "--board", "https://lab.example/"]) == 0
    assert ("names are hidden from visitors: run gpuboard login" in capsys.readouterr().err) is is_said
