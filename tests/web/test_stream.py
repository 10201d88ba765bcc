"""The live stream, over a real WebSocket."""

import contextlib
import gzip
import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from tests.board import RunningBoard, running_board


def address(board: RunningBoard, query: str = "") -> str:
    """Where the stream is."""
    return board.url.replace("http", "ws") + "api/v1/stream" + query


def hear(socket: ClientConnection, seconds: float = 60) -> dict[str, Any]:
    """The next message, unpacked."""
    frame = socket.recv(timeout=seconds)
    message: dict[str, Any] = json.loads(frame if isinstance(frame, str) else gzip.decompress(frame))
    return message


def kinds_until_closed(socket: ClientConnection) -> list[str]:
    """The kinds of all messages until the board closes the stream."""
    kinds = []
    with contextlib.suppress(ConnectionClosed):
        while True:
            kinds.append(hear(socket)["kind"])
    return kinds


def test_a_viewer_gets_a_snapshot_and_then_changes_in_order(board: RunningBoard) -> None:
    """The sequence rises by one each time."""
    with connect(address(board), compression=None) as socket:
        snapshot = hear(socket)
        changes = [hear(socket) for _ in range(3)]
    assert (snapshot["kind"], len(snapshot["gpus"]["uuid"])) == ("snapshot", 64)
    assert [c["sequence"] for c in changes] == [snapshot["sequence"] + n for n in (1, 2, 3)]


def test_columns_are_of_equal_length(board: RunningBoard) -> None:
    """A row is a row in every column."""
    with connect(address(board), compression=None) as socket:
        snapshot = hear(socket)
    assert {len(column) for column in snapshot["gpus"].values()} == {64}
    assert {len(column) for column in snapshot["nodes"].values()} == {8}


def test_a_viewer_that_comes_back_gets_only_what_it_missed(board: RunningBoard) -> None:
    """No second snapshot over a slow line."""
    with connect(address(board), compression=None) as socket:
        snapshot = hear(socket)
    with connect(address(board), compression=None) as socket:
        # Another one sees two changes more.
        while hear(socket)["sequence"] < snapshot["sequence"] + 2:
            pass
    query = f"?stream={snapshot['stream']}&after={snapshot['sequence']}"
    with connect(address(board, query), compression=None) as socket:
        missed = hear(socket)
    assert (missed["kind"], missed["sequence"]) == ("change", snapshot["sequence"] + 1)


def test_a_viewer_of_another_run_of_the_board_gets_a_snapshot(board: RunningBoard) -> None:
    """Its sequence means nothing here."""
    with connect(address(board, "?stream=other&after=3"), compression=None) as socket:
        assert hear(socket)["kind"] == "snapshot"


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost.evil.example"])
def test_pages_of_others_cannot_listen(board: RunningBoard, origin: str) -> None:
    """Browsers do not protect WebSockets; we do."""
    headers = {"Origin": origin}
    with (
        pytest.raises((InvalidStatus, ConnectionClosed)),
        connect(address(board), additional_headers=headers) as socket,
    ):
        hear(socket)


def test_the_board_stops_in_time_with_a_viewer_connected(tmp_path: Path) -> None:
    """SIGTERM ends it within ten seconds, with a good-bye."""
    with running_board("--demo", "2", log=tmp_path / "log") as board, connect(address(board)) as socket:
        hear(socket)
        asked = time.monotonic()
        board.process.send_signal(signal.SIGTERM)
        kinds = kinds_until_closed(socket)
        try:
            board.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            pytest.fail("still running ten seconds after SIGTERM")
        assert time.monotonic() - asked < 10
    assert kinds[-1] == "bye"


def test_a_stopped_board_leaves_no_agent_behind(tmp_path: Path) -> None:
    """The child that watches this machine ends with it, and the exit code says that all went well."""
    settings = tmp_path / "gpuboard.toml"
    settings.write_text('[[source]]\nkind = "local"\nprobe = "simulated"\n')
    with running_board("--config", str(settings), log=tmp_path / "log") as board:
        children = psutil.Process(board.process.pid).children(recursive=True)
        board.process.send_signal(signal.SIGTERM)
        code = board.process.wait(timeout=60)
    _, alive = psutil.wait_procs(children, timeout=60)
    assert (bool(children), code, alive) == (True, 0, [])
