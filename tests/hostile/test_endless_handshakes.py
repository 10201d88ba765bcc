"""WebSocket handshakes that never end: each is over within its deadline, and nothing of it is left."""

import contextlib
import socket
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from gpuboard.web.direct import DirectSocket
from tests.board import RunningBoard, running_board
from tests.hostile.floods import Place, place_of, upgrade
from tests.pushing import wait_until
from tests.serving import serving

# What the library below refuses to read, and then waits for ever: each is fine for HTTP itself.
ENDLESS = {
    "a line of 9 kB": b"Cookie: " + b"a" * 9000 + b"\r\n",
    "200 headers": b"".join(b"X-%d: a\r\n" % number for number in range(200)),
}
COUNT = 40


def is_over(line: socket.socket) -> bool:
    """Whether the board has ended it, within its deadline."""
    line.settimeout(25)
    with contextlib.suppress(ConnectionResetError):
        while line.recv(4096):
            pass
    return True


def descriptors(board: RunningBoard) -> int:
    """How many files the board has open."""
    return psutil.Process(board.process.pid).num_fds()


@pytest.mark.parametrize("kind", ENDLESS)
def test_a_handshake_that_never_ends_is_ended(push_board: RunningBoard, kind: str) -> None:
    """Without a login it could fill the board's table of files."""
    with contextlib.ExitStack() as stack:
        place: Place = place_of(push_board.url)
        before = descriptors(push_board)
        lines = [stack.enter_context(upgrade(place, more=ENDLESS[kind])) for _ in range(COUNT)]
        assert all(is_over(line) for line in lines)
        wait_until(lambda: descriptors(push_board) <= before + 2)


def test_who_was_refused_and_stays_is_ended(tmp_path: Path) -> None:
    """It was told to go; a WebSocket of which nobody is the owner has seconds to live."""
    arguments = ("--demo", "1", "--anonymous", "nothing")
    limits = {"gpuboard.web.limits.HANDSHAKE_SECONDS": 2.0}
    with (
        running_board(*arguments, log=tmp_path / "log", limits=limits) as board,
        contextlib.ExitStack() as stack,
    ):
        before = descriptors(board)
        lines = [stack.enter_context(upgrade(place_of(board.url))) for _ in range(COUNT)]
        assert all(is_over(line) for line in lines)
        wait_until(lambda: descriptors(board) <= before + 2)


async def think(_scope: object, receive: Any, _send: object) -> None:  # noqa: ANN401 - ASGI's own
    """Answer nobody, until they are gone."""
    while (await receive())["type"] != "websocket.disconnect":
        pass


def test_nonsense_before_the_handshake_is_answered_ends_the_connection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The library below then has no word of farewell to send, and the server took that for its mistake."""
    caplog.set_level("INFO")
    with (
        serving(think, ws=DirectSocket, log_config=None) as port,
        upgrade(("127.0.0.1", port)) as line,
    ):
        # Whatever came together with the request would be taken for a part of it.
        time.sleep(0.2)
        line.sendall(b"\xff" * 64)
        assert is_over(line)
    assert [record.getMessage() for record in caplog.records] == [
        "connection cut: address=127.0.0.1 reason=it does not speak WebSocket"
    ]
