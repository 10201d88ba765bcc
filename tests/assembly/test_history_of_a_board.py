"""A board keeps a history without being asked; one that cannot be kept stops nothing else."""

import asyncio
import fcntl
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from gpuboard.assembly import history as module
from gpuboard.assembly.history import BoardHistory
from gpuboard.fleet.clock import SteadyClock
from gpuboard.fleet.state import Fleet
from gpuboard.history.base import Keep
from gpuboard.history.embedded import EmbeddedHistory
from tests.board import RunningBoard, running_board
from tests.started import eventually

pytestmark = pytest.mark.slow

NODES = '[[source]]\nkind = "simulated"\nnodes = 1\ninterval = "200ms"\n'
NO_HISTORY = '[history]\nkind = "none"\n'


@contextmanager
def board_of(
    folder: Path, settings: str = NODES, *words: str, env: Mapping[str, str] | None = None
) -> Iterator[RunningBoard]:
    """A board with one made-up node and these settings."""
    config = folder / "gpuboard.toml"
    config.write_text(settings)
    with running_board("--config", str(config), *words, log=folder / "log", env=env) as board:
        yield board


def snapshot_of(board: RunningBoard) -> Any:  # noqa: ANN401 - JSON
    """What a viewer sees now."""
    return httpx.get(f"{board.url}api/v1/stream").json()


def said_of_history(board: RunningBoard) -> str | None:
    """What /readyz says of the history; None: it is well."""
    parts = httpx.get(f"{board.url}readyz").json()["components"]
    found: str | None = next(part.get("reason") for part in parts if part["kind"] == "history")
    return found


def is_live(board: RunningBoard) -> bool:
    """Whether something newer is shown after a while."""
    before = snapshot_of(board)["nodes"]["sampled_at"]
    eventually(lambda: snapshot_of(board)["nodes"]["sampled_at"] != before)
    return True


def test_a_board_that_was_told_nothing_has_a_history(tmp_path: Path) -> None:
    """In a file beside its database, and whoever asks is answered."""
    with board_of(tmp_path) as board:
        assert (board.state / "history.sqlite").exists()
        assert snapshot_of(board)["board"]["history"]["paused"] is False
        assert httpx.get(f"{board.url}api/v1/events").status_code == 200


def test_a_history_that_has_just_begun_takes_next_to_nothing(tmp_path: Path) -> None:
    """The ballast, too, is no larger than what it is for."""
    with board_of(tmp_path, f'{NODES}[history]\ngrid = "1s"\n') as board:
        eventually((board.state / "history.ballast").exists)
    assert sum(path.stat().st_size for path in board.state.glob("history.*")) < 4 * 1024**2


def test_a_board_that_wants_no_history_has_none(tmp_path: Path) -> None:
    """It leaves no file, and says why nothing can be asked for."""
    with board_of(tmp_path, NODES + NO_HISTORY) as board:
        answer = httpx.get(f"{board.url}api/v1/events")
        assert (answer.status_code, snapshot_of(board)["board"]["history"]) == (404, None)
        assert 'kind = "none"' in answer.json()["detail"]
    assert not list(board.state.glob("history*"))


def test_a_history_that_another_board_has_stops_nothing_and_is_waited_for(tmp_path: Path) -> None:
    """Two boards may share a database on a server and, by mistake, a state directory."""
    state = tmp_path / "state"
    state.mkdir()
    lock = os.open(state / "history.lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(lock, fcntl.LOCK_EX)
    with board_of(tmp_path) as board:
        assert "another board uses the history" in (said_of_history(board) or "")
        assert snapshot_of(board)["board"]["history"]["paused"] is True
        assert is_live(board)
        os.close(lock)
        eventually(lambda: said_of_history(board) is None)


def test_a_board_that_may_write_nowhere_still_shows_its_nodes(tmp_path: Path) -> None:
    """It says of the history, as of its database, that it cannot be kept."""
    (tmp_path / "file").touch()
    nowhere = {"XDG_STATE_HOME": str(tmp_path / "file"), "STATE_DIRECTORY": ""}
    with board_of(tmp_path, NODES, "--state-dir", "", env=nowhere) as board:
        assert "cannot be made" in (said_of_history(board) or "")
        assert is_live(board)


class Hanging(EmbeddedHistory):
    """A file on a disk that does not answer for a while."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, Keep())
        self.answers = threading.Event()

    def open(self) -> None:
        """Open it, once the disk answers."""
        assert self.answers.wait(60)
        super().open()


def test_a_disk_that_hangs_keeps_no_board_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said, and all is well when the disk answers."""
    monkeypatch.setattr(module, "OPEN_SECONDS", 0.1)
    hanging = Hanging(tmp_path / "history.sqlite")
    history = BoardHistory(hanging, Fleet(SteadyClock()), step_seconds=1.0)
    history.open()
    assert history.trouble is not None
    assert history.trouble.code == "history-hung"

    async def follow() -> None:
        running = asyncio.ensure_future(history.run())
        hanging.answers.set()
        async with asyncio.timeout(60):
            while history.trouble is not None:  # noqa: ASYNC110 - it tells nobody
                await asyncio.sleep(0.01)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await history.close()

    asyncio.run(follow())
