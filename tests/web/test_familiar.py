"""Addresses known from other boards, and the stream for those whom it does not reach."""

import gzip
import json
from pathlib import Path

import httpx
import pytest

from tests.board import RunningBoard, running_board

UPGRADE_LOST = {"sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==", "sec-websocket-version": "13"}


@pytest.mark.parametrize("path", ["index", "index.php", "gpus", "gpus/", "nodes", "nodes/"])
def test_old_addresses_lead_to_the_board(http: httpx.Client, path: str) -> None:
    """Whatever a proxy puts in front."""
    answer = http.get(path)
    place = httpx.URL("https://lab.example/some/where/").join(path).join(answer.headers["location"])
    assert (answer.status_code, str(place)) == (302, "https://lab.example/some/where/")


def test_old_addresses_lead_to_the_board_under_its_base_path(tmp_path: Path) -> None:
    """Also where the proxy leaves the path as it is."""
    config = tmp_path / "gpuboard.toml"
    config.write_text('[board]\nbase_path = "/lab/"\n')
    with running_board("--config", str(config), "--demo", "1", log=tmp_path / "log") as board:
        answer = httpx.get(f"{board.url}lab/index")
        bare = httpx.get(f"{board.url}lab?show=free")
        said = (tmp_path / "log").read_text()
    assert (answer.status_code, answer.headers["location"]) == (302, "./")
    # What the page links to is below it.
    assert (bare.status_code, bare.headers["location"]) == (308, "lab/?show=free")
    assert f"gpuboard login --socket {board.state}/board.sock" in said


def test_scripts_of_gpu_cluster_monitor_get_its_shape(http: httpx.Client) -> None:
    """Every key that its page and its users read."""
    nodes = http.get("get-status").json()["Nodes"]
    assert len(nodes) == 8
    node = next(node for node in nodes if any(gpu["users"] for gpu in node["gpus"]))
    gpu = next(gpu for gpu in node["gpus"] if gpu["users"])
    assert node.keys() == {"hostname", "last_update", "ips", "gpus", "status", "version"}
    assert gpu.keys() == {"index", "name", "use_mem", "tot_mem", "utilize", "temp", "users"}
    assert gpu["users"][0].keys() == {"pid", "username", "mem(MiB)", "command"}
    assert node["version"] == node["gpus"][0]["name"]
    assert [node["status"] for node in nodes].count(False) == 1


def test_scripts_get_no_names_where_names_are_hidden(http: httpx.Client) -> None:
    """The tier is that of whoever asks."""
    nodes = http.get("get-status", headers={"x-forwarded-for": "192.0.2.7"}).json()["Nodes"]
    assert [gpu["users"] for node in nodes for gpu in node["gpus"] if gpu["users"]] == []
    assert [node["ips"] for node in nodes if node["ips"]] == []


def test_the_snapshot_of_the_stream_can_be_asked_for(http: httpx.Client) -> None:
    """In the tier of who asks, compressed, and not twice."""
    answer = http.get("api/v1/stream", headers={"accept-encoding": "gzip"})
    counts = http.get("api/v1/stream", headers={"x-forwarded-for": "192.0.2.7"}).json()
    snapshot = answer.json()
    assert (answer.headers["content-encoding"], snapshot["kind"]) == ("gzip", "snapshot")
    assert (snapshot["tier"], counts["tier"]) == ("names", "counts")
    assert len(snapshot["nodes"]["name"]) == 8
    assert {users and len(users) for users in counts["gpus"]["users"]} == {None}


def test_a_snapshot_that_is_known_is_not_sent_again(http: httpx.Client) -> None:
    """While nothing has changed; a fleet that changes is asked until it holds still for a moment."""
    codes = set()
    for _ in range(50):
        tag = http.get("api/v1/stream").headers["etag"]
        codes.add(http.get("api/v1/stream", headers={"if-none-match": tag}).status_code)
    assert 304 in codes


def test_a_snapshot_is_plain_for_those_who_understand_no_compression(board: RunningBoard) -> None:
    """And says that it depends."""
    answer = httpx.get(f"{board.url}api/v1/stream", headers={"accept-encoding": "identity"})
    assert ("content-encoding" in answer.headers, answer.headers["vary"]) == (False, "accept-encoding")
    with pytest.raises(gzip.BadGzipFile):
        gzip.decompress(answer.content)
    assert json.loads(answer.content)["kind"] == "snapshot"


def test_a_proxy_that_loses_upgrade_is_named_once_with_the_remedy(tmp_path: Path) -> None:
    """In the answer each time, in the log once."""
    log = tmp_path / "log"
    with running_board("--demo", "1", log=log) as board:
        answers = [httpx.get(f"{board.url}api/v1/stream", headers=UPGRADE_LOST) for _ in range(3)]
    assert {answer.status_code for answer in answers} == {426}
    assert "proxy_set_header Upgrade" in answers[0].json()["detail"]
    assert log.read_text().count("WebSocket without Upgrade") == 1
