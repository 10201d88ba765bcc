"""Bookings of nodes and GPUs that are not there, and under names that the admin gave."""

import json
import logging
import time
import urllib.request
from pathlib import Path

import pytest

from gpuboard.agent.drop import write_drop
from gpuboard.agent.outlet import TimedReport
from gpuboard.bookings.slips import HOSTS, MAX_NAMED, Slips
from gpuboard.fleet.names import Names
from gpuboard.fleet.state import Fleet
from gpuboard.fleet.views import find_gpu
from gpuboard.model.report import GpuReading, NodeReport
from gpuboard.model.verdict import Claim
from gpuboard.probes.simulated import simulate
from gpuboard.verdict import Thresholds
from tests.board import running_board
from tests.clock import HandClock
from tests.started import eventually

GPU = GpuReading(
    uuid="GPU-1",
    index=0,
    memory_used_bytes=0,
    memory_total_bytes=8 << 30,
    utilization_percent=0.0,
    processes=(),
)


def fleet_with(node: str, called: str | None = None) -> Fleet:
    """One node that reported, and what people call it."""
    fleet = Fleet(HandClock(), names=Names(nodes={node: called} if called else {}))
    fleet.sink("push").expect([node])
    fleet.sink("push").report(node, NodeReport(node=node, gpus=(GPU,)))
    return fleet


def word(fleet: Fleet) -> str:
    """What the GPU is called now."""
    fleet.settle()
    gpu = find_gpu(fleet, "GPU-1")
    assert gpu is not None
    return gpu.verdict.word


def test_a_name_that_another_node_has_by_itself_means_that_node() -> None:
    """Whoever books gpu03 means gpu03, whatever else is called so."""
    fleet = fleet_with("cml07", "gpu03")
    fleet.sink("push").expect(["cml07", "gpu03"])
    fleet.set_claims("comments-json", {("gpu03", 0): Claim(who="ana")})
    assert word(fleet) == "free"


@pytest.mark.parametrize(
    ("called", "booked"),
    [
        ("Big One", "big one"),
        ("A. Turing", "a. turing"),
        ("Tejo", "tejo"),
        ("Tejo", "tejo.lab.example"),
        ("Tejo.lab.example", "tejo"),
        ("Tejo", "gpu01"),
        ("Größe", "grösse"),
    ],
)
def test_a_booking_under_a_nodes_display_name_is_the_nodes(called: str, booked: str) -> None:
    """People write what they read on the board."""
    fleet = fleet_with("gpu01", called)
    fleet.set_claims("comments-json", {(booked, 0): Claim(who="ana")})
    assert (word(fleet), fleet.booked_elsewhere()) == ("booked", ())


@pytest.mark.parametrize(
    ("called", "booked"), [("A. Turing", "a"), (None, "a. turing"), ("A", "a. turing"), ("Tejo.a", "tejo.b")]
)
def test_a_booking_under_another_name_holds_nothing_and_is_told(called: str | None, booked: str) -> None:
    """A dot in a sentence begins no domain, and two domains are two machines."""
    fleet = fleet_with("gpu01", called)
    fleet.set_claims("comments-json", {(booked, 0): Claim(who="ana")})
    assert (word(fleet), fleet.booked_elsewhere()) == ("free", (booked,))


def test_a_new_display_name_takes_up_what_is_booked_under_it() -> None:
    """The settings are read again; the bookings are as they were."""
    fleet = fleet_with("gpu01")
    fleet.set_claims("comments-json", {("tejo", 0): Claim(who="ana")})
    told = [(word(fleet), fleet.booked_elsewhere())]
    fleet.judge_by(Thresholds(), Names(nodes={"gpu01": "Tejo"}))
    told.append((word(fleet), fleet.booked_elsewhere()))
    assert told == [("free", ("tejo",)), ("booked", ())]


def test_what_has_ended_is_no_trouble_and_what_is_yet_to_begin_is() -> None:
    """Nobody counts on a booking of last week."""
    fleet = fleet_with("gpu01")
    now = fleet.clock.now()
    fleet.set_claims(
        "comments-json",
        {("old", 0): Claim(who="ana", until=now - 1), ("soon", 0): Claim(who="ana", start=now + 9)},
    )
    assert fleet.booked_elsewhere() == ("soon",)


def test_nothing_is_told_while_a_source_has_yet_to_name_its_nodes() -> None:
    """Just after a start every node is unknown."""
    fleet = fleet_with("gpu01")
    slow = fleet.sink("pull")
    fleet.set_claims("comments-json", {("gpu02", 0): Claim(who="ana")})
    told = [fleet.booked_elsewhere()]
    slow.expect([])
    assert [*told, fleet.booked_elsewhere()] == [(), ("gpu02",)]


def test_an_unknown_host_is_said_once_and_heals_when_its_node_comes(caplog: pytest.LogCaptureFixture) -> None:
    """In the log when it is new, for the board's part as long as it lasts."""
    caplog.set_level(logging.INFO)
    fleet = fleet_with("gpu01")
    hosts = Slips(HOSTS, fleet.booked_elsewhere)
    fleet.set_claims("comments-json", {("gpu02", 0): Claim(who="ana")})
    for _ in range(3):
        hosts.look()
    assert hosts.trouble is not None
    assert "no source knows: gpu02;" in hosts.trouble.text
    fleet.sink("push").expect(["gpu01", "gpu02"])
    hosts.look()
    assert hosts.trouble is None
    said = [record.getMessage() for record in caplog.records if "booking" in record.getMessage()]
    assert [line.partition(";")[0] for line in said] == [
        "bookings of no node: gpu02",
        "all bookings are of known nodes again",
    ]


def test_a_file_full_of_odd_names_is_told_in_one_short_line(caplog: pytest.LogCaptureFixture) -> None:
    """Whoever may write bookings fills neither log nor terminal."""
    hosts = Slips(HOSTS, lambda: [f"\x1b[31m{number}{'x' * 300}" for number in range(1000)])
    hosts.look()
    [record] = caplog.records
    assert len(record.getMessage()) < 600
    assert f"and {1000 - MAX_NAMED} more" in record.getMessage()
    assert "\x1b" not in record.getMessage()


def test_a_board_says_which_hosts_and_gpus_of_the_bookings_it_does_not_know(tmp_path: Path) -> None:
    """`/readyz` names them; the booking under the display name holds."""
    (tmp_path / "nfs").mkdir()
    write_drop(tmp_path / "nfs", "gpu01", TimedReport(simulate("gpu01", time.time()), 0.0))
    booking = {"name": "ana", "date": "2099-12-01 10:00"}
    booked = {"Big One": [booking], "gpu-typo": [booking], "gpu01": {"77": booking}}
    (tmp_path / "comments.json").write_text(json.dumps(booked))
    config = tmp_path / "gpuboard.toml"
    config.write_text(
        f'[names]\nnodes = {{ gpu01 = "Big one" }}\n[bookings]\ncomments_json = "{tmp_path}/comments.json"\n'
        f'[[source]]\nkind = "folder"\npath = "{tmp_path}/nfs"\n'
    )
    with running_board("--config", str(config), log=tmp_path / "log") as board:

        def read(path: str) -> dict[str, list[dict[str, object]]]:
            with urllib.request.urlopen(f"{board.url}{path}", timeout=60) as answer:
                told: dict[str, list[dict[str, object]]] = json.load(answer)
                return told

        def why(kind: str) -> str:
            [part] = [p for p in read("readyz")["components"] if p["component"] == kind]
            return str(part["reason"])

        eventually(lambda: "gpu-typo" in why("booked_hosts"))
        assert "big one" not in why("booked_hosts")
        eventually(lambda: "GPU 77 of gpu01;" in why("booked_gpus"))
        assert "'who': 'ana'" in str(read("api/v1/nodes/gpu01"))
