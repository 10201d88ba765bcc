"""WebSockets that send the smallest frames there are: they are cut, and honest nodes do not notice."""

import time
from functools import partial
from pathlib import Path

import pytest

from gpuboard.web import deadline_socket
from gpuboard.web.deadline_socket import DeadlineSocket
from tests.board import RunningBoard, running_board
from tests.hostile.floods import TINY, Honest, at_once, flood_with_frames, place_of, upgrade
from tests.hostile.test_endless_handshakes import is_over, think
from tests.pushing import token_of
from tests.serving import serving

SECONDS = 1.5
# Undisturbed it is 11 ms; such floods made it ten seconds. Far above what a busy machine does by itself.
SLOWEST_SECONDS = 2.5


def harms_nobody(board: RunningBoard, kinds: tuple[str, ...], honest: Honest, more: bytes = b"") -> None:
    """Each of these floods is cut, and the honest node beside them is answered in time."""
    for kind in kinds:
        honest.took.clear()
        until = time.monotonic() + SECONDS
        with at_once(partial(flood_with_frames, place_of(board.url), TINY[kind], until, more), 2) as cuts:
            took = sorted(honest.report(until))
        assert all(isinstance(count, int) and count > 0 for count in cuts), kind
        assert took[int(len(took) * 0.95)] < SLOWEST_SECONDS, kind


@pytest.mark.parametrize("anonymous", ["names", "nothing"])
def test_a_visitor_that_floods_with_frames_is_cut(tmp_path: Path, anonymous: str) -> None:
    """Whether it was let in or refused; each cut is in the log, and none with a traceback."""
    log = tmp_path / "log"
    with running_board("--demo", "1", "--anonymous", anonymous, log=log) as board:
        honest = Honest(board.url, "honest", token_of(board, "honest"))
        harms_nobody(board, ("ping", "pong", "text", "fragments"), honest)
    text = log.read_text()
    assert "connection cut" in text
    assert "Traceback" not in text


def test_a_node_that_floods_with_frames_is_cut(tmp_path: Path) -> None:
    """With a good token it may say more, but not that."""
    log = tmp_path / "log"
    with running_board("--demo", "1", log=log) as board:
        honest = Honest(board.url, "honest", token_of(board, "honest"))
        token = f"Authorization: Bearer {token_of(board, 'hostile')}\r\n".encode()
        harms_nobody(board, ("ping", "text", "binary", "fragments"), honest, token)
    assert "Traceback" not in log.read_text()


def test_a_visitor_whose_few_words_cost_much_is_cut(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Within its frames and its bytes it may be; what they take of the processor's time is counted too."""
    monkeypatch.setattr(deadline_socket, "VIEWER_CPU_SECONDS_BURST", 0.0002)
    for limit in ("VIEWER_FRAMES_BURST", "VIEWER_BYTES_BURST"):
        monkeypatch.setattr(deadline_socket, limit, 1e9)
    caplog.set_level("INFO")
    with (
        serving(think, ws=DeadlineSocket, log_config=None) as port,
        upgrade(("127.0.0.1", port)) as line,
    ):
        # Whatever came together with the request would be taken for a part of it.
        time.sleep(0.2)
        line.sendall(TINY["ping"] * 600)
        assert is_over(line)
    reasons = [record.getMessage().partition("reason=")[2] for record in caplog.records]
    assert reasons == ["it takes too much of the board's time"]
