"""A whole board on a machine whose clock is set: everything that it tells follows."""

import json
import logging
import warnings
from pathlib import Path

import pytest
from litestar.exceptions import LitestarDeprecationWarning

from gpuboard.assembly.board import Board
from gpuboard.fleet.clock import SteadyClock
from gpuboard.model.report import GpuReading, NodeReport
from gpuboard.settings.board import BoardTable, BookingsTable, Settings
from gpuboard.web.stream import Broadcaster
from tests.clock import Clock

HOUR = 3600.0
DAY = 24 * HOUR
NOON = 1_800_000_000.0
GPU = GpuReading(uuid="GPU-1", index=0, memory_used_bytes=0, utilization_percent=0.0, processes=())


class Machine:
    """A board, and the clocks of its machine."""

    def __init__(self, place: Path, *, bookings: Path | None = None) -> None:
        self.wall, boot = Clock(NOON), Clock(77.0)
        self.settings = Settings(
            board=BoardTable(state_dir=str(place / "state")),
            bookings=BookingsTable(comments_json=None if bookings is None else str(bookings)),
        )
        with warnings.catch_warnings():
            # Of the framework about itself, as everywhere.
            warnings.simplefilter("ignore", LitestarDeprecationWarning)
            self.board = Board(self.settings, clock=SteadyClock(wall=self.wall, boot=boot))

    @property
    def broadcaster(self) -> Broadcaster:
        """What the board's viewers look at."""
        return self.board._broadcaster

    def tick(self) -> None:
        """Hear of a node, and tick."""
        self.board.fleet.sink("push").report("a", NodeReport(node="a", gpus=(GPU,)))
        self.board._ticker.tick()


@pytest.mark.parametrize(("step", "words"), [(HOUR, "forward by 1h 0m"), (-HOUR, "back by 1h 0m")])
def test_a_clock_that_is_set_is_said_once_and_shown_at_once(
    step: float, words: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Started by a wrong clock that NTP corrects, a board would be wrong until its next start."""
    caplog.set_level(logging.INFO)
    machine = Machine(tmp_path)
    machine.tick()
    machine.wall.now += step
    machine.tick()
    machine.tick()
    snapshot = json.loads(machine.broadcaster.snapshot("names").body)
    assert (snapshot["at"], snapshot["board"]["started_at"]) == (machine.wall.now, machine.wall.now)
    said = [record.message for record in caplog.records if "clock" in record.message]
    assert [words in each for each in said] == [True]


def test_who_looks_comes_again_for_the_new_time(tmp_path: Path) -> None:
    """Nothing that was shown before is compared with the new time."""
    machine = Machine(tmp_path)
    machine.tick()
    machine.broadcaster.join("names")
    machine.wall.now += HOUR
    machine.tick()
    assert machine.broadcaster.viewers == 0


def test_a_booking_that_seemed_to_be_long_over_holds_again(tmp_path: Path) -> None:
    """The file says it still, and has not changed."""
    bookings = tmp_path / "comments.json"
    bookings.write_text(json.dumps({"a": [{"name": "ana", "date": "2027-01-16 12:00", "comment": ""}]}))
    machine = Machine(tmp_path, bookings=bookings)
    machine.wall.now += 9 * DAY
    machine.tick()
    assert machine.board._bookings is not None
    machine.board._bookings.read_once()
    machine.tick()
    before = machine.board._ticker._tracker.gpus["GPU-1"].verdict
    machine.wall.now -= 9 * DAY
    machine.tick()
    assert (before, machine.board._ticker._tracker.gpus["GPU-1"].verdict) == ("free", "booked")
