"""What viewers get who come, leave and come back, without a network."""

from typing import Any

import pytest

from gpuboard.fleet.changes import ChangeTracker
from gpuboard.fleet.clock import SteadyClock
from gpuboard.fleet.state import Fleet
from gpuboard.model.report import GpuReading, NodeReport
from gpuboard.web.stream import REMEMBERED_FRAMES, Broadcaster, Viewer
from gpuboard.wire.stream import BoardInfo
from gpuboard.wire.views import Tier
from tests.web.conftest import decode_frame


class Stage:
    """A fleet of one node whose GPU is never the same twice, and the broadcaster of its changes."""

    def __init__(self) -> None:
        fleet = Fleet(SteadyClock())
        info = BoardInfo(version="0", name="here", demo=False, tick_seconds=1.0)
        self._sink = fleet.sink("push")
        self._used = 0
        self._tracker = ChangeTracker(fleet)
        self.broadcaster = Broadcaster(self._tracker, info)

    def change(self, times: int = 1) -> None:
        """Let something change."""
        for _ in range(times):
            self._used += 1
            gpu = GpuReading(uuid="GPU-1", index=0, memory_used_bytes=self._used, processes=())
            self._sink.report("dgx-01", NodeReport(node="dgx-01", gpus=(gpu,)))
            self.broadcaster.follow(self._tracker.tick())

    def come_back(self, tier: Tier, position: dict[str, Any]) -> list[str]:
        """The kinds of messages for a viewer who has heard everything until then."""
        viewer = self.broadcaster.join(tier, stream=position["stream"], after=position["sequence"])
        return [message["kind"] for message in heard(viewer)]


def heard(viewer: Viewer) -> list[dict[str, Any]]:
    """All messages that wait for a viewer."""
    messages = []
    while not viewer.frames.empty():
        frame = viewer.frames.get_nowait()
        assert frame is not None
        messages.append(decode_frame(frame))
    return messages


@pytest.fixture
def stage() -> Stage:
    """A fleet that has changed before anybody looked."""
    stage = Stage()
    stage.change()
    return stage


def test_how_many_sources_have_yet_to_name_their_nodes_is_told() -> None:
    """With the snapshot, and again when that changes, though no row does: no node is no "none" until then."""
    fleet = Fleet(SteadyClock())
    fast, slow = fleet.sink("folder"), fleet.sink("pull")
    tracker = ChangeTracker(fleet)
    broadcaster = Broadcaster(tracker, BoardInfo(version="0", name="here", demo=False, tick_seconds=1.0))
    fast.expect([])
    broadcaster.follow(tracker.tick())
    viewer, version = broadcaster.join("counts"), broadcaster.version
    broadcaster.follow(tracker.tick())
    slow.expect([])
    broadcaster.follow(tracker.tick())
    told = [(message["kind"], message["sources_unknown"]) for message in heard(viewer)]
    assert told == [("snapshot", 1), ("change", 0)]
    assert broadcaster.version != version


def test_the_only_viewer_gets_what_it_missed_when_it_comes_back(stage: Stage) -> None:
    """Although nobody was there to whom it could be sent."""
    viewer = stage.broadcaster.join("names")
    stage.broadcaster.leave(viewer)
    stage.change(3)
    assert stage.come_back("names", heard(viewer)[0]) == ["change"] * 3


def test_a_viewer_who_was_away_too_long_gets_a_snapshot(stage: Stage) -> None:
    """What it missed is no longer known."""
    viewer = stage.broadcaster.join("names")
    stage.broadcaster.leave(viewer)
    stage.change(REMEMBERED_FRAMES)
    assert stage.come_back("names", heard(viewer)[0]) == ["snapshot"]


def test_a_viewer_who_comes_back_with_other_rights_gets_a_snapshot(stage: Stage) -> None:
    """What it missed was never written for these."""
    viewer = stage.broadcaster.join("counts")
    stage.broadcaster.leave(viewer)
    stage.change()
    assert stage.come_back("names", heard(viewer)[0]) == ["snapshot"]


def test_a_viewer_who_missed_nothing_is_told_so(stage: Stage) -> None:
    """Then it knows that it is connected again."""
    viewer = stage.broadcaster.join("names")
    stage.broadcaster.leave(viewer)
    assert stage.come_back("names", heard(viewer)[0]) == ["heartbeat"]


def test_a_viewer_from_the_future_gets_a_snapshot(stage: Stage) -> None:
    """Whatever it has heard, it was not from here."""
    viewer = stage.broadcaster.join("names")
    (snapshot,) = heard(viewer)
    assert stage.come_back("names", snapshot | {"sequence": 99}) == ["snapshot"]


def test_how_people_are_reached_is_told_only_where_names_are(stage: Stage) -> None:
    """Whoever comes back after it has changed hears of it, and of nothing that was before."""
    position = heard(stage.broadcaster.join("names"))[0]
    stage.broadcaster.set_contact("mailto:{person}@lab.example")
    told: dict[Tier, str | None] = {"names": "mailto:{person}@lab.example", "counts": None}
    for tier, contact in told.items():
        viewer = stage.broadcaster.join(tier, stream=position["stream"], after=position["sequence"])
        (message,) = heard(viewer)
        assert (message["kind"], message["board"]["contact"]) == ("snapshot", contact)
