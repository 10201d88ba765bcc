"""What every way of handing reports on promises, asked of each of them with whoever takes them."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, Protocol

import httpx
import msgspec
import pytest

from gpuboard.agent.board_address import BoardAddress
from gpuboard.agent.drop import DropOutlet
from gpuboard.agent.outlet import LinesOutlet, Outlet, TimedReport
from gpuboard.agent.push import Pusher, PushOutlet
from gpuboard.agent.serve import ListenOptions, ListenOutlet
from gpuboard.model.report import NodeReport
from gpuboard.probes.patience import Call
from gpuboard.wire.drop import decode_drop
from gpuboard.wire.report import decode_report
from tests.board import RunningBoard
from tests.pushing import IMPATIENT, report_of, token_file, token_of
from tests.started import eventually

NODE = "dgx-71"
TOKEN = "0123456789abcdef0123456789abcdef"  # made up for these tests


class Way(Protocol):
    """An outlet with whoever takes what it hands on."""

    outlet: Outlet

    def arrived(self) -> float | None:
        """The temperature of the first GPU, as it is known at the other end; None: nothing has come."""

    def fall_silent(self) -> None:
        """The other end takes nothing from now on."""

    def come_back(self) -> None:
        """And now it does again."""


def temperature(report: NodeReport) -> float | None:
    """By which samples are told apart."""
    return (report.gpus or ())[0].temperature_celsius


class Lines:
    """A program that reads a report per line; when it has gone, so has the agent."""

    def __init__(self) -> None:
        self._pipe = BytesIO()
        self.outlet: Outlet = LinesOutlet(self._pipe)

    def arrived(self) -> float | None:
        """Of the last line."""
        lines = self._pipe.getvalue().splitlines()
        return temperature(decode_report(lines[-1])) if lines else None


class Drops:
    """A shared folder, which may be gone for a while."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "drops"
        self._folder.mkdir()
        self.outlet: Outlet = DropOutlet(self._folder, NODE)

    def arrived(self) -> float | None:
        """Of the file."""
        path = self._folder / f"{NODE}.json"
        return temperature(decode_drop(path.read_bytes())) if path.exists() else None

    def fall_silent(self) -> None:
        """Unmount it."""
        self._folder.rename(self._folder.with_name("elsewhere"))

    def come_back(self) -> None:
        """Mount it."""
        self._folder.with_name("elsewhere").rename(self._folder)


class Listens:
    """A board that asks when it likes."""

    def __init__(self) -> None:
        self._listener = ListenOutlet(ListenOptions(host="127.0.0.1", port=0, token=TOKEN))
        self.outlet: Outlet = self._listener

    def arrived(self) -> float | None:
        """Of what is answered."""
        url = f"http://127.0.0.1:{self._listener.port}/report"
        answer = httpx.get(url, headers={"authorization": f"Bearer {TOKEN}"}, timeout=30)
        return temperature(decode_report(answer.content)) if answer.is_success else None


class Pushes:
    """A board that may hang."""

    def __init__(self, board: RunningBoard, folder: Path) -> None:
        self._board = board
        token = token_file(folder, token_of(board, NODE))
        pusher = Pusher(BoardAddress(board.url), token, interval_seconds=0.2, pauses=IMPATIENT)
        self.outlet: Outlet = PushOutlet(pusher)

    def arrived(self) -> float | None:
        """Of what the board shows."""
        node: dict[str, Any] = httpx.get(f"{self._board.url}api/v1/nodes/{NODE}", timeout=30).json()
        gpus = node.get("gpus")
        return gpus[0]["reading"]["temperature_celsius"] if gpus else None

    def fall_silent(self) -> None:
        """Stop it."""
        os.kill(self._board.process.pid, signal.SIGSTOP)

    def come_back(self) -> None:
        """Let it go on."""
        os.kill(self._board.process.pid, signal.SIGCONT)


Made = Callable[[pytest.FixtureRequest, Path], "Way | Lines | Listens"]
# Who depends on somebody else, and who does not.
DEPENDENT: dict[str, Made] = {
    "drop": lambda _request, folder: Drops(folder),
    "push": lambda request, folder: Pushes(request.getfixturevalue("push_board"), folder),
}
ALL: dict[str, Made] = {
    **DEPENDENT,
    "lines": lambda _request, _folder: Lines(),
    "listen": lambda _request, _folder: Listens(),
}


@pytest.fixture(params=list(ALL))
def way(request: pytest.FixtureRequest, tmp_path: Path) -> "Way | Lines | Listens":
    """Each way in turn."""
    return ALL[request.param](request, tmp_path)


@pytest.fixture(params=list(DEPENDENT))
def dependent(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Way]:
    """Each way whose other end may fall silent."""
    made: Any = DEPENDENT[request.param](request, tmp_path)
    yield made
    made.outlet.stop()


def sample(celsius: float) -> TimedReport:
    """A fresh one."""
    report = report_of(NODE)
    first, *others = report.gpus or ()
    hot = msgspec.structs.replace(first, temperature_celsius=celsius)
    return TimedReport(msgspec.structs.replace(report, gpus=(hot, *others)), time.monotonic())


def hand_over(way: "Way | Lines | Listens", celsius: float) -> None:
    """Offer a sample and see it at the other end."""
    way.outlet.offer(sample(celsius))
    eventually(lambda: way.arrived() == celsius)


def promptly(what: Callable[[], None]) -> None:
    """Do something that must come back by itself."""
    call = Call(what, name="must-come-back")
    assert call.wait(30)
    call.result()


def test_every_outlet_hands_on_the_newest_sample(way: "Way | Lines | Listens") -> None:
    """One after the other."""
    way.outlet.start()
    for celsius in (41.0, 42.0):
        hand_over(way, celsius)
    way.outlet.stop()


def test_every_outlet_can_end_without_a_sample(way: "Way | Lines | Listens") -> None:
    """An agent may be told to stop before its driver has said anything."""
    way.outlet.start()
    promptly(way.outlet.stop)


def test_no_outlet_waits_for_the_other_end_and_the_newest_arrives_in_the_end(dependent: Way) -> None:
    """Whatever was offered meanwhile."""
    dependent.outlet.start()
    hand_over(dependent, 50.0)
    dependent.fall_silent()
    try:
        for celsius in (51.0, 52.0, 53.0):
            promptly(partial(dependent.outlet.offer, sample(celsius)))
    finally:
        dependent.come_back()
    # The next on the beat; a drop that failed is not written again.
    hand_over(dependent, 54.0)


def test_every_outlet_ends_while_the_other_end_is_silent(dependent: Way) -> None:
    """A node must be able to shut down whatever its board does."""
    dependent.outlet.start()
    hand_over(dependent, 60.0)
    dependent.fall_silent()
    try:
        dependent.outlet.offer(sample(61.0))
        promptly(dependent.outlet.stop)
    finally:
        dependent.come_back()
