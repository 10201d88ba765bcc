"""How the board's own parts are: on /readyz, in /metrics and on the stream, to whom it may concern."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import ClientConnection, connect

from gpuboard.model.verdict import Reason
from gpuboard.web.components import Components
from tests.board import RunningBoard, running_board
from tests.parts import free_ports
from tests.pushing import wait_until
from tests.web.conftest import decode_frame

pytestmark = pytest.mark.slow

# A visitor from beyond loopback sees counts.
ELSEWHERE = {"x-forwarded-for": "192.0.2.7"}
# Some of its sources will never name their nodes: they are waited for a moment only.
STARTED = {"gpuboard.web.routes.health.START_SECONDS": 1.0}


class Part:
    """A part whose trouble a test decides."""

    def __init__(self) -> None:
        self.trouble: Reason | None = None

    def ask(self) -> Reason | None:
        """Say how it is."""
        return self.trouble


def down(text: str = "it is down") -> Reason:
    """A trouble."""
    return Reason(code="down", text=text)


def test_a_trouble_lasts_since_it_began_whatever_its_reason() -> None:
    """Consul that first refuses and then does not answer has one outage, not two."""
    parts, part = Components(), Part()
    parts.add("consul", "gpu-host", part.ask)
    for now, trouble in ((10.0, None), (20.0, down("refused")), (30.0, down("no answer"))):
        part.trouble = trouble
        parts.look(now)
    (view,) = parts.troubles()
    assert (view.state, view.reason, view.since) == ("trouble", "no answer", 20.0)


def test_a_part_that_is_well_again_has_no_reason_and_begins_anew() -> None:
    """What is over is over."""
    parts, part = Components(), Part()
    parts.add("consul", "gpu-host", part.ask)
    for now, trouble in ((10.0, down()), (20.0, None)):
        part.trouble = trouble
        parts.look(now)
    (view,) = parts.views()
    assert (view.state, view.reason, view.since) == ("ok", None, None)
    part.trouble = down()
    parts.look(30.0)
    assert [view.since for view in parts.troubles()] == [30.0]


def test_two_parts_of_a_kind_are_told_apart_without_their_names() -> None:
    """Prometheus refuses the same series twice."""
    parts = Components()
    for path in ("/a", "/b"):
        parts.add("folder", path, Part().ask)
    assert [view.component for view in parts.views()] == ["folder", "folder-2"]


@pytest.mark.parametrize("text", ["line\x1b[31m 3", "x" * 5000])
def test_a_reason_can_do_no_harm(text: str) -> None:
    """It may quote a file that anybody writes."""
    parts = Components()
    parts.add("hosts_file", "hosts", lambda: down(text))
    parts.look(1.0)
    reason = parts.troubles()[0].reason
    assert reason is not None
    assert reason.isprintable()
    assert len(reason) <= 500


@pytest.fixture(scope="module")
def lists(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the files of the troubled board are missing."""
    return tmp_path_factory.mktemp("lists")


@pytest.fixture(scope="module")
def troubled(lists: Path) -> Iterator[RunningBoard]:
    """A board whose Consul is down and whose hosts file, folder and bookings are not there."""
    config = lists / "gpuboard.toml"
    config.write_text(
        f'[[source]]\nkind = "pull"\ntoken_file = "{lists}/token"\n'
        f'discover = {{ consul = "http://127.0.0.1:{free_ports(1)[0]}", service = "gpu-secret" }}\n'
        f'[[source]]\nkind = "pull"\ntoken_file = "{lists}/token"\n'
        f'discover = {{ hosts_file = "{lists}/hosts.txt" }}\n'
        f'[[source]]\nkind = "folder"\npath = "{lists}/share"\ninterval = "500ms"\n'
        f'[bookings]\ncomments_json = "{lists}/comments.json"\n'
    )
    with running_board("--config", str(config), "--demo", "1", log=lists / "log", limits=STARTED) as board:
        wait_until(lambda: len(troubles_of(board)) >= 4)
        yield board


def ready(board: RunningBoard, **headers: str) -> dict[str, Any]:
    """What /readyz says."""
    answer: dict[str, Any] = httpx.get(f"{board.url}readyz", headers=headers).json()
    return answer


def troubles_of(board: RunningBoard) -> dict[str, dict[str, Any]]:
    """The parts in trouble, by component."""
    found = ready(board)["components"]
    return {one["component"]: one for one in found if one["state"] == "trouble"}


def test_every_part_in_trouble_says_which_one_why_and_since_when(troubled: RunningBoard, lists: Path) -> None:
    """Sources, node lists and bookings alike."""
    found = troubles_of(troubled)
    assert found.keys() == {"consul", "hosts_file", "folder", "comments_json"}
    assert found["consul"]["name"] == "gpu-secret"
    assert found["folder"]["reason"] == f"{lists}/share: No such file or directory"
    assert all(one["since"] > 1e9 and one["reason"] for one in found.values())


def test_a_source_says_how_many_nodes_it_has_and_other_parts_do_not(troubled: RunningBoard) -> None:
    """One that could not look yet does not say none."""
    found = {one["component"]: one["nodes"] for one in ready(troubled)["components"]}
    assert (found["simulated"], found["push"], found["folder"], found["storage"]) == (1, 0, None, None)


def test_a_board_with_a_part_in_trouble_is_ready_but_not_ok(troubled: RunningBoard) -> None:
    """It still answers with what it has: nobody should take it out of service."""
    answer = httpx.get(f"{troubled.url}readyz")
    assert (answer.status_code, answer.json()["ready"], answer.json()["ok"]) == (200, True, False)


def test_visitors_who_see_counts_learn_no_path_service_or_host(troubled: RunningBoard, lists: Path) -> None:
    """Only which kind of part is in trouble, since when, and in general words why."""
    answer = httpx.get(f"{troubled.url}readyz", headers=ELSEWHERE)
    assert not [word for word in (str(lists), "gpu-secret", "127.0.0.1", "hosts.txt") if word in answer.text]
    folder = next(one for one in answer.json()["components"] if one["kind"] == "folder")
    assert (folder["name"], folder["reason"]) == (None, "the folder cannot be read")


def test_the_metrics_say_which_parts_work(troubled: RunningBoard, lists: Path) -> None:
    """Without names, as for everybody."""
    text = httpx.get(f"{troubled.url}metrics").text
    assert 'gpuboard_component_up{component="consul"} 0' in text
    assert 'gpuboard_component_up{component="simulated"} 1' in text
    assert str(lists) not in text


def next_troubles(viewer: ClientConnection) -> set[str]:
    """The parts in trouble, as of the next message that speaks of them."""
    told = None
    while told is None:
        told = decode_frame(viewer.recv(timeout=60)).get("troubles")
    return {one["component"] for one in told}


def test_the_stream_tells_of_troubles_and_of_their_end(troubled: RunningBoard, lists: Path) -> None:
    """The page shows them while they last."""
    address = troubled.url.replace("http", "ws") + "api/v1/stream"
    with connect(address, compression=None, max_size=None) as viewer:
        while "folder" not in next_troubles(viewer):
            pass
        (lists / "share").mkdir()
        told = next_troubles(viewer)
    assert told == {"consul", "hosts_file", "comments_json"}


def test_where_nothing_may_be_seen_only_ok_or_not_is_said(tmp_path: Path) -> None:
    """No counts, no kinds, no names."""
    config = tmp_path / "gpuboard.toml"
    config.write_text(f'[bookings]\ncomments_json = "{tmp_path}/comments.json"\n')
    arguments = ("--config", str(config), "--demo", "1", "--anonymous", "nothing")
    with running_board(*arguments, log=tmp_path / "log") as board:
        wait_until(lambda: not ready(board)["ok"])
        assert ready(board) == {"ready": True, "ok": False}
