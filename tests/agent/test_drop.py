"""Files in a shared folder: whole or not at all."""

import os
import random
import signal
import time
from pathlib import Path

import pytest

from gpuboard.agent.drop import DropOutlet, write_drop
from gpuboard.agent.outlet import TimedReport
from gpuboard.model.errors import UsageError
from gpuboard.probes.simulated import simulate
from gpuboard.wire.drop import decode_drop

SAMPLE = TimedReport(simulate("dgx-01", 1_800_000_000.0), 0.0)


def test_the_written_file_is_the_report(tmp_path: Path) -> None:
    """Under the node's name, and nothing beside it."""
    write_drop(tmp_path, "dgx-01", SAMPLE)
    assert [path.name for path in tmp_path.iterdir()] == ["dgx-01.json"]
    assert decode_drop((tmp_path / "dgx-01.json").read_bytes()) == SAMPLE.report


def write_for_ever(folder: Path) -> None:
    """What the killed writer does."""
    number = 0
    while True:
        number += 1
        write_drop(folder, "dgx-01", TimedReport(simulate("dgx-01", 1_800_000_000.0 + number), 0.0))


@pytest.mark.parametrize("times", [50, pytest.param(500, marks=pytest.mark.long)])
def test_killing_the_writer_at_any_moment_leaves_a_whole_file(tmp_path: Path, times: int) -> None:
    """Again and again, at random moments."""
    write_drop(tmp_path, "dgx-01", SAMPLE)
    moments = random.Random(7)
    newest = 0.0
    for _ in range(times):
        writer = os.fork()
        if writer == 0:
            try:
                write_for_ever(tmp_path)
            finally:
                os._exit(1)
        time.sleep(moments.uniform(0.001, 0.02))
        os.kill(writer, signal.SIGKILL)
        os.waitpid(writer, 0)
        report = decode_drop((tmp_path / "dgx-01.json").read_bytes())
        newest = max(newest, report.taken_at or 0.0)
    assert newest > 1_800_000_000.0


def test_left_overs_of_a_killed_writer_are_taken_away(tmp_path: Path) -> None:
    """The folder does not fill up."""
    (tmp_path / ".dgx-01.json.4194999.tmp").write_text("half a rep")
    write_drop(tmp_path, "dgx-01", SAMPLE)
    assert [path.name for path in tmp_path.iterdir()] == ["dgx-01.json"]


def test_a_link_planted_under_the_temporary_name_is_not_followed(tmp_path: Path) -> None:
    """Others may write in this folder too."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    folder = tmp_path / "drops"
    folder.mkdir()
    (folder / f".dgx-01.json.{os.getpid()}.tmp").symlink_to(victim)
    write_drop(folder, "dgx-01", SAMPLE)
    assert victim.read_text() == "precious"


def test_a_missing_folder_is_said_before_anything_starts(tmp_path: Path) -> None:
    """With what to do."""
    with pytest.raises(UsageError, match="create or mount it first"):
        DropOutlet(tmp_path / "nope", "a").start()


def test_stopping_waits_for_the_last_write(tmp_path: Path) -> None:
    """What was offered is there."""
    outlet = DropOutlet(tmp_path, "dgx-01")
    outlet.start()
    outlet.offer(SAMPLE)
    outlet.stop()
    assert decode_drop((tmp_path / "dgx-01.json").read_bytes()) == SAMPLE.report
