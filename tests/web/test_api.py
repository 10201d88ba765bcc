"""The API, asked over real HTTP."""

import socket
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.board import RunningBoard


def test_the_fleet_has_every_gpu_with_one_verdict(http: httpx.Client) -> None:
    """Eight nodes of eight GPUs, each with a word and its evidence."""
    nodes = http.get("api/v1/fleet").json()["nodes"]
    words = [gpu["verdict"]["word"] for node in nodes for gpu in node["gpus"]]
    assert len(words) == 64
    assert set(words) <= {"free", "busy", "idle", "booked", "stale", "broken", "unknown"}


def test_the_demo_shows_idle_holders_at_once(http: httpx.Client) -> None:
    """A demo that needs half an hour to show what it is about would be none."""
    assert http.get("api/v1/summary").json()["by_verdict"]["idle"] > 0


def test_the_lost_gpu_of_the_demo_is_broken_and_says_what_to_do(http: httpx.Client) -> None:
    """Broken comes with evidence and remedy."""
    node = http.get("api/v1/nodes/a100-01").json()
    broken = [gpu for gpu in node["gpus"] if gpu["verdict"]["word"] == "broken"]
    assert [gpu["verdict"]["reason"]["code"] for gpu in broken] == ["gpu-lost"]
    assert "reboot" in node["problems"][0]["remedy"]


def test_an_unchanged_fleet_is_not_sent_again(http: httpx.Client) -> None:
    """A script that polls pays for changes only."""
    for _ in range(20):
        tag = http.get("api/v1/fleet").headers["etag"]
        answer = http.get("api/v1/fleet", headers={"if-none-match": tag})
        if answer.status_code == 304:
            break
    assert (answer.status_code, answer.content) == (304, b"")


def test_the_silent_node_of_the_demo_is_stale_and_says_since_when(http: httpx.Client) -> None:
    """Its last data stays, and none of it counts as free."""
    node = http.get("api/v1/nodes/vision-02").json()
    assert node["state"] == "lost"
    assert {gpu["verdict"]["word"] for gpu in node["gpus"]} == {"stale"}
    assert node["reason"]["values"]["seconds"] >= 240


def test_free_blocks_fit_the_wish(http: httpx.Client) -> None:
    """Only models and sizes that were asked for."""
    answer = http.get("api/v1/free", params={"memory": "40G", "gpus": 1}).json()
    assert all(block["memory_total_bytes"] >= 40 * 1024**3 for block in answer["blocks"])
    assert answer["free"] == sum(len(block["uuids"]) for block in answer["blocks"])


def test_a_wish_that_makes_no_sense_is_a_problem_document(http: httpx.Client) -> None:
    """RFC 9457, and it says how to write it."""
    answer = http.get("api/v1/free", params={"memory": "lots"})
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"
    assert "40G" in answer.json()["detail"]


def test_an_unknown_node_and_gpu_are_not_found(http: httpx.Client) -> None:
    """By name, so that one sees the typing mistake."""
    for path in ("nodes/nope", "gpus/GPU-nope"):
        answer = http.get(f"api/v1/{path}")
        assert (answer.status_code, "nope" in answer.json()["detail"]) == (404, True)


def test_the_activity_of_the_last_hour_covers_every_gpu(http: httpx.Client) -> None:
    """Sixty minutes each."""
    hour = http.get("api/v1/activity").json()
    assert {len(minutes) for minutes in hour["gpus"].values()} == {60}
    assert len(hour["gpus"]) == 64


def test_the_activity_can_be_asked_for_one_node(http: httpx.Client) -> None:
    """A page about one node needs no other."""
    assert len(http.get("api/v1/activity", params={"node": "dgx-01"}).json()["gpus"]) == 8


def test_people_are_sorted_by_what_they_hold(http: httpx.Client) -> None:
    """The heaviest first."""
    held = [person["gpus"] for person in http.get("api/v1/people").json()["people"]]
    assert held == sorted(held, reverse=True)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("127.0.0.1:8042", 200),
        ("[::1]:8042", 200),
        (socket.gethostname(), 200),
        ("192.0.2.7", 200),
        ("evil.example", 421),
        ("localhost.evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("[broken", 421),
        # A name or an address, and behind a colon a port; nothing that only begins like one.
        ("LOCALHOST:65535", 200),
        ("[fe80::1%eth0]", 200),
        ("127.0.0.1:8042.evil.example", 421),
        ("evil@127.0.0.1", 421),
        ("127.0.0.1:99999", 421),
        ("127.0.0.1:0", 421),
        ('127.0.0.1:8042"><script>', 421),
        ("127.0.0.1/x", 421),
        ("[127.0.0.1]", 421),
    ],
)
def test_only_the_boards_own_names_are_answered(http: httpx.Client, host: str, status: int) -> None:
    """A page that rebinds its name to our address gets nothing."""
    assert http.get("api/v1/summary", headers={"host": host}).status_code == status


def test_every_answer_carries_the_strict_content_policy(http: httpx.Client) -> None:
    """Also errors."""
    for path in ("", "api/v1/fleet", "api/v1/nodes/nope"):
        assert "script-src 'self'" in http.get(path).headers["content-security-policy"]


def test_a_forwarded_viewer_is_not_taken_for_a_local_one(http: httpx.Client) -> None:
    """Behind a proxy that nobody listed, a viewer sees counts and no names."""
    fleet = http.get("api/v1/fleet", headers={"x-forwarded-for": "127.0.0.1"}).json()
    gpus = [gpu for node in fleet["nodes"] for gpu in node["gpus"]]
    assert fleet["tier"] == "counts"
    assert {gpu["users"] for gpu in gpus} == {None}
    assert {gpu["reading"]["processes"] for gpu in gpus} == {None}


def test_no_name_of_a_person_is_left_in_the_counts_tier(http: httpx.Client) -> None:
    """Not in reasons either."""
    people = [person["user"] for person in http.get("api/v1/people").json()["people"]]
    hidden = {"x-forwarded-for": "192.0.2.1"}
    text = "".join(
        http.get(f"api/v1/{path}", headers=hidden).text
        for path in ("fleet", "people", "summary", "nodes/a100-01", "nodes/dgx-01", "free", "activity")
    )
    assert people
    assert [name for name in people if f'"{name}"' in text or f" {name}" in text] == []


def test_the_api_describes_itself(http: httpx.Client) -> None:
    """OpenAPI, without any page that loads scripts from elsewhere."""
    document = http.get("api/openapi.json").json()
    assert "/api/v1/fleet" in document["paths"]
    assert {"Snapshot", "ChangeMessage", "Heartbeat", "Bye", "GpuRow"} <= set(
        document["components"]["schemas"]
    )


def test_prometheus_reads_the_fleet_without_names_of_people(http: httpx.Client) -> None:
    """Verdicts, figures, and the board's own cost."""
    people = [person["user"] for person in http.get("api/v1/people").json()["people"]]
    text = http.get("metrics").text
    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert sum(sample.value for sample in families["gpuboard_gpus"].samples) == 64
    assert families["process_resident_memory_bytes"].samples[0].value > 0
    assert [name for name in people if f'"{name}"' in text] == []


def test_health_needs_no_name(board: RunningBoard) -> None:
    """The process is alive; sources work."""
    assert httpx.get(f"{board.url}healthz").text == "ok\n"
    ready = httpx.get(f"{board.url}readyz").json()
    assert (ready["ready"], ready["ok"], ready["nodes"], ready["nodes_live"]) == (True, True, 8, 7)
    assert {one["component"] for one in ready["components"]} >= {"simulated", "push", "storage", "stream"}


def test_every_metric_of_the_board_is_in_the_reference(http: httpx.Client) -> None:
    """A dashboard is made from the reference, not from the code."""
    page = (Path(__file__).parents[2] / "docs" / "reference" / "metrics.md").read_text()
    served = {line.split()[2] for line in http.get("metrics").text.splitlines() if line.startswith("# TYPE")}
    assert "gpuboard_component_up" in served
    assert [name for name in served if f"`{name}`" not in page] == []


def test_a_body_that_is_no_text_is_the_senders_mistake(http: httpx.Client) -> None:
    """And no failure of the board, which would fill its log."""
    body = b'{"code": "\xff"}'
    answer = http.post("api/v1/enroll", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["detail"]) == (400, "The body is not UTF-8.")
