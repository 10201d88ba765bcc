"""A board that has just started does not know yet what there is: nobody hears "none" or "no" from it."""

import asyncio
from typing import Any, cast

import httpx
import pytest

from gpuboard.cli import main
from gpuboard.client.answer import decode_fleet
from gpuboard.export.html import to_html
from gpuboard.fleet.changes import ChangeTracker
from gpuboard.fleet.clock import SteadyClock
from gpuboard.fleet.groups import NodeGroups
from gpuboard.fleet.names import Names
from gpuboard.fleet.state import Fleet
from gpuboard.model.report import GpuReading, NodeReport
from gpuboard.outside.boot_clock import boot_seconds
from gpuboard.web.access import AccessPolicy
from gpuboard.web.components import Components
from gpuboard.web.routes.health import _write_metrics
from gpuboard.web.routes.preview import in_words
from gpuboard.web.services import Services
from gpuboard.web.stream import Broadcaster
from gpuboard.wire.stream import BoardInfo
from tests.serving import serving
from tests.web.conftest import guarded


class Starting:
    """A board of one source, whose ticks a test makes."""

    def __init__(self) -> None:
        self.fleet = Fleet(SteadyClock())
        self.sink = self.fleet.sink("folder")
        self.tracker = ChangeTracker(self.fleet)
        info = BoardInfo(version="0", name="here", demo=False, tick_seconds=1.0)
        self.services = Services(
            fleet=self.fleet,
            tracker=self.tracker,
            broadcaster=Broadcaster(self.tracker, info),
            access=AccessPolicy(),
            info=info,
            started_boot_seconds=boot_seconds(),
            components=Components(),
        )
        self.app = guarded(self.services)

    def tick(self) -> None:
        """Let a second pass, as the board does."""
        self.services.broadcaster.follow(self.tracker.tick())

    def get(self, path: str) -> httpx.Response:
        """Ask as a visitor of this machine does."""

        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(cast("Any", self.app), client=("127.0.0.1", 1))
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
                return await http.get(path)

        return asyncio.run(ask())

    def json(self, path: str) -> Any:  # noqa: ANN401 - JSON
        """An answer of the API."""
        return self.get(path).json()


def test_what_changed_between_two_ticks_is_told_with_the_next() -> None:
    """A node that was forgotten, a name from the settings: whole things, rows and ETag are of one tick."""
    board = Starting()
    for name in ("a", "b"):
        gpu = GpuReading(uuid=f"GPU-{name}", index=0, memory_used_bytes=0, processes=())
        board.sink.report(name, NodeReport(node=name, gpus=(gpu,)))
    board.tick()
    version = board.services.broadcaster.version
    board.fleet.forget("a")
    board.fleet.judge_by(board.fleet.thresholds, Names(nodes={"b": "Red"}))
    board.fleet.group_by(NodeGroups({"lab": ("b",)}))
    now = board.get("/api/v1/fleet")
    assert now.headers["etag"].startswith(f'"{version}-')
    assert [(node["name"], node["display_name"], node["groups"]) for node in now.json()["nodes"]] == [
        ("a", None, []),
        ("b", None, []),
    ]
    assert [board.get(f"/api/v1/{path}").status_code for path in ("nodes/a", "gpus/GPU-a")] == [200, 200]
    board.tick()
    told = board.json("/api/v1/fleet")["nodes"]
    assert [(node["name"], node["display_name"], node["groups"]) for node in told][-1] == (
        "b",
        "Red",
        ["lab"],
    )
    assert board.json("/api/v1/nodes/red")["name"] == "b"


def test_nothing_is_said_to_be_none_before_every_source_has_named_its_nodes() -> None:
    """Not in a picture, not in words, not in figures."""
    board = Starting()
    for _ in range(2):
        assert "GPUs: not known yet" in board.get("/badge.svg").text
        assert in_words(board.services.summary()) == "Which GPUs are free is not known yet."
        summary = board.json("/api/v1/summary")
        assert (summary["gpus_known"], summary["sources_unknown"]) == (False, 1)
        assert board.json("/api/v1/free")["could_be_enough"] is True
        metrics = _write_metrics(board.services).decode()
        assert "gpuboard_gpus{" not in metrics
        assert "gpuboard_nodes{" not in metrics
        ready = board.get("/readyz")
        assert (ready.status_code, ready.json().get("nodes")) == (503, None)
        assert "not known yet" in to_html(decode_fleet(board.get("/api/v1/fleet").content))
        board.tick()


def test_a_board_without_nodes_says_so_once_its_sources_have() -> None:
    """Truly empty is an answer too."""
    board = Starting()
    board.sink.expect([])
    # What people are told is of the last tick: rows and this agree.
    assert "not known yet" in board.get("/badge.svg").text
    board.tick()
    assert "GPUs: none" in board.get("/badge.svg").text
    assert board.json("/api/v1/summary")["gpus_known"] is True
    assert board.json("/api/v1/free")["could_be_enough"] is False
    assert 'gpuboard_gpus{verdict="free"} 0' in _write_metrics(board.services).decode()
    assert board.json("/readyz") == {"ready": True, "ok": True, "nodes": 0, "nodes_live": 0, "components": []}


def test_a_board_is_ready_once_a_node_is_live_though_another_was_never_heard() -> None:
    """An enrolled agent may be away for weeks."""
    board = Starting()
    board.sink.expect(["here", "away"])
    board.tick()
    assert board.get("/readyz").status_code == 503
    board.sink.report("here", NodeReport(node="here", gpus=()))
    board.tick()
    answer = board.get("/readyz")
    assert (answer.status_code, answer.json()["nodes_live"]) == (200, 1)


def test_free_ends_with_3_and_says_why_while_the_board_has_just_started(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A script waits rather than gives up."""
    with serving(Starting().app) as port:
        assert main(["free", "--board", f"http://127.0.0.1:{port}/"]) == 3
    assert "the board has just started" in capsys.readouterr().err
