"""Two files of one user about one node: the newest counts, and where both are fresh they may not disagree."""

import os
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from gpuboard.agent.drop import write_drop
from gpuboard.agent.outlet import TimedReport
from gpuboard.model.report import GpuReading, NodeReport
from gpuboard.sources.folder import FolderOptions, FolderSource
from tests.fakes.sink import RecordingSink
from tests.sources.test_folder import gpustat

GIB = 2**30
FREE = GpuReading(
    uuid="GPU-1", index=0, utilization_percent=0.0, memory_used_bytes=0, memory_total_bytes=GIB, processes=()
)
NOBODY = (FREE, replace(FREE, uuid="GPU-2", index=1))
BUSY = tuple(replace(gpu, utilization_percent=97.0, memory_used_bytes=GIB) for gpu in NOBODY)


class Shared:
    """A folder and a board that looks into it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.sink = RecordingSink()
        self._source = FolderSource(FolderOptions(path=str(path)))
        self._number = 0

    def drop(self, *gpus: GpuReading) -> None:
        """The new agent's file, as of now."""
        self._number += 1
        report = NodeReport(
            node="six", boot_id="b", sequence=self._number, taken_at=time.time(), gpus=gpus or BUSY
        )
        write_drop(self.path, "six", TimedReport(report, 0.0))

    def text(self, ago: float = 0.0) -> None:
        """The old crontab's file."""
        (self.path / "six").write_text(
            gpustat(time.time() - ago, 0).replace("18000", "    1").replace("ana:python/4242(17990M)", "")
        )

    def look(self) -> str:
        """Look once; the file that is shown."""
        self._source.read_once(self.sink)
        return Path(self.sink.files["six"]).name

    def problems(self) -> list[str]:
        """What is said of the newest."""
        return [found.kind for found in self.sink.reports[-1][1].problems]


@pytest.fixture
def shared(tmp_path: Path) -> Shared:
    """A folder of which the board has read the old file."""
    folder = Shared(tmp_path)
    folder.text()
    assert folder.look() == "six"
    return folder


def test_the_file_that_is_written_takes_the_place_of_one_left_lying(shared: Shared) -> None:
    """Whoever moves to the agent forgets the crontab's last file; it is live and free for minutes."""
    seen = []
    for _ in range(3):
        shared.drop()
        seen.append(shared.look())
    assert seen == ["six", "six.json", "six.json"]
    assert shared.sink.troubles == []


def test_a_file_of_tomorrow_does_not_hold_its_place(shared: Shared) -> None:
    """By the time of its last change it would be the newest for ever."""
    os.utime(shared.path / "six", (time.time() + 86400,) * 2)
    for _ in range(3):
        shared.drop()
        shown = shared.look()
    assert shown == "six.json"


def test_two_that_are_written_in_turn_do_not_take_turns(shared: Shared) -> None:
    """Each has other names for the GPUs, and what is remembered of them would be lost every minute."""
    seen = []
    for step in range(4):
        shared.text(ago=-step)
        seen.append(shared.look())
        shared.drop()
        seen.append(shared.look())
    assert set(seen) == {"six"}


def test_what_is_no_nodes_file_takes_no_place(shared: Shared) -> None:
    """Somebody's log has the node's name too, and grows all the time."""
    for step in range(5):
        (shared.path / "six.log").write_text(f"step {step}\n")
        assert shared.look() == "six"
    assert shared.sink.troubles == []
    shared.text(ago=-60)
    shared.look()
    assert shared.sink.count("six") == 2
    assert shared.problems() == []


def test_two_fresh_files_that_disagree_are_said(shared: Shared) -> None:
    """One of them is wrong, and nobody but who writes them knows which."""
    shared.drop()
    shared.text(ago=-1)
    shared.look()
    assert shared.problems() == ["second-file"]


def test_two_files_that_say_the_same_are_no_problem(shared: Shared) -> None:
    """A lab may keep both for its own reasons; and one that is old only lies there."""
    shared.drop(*NOBODY)
    shared.text(ago=-1)
    shared.look()
    assert shared.problems() == []
    shared.drop()
    os.utime(shared.path / "six.json", (time.time() - 300,) * 2)
    shared.text(ago=-2)
    shared.look()
    assert shared.problems() == []
