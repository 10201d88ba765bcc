"""One demo board for all tests of the web that only look."""

from collections.abc import Iterator

import httpx
import pytest

from tests.board import RunningBoard, running_board
from tests.pushing import wait_until


@pytest.fixture(scope="session")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBoard]:
    """A board with eight simulated nodes."""
    with running_board("--demo", "8", log=tmp_path_factory.mktemp("board") / "log") as running:
        # It answers before it has told the past of all eight; one of them is silent on purpose.
        wait_until(lambda: httpx.get(f"{running.url}readyz").json()["nodes_live"] == 7)
        yield running


@pytest.fixture
def http(board: RunningBoard) -> Iterator[httpx.Client]:
    """A client of that board."""
    with httpx.Client(base_url=board.url) as client:
        yield client
