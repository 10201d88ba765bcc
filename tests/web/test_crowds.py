"""Viewers that do not read, and visitors that do not speak: they are let go, and nobody else notices."""

import contextlib
import resource
import select
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from gpuboard.web.limits import MAX_VIEWERS_OF_ONE
from tests.board import RunningBoard, running_board
from tests.pushing import wait_until
from tests.web.conftest import decode_frame

pytestmark = pytest.mark.slow

HALF_OPEN = 300


@pytest.fixture(scope="module")
def lively(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBoard]:
    """A board with much to tell, that was started where few files may be open."""
    folder = tmp_path_factory.mktemp("lively")
    config = folder / "gpuboard.toml"
    config.write_text('[board]\ntick = "300ms"\n')
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
    try:
        with running_board("--config", str(config), "--demo", "150", log=folder / "log") as board:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
            yield board
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def place_of(board: RunningBoard) -> tuple[str, int]:
    """Where the board listens."""
    host, _, port = board.url.removeprefix("http://").rstrip("/").partition(":")
    return host, int(port)


@contextlib.contextmanager
def deaf_viewer(board: RunningBoard) -> Iterator[socket.socket]:
    """A viewer that asks for the stream and then never reads."""
    key = "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    with socket.socket() as raw:
        # Small, so that it is the board that has to keep what is not taken.
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.connect(place_of(board))
        head = f"GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\n{key}\r\n"
        raw.sendall(head.encode())
        yield raw


def test_a_viewer_that_does_not_read_is_cut_and_the_others_do_not_notice(lively: RunningBoard) -> None:
    """Within seconds, and for good: nothing of it is left in the board."""
    address = lively.url.replace("http", "ws") + "api/v1/stream"
    with connect(address, compression=None, max_size=None) as viewer, deaf_viewer(lively) as deaf:
        sequences, ages = [], []
        waiting = select.poll()
        waiting.register(deaf, select.POLLRDHUP)
        started = time.monotonic()
        while not waiting.poll(0):
            message = decode_frame(viewer.recv(timeout=60))
            sequences.append(message["sequence"])
            ages.append(time.time() - message["at"])
            assert time.monotonic() - started < 40, "the deaf viewer is still there"
    taken = time.monotonic() - started
    assert sequences == list(range(sequences[0], sequences[0] + len(sequences)))
    assert sorted(ages)[len(ages) // 2] < 2
    assert 9 < taken < 30
    viewers = httpx.get(f"{lively.url}metrics").text
    assert "gpuboard_viewers 0" in viewers
    log = (lively.state.parent / "log").read_text()
    assert ("it does not read" in log, "Traceback" in log) == (True, False)


def test_half_open_connections_keep_nobody_out(lively: RunningBoard) -> None:
    """More of them than files could be open where the board was started; honest requests go on."""
    with contextlib.ExitStack() as stack:
        for number in range(HALF_OPEN):
            raw = stack.enter_context(socket.create_connection(place_of(lively), timeout=10))
            raw.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n" if number % 2 else b"")
        for _ in range(20):
            # Half-open ones are cut after ten seconds: whoever had to wait for that is not answered in time.
            with httpx.Client(base_url=lively.url, timeout=8) as client:
                assert client.get("healthz").status_code == 200


def test_one_address_has_so_many_pages_and_is_told_so(tmp_path: Path) -> None:
    """Another visitor behind the same proxy is let in, and so is this machine itself."""
    config = tmp_path / "gpuboard.toml"
    config.write_text('[access]\ntrusted_proxies = ["127.0.0.1"]\n')

    def look(address: str | None) -> ClientConnection:
        headers = {"x-forwarded-for": address} if address else {}
        return connect(where, additional_headers=headers, compression=None, open_timeout=30)

    def is_shown(address: str | None) -> bool:
        with look(address) as viewer:
            return bool(decode_frame(viewer.recv(timeout=60))["kind"] == "snapshot")

    with (
        running_board("--config", str(config), "--demo", "1", log=tmp_path / "log") as board,
        contextlib.ExitStack() as stack,
    ):
        where = board.url.replace("http", "ws") + "api/v1/stream"
        pages = [stack.enter_context(look("192.0.2.7")) for _ in range(MAX_VIEWERS_OF_ONE)]
        for page in pages:
            page.recv(timeout=60)
        with look("192.0.2.7") as more, pytest.raises(ConnectionClosed) as closed:
            more.recv(timeout=60)
        others = [is_shown("192.0.2.8"), is_shown(None)]
        pages[0].close()
        wait_until(
            lambda: f"gpuboard_viewers {MAX_VIEWERS_OF_ONE - 1}" in httpx.get(f"{board.url}metrics").text
        )
        again = is_shown("192.0.2.7")
    assert closed.value.rcvd is not None
    assert (closed.value.rcvd.code, "close some" in closed.value.rcvd.reason) == (1013, True)
    assert (others, again) == ([True, True], True)
