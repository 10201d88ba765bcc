"""One demo board for all tests of the web that only look."""

import gzip
import json
import warnings
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from litestar import Litestar
from litestar.exceptions import LitestarDeprecationWarning
from litestar.types import ASGIApp

from gpuboard.fleet.changes import ChangeTracker
from gpuboard.fleet.clock import SteadyClock
from gpuboard.fleet.state import Fleet
from gpuboard.web.access import AccessPolicy
from gpuboard.web.app import create_app
from gpuboard.web.components import Components
from gpuboard.web.guard import Guard
from gpuboard.web.services import Services
from gpuboard.web.stream import Broadcaster
from gpuboard.wire.stream import BoardInfo
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


def web_app() -> Litestar:
    """The application with all its routes, and nothing behind them."""
    fleet = Fleet(SteadyClock())
    tracker = ChangeTracker(fleet)
    info = BoardInfo(version="0", name="here", demo=True, tick_seconds=1.0)
    services = Services(
        fleet=fleet,
        tracker=tracker,
        broadcaster=Broadcaster(tracker, info),
        access=AccessPolicy(),
        info=info,
        started_boot_seconds=0.0,
        components=Components(),
    )
    guard = guarded(services)
    assert isinstance(guard, Guard)
    app = guard._app
    assert isinstance(app, Litestar)
    return app


def guarded(services: Services) -> ASGIApp:
    """The application as it is served, with these parts behind it."""
    with warnings.catch_warnings():
        # A newer way to name dependencies, which the oldest version that we allow does not have.
        warnings.simplefilter("ignore", LitestarDeprecationWarning)
        return create_app(services)


def operations() -> list[tuple[str, str]]:
    """What the API describes: method and path."""
    paths: dict[str, Any] = web_app().openapi_schema.to_schema()["paths"]
    return [(method, path) for path, item in paths.items() for method in item]


def decode_frame(frame: str | bytes) -> dict[str, Any]:
    """A message of the live stream."""
    data: dict[str, Any] = json.loads(gzip.decompress(frame) if isinstance(frame, bytes) else frame)
    return data
