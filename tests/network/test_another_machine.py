"""The board as other machines see it, and an agent whose network is cut."""

import json
import ssl
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.network.namespaces import BOARD, NAME, Network, board_on, living_on, network
from tests.outage import INTERVAL_SECONDS, Sampling, acknowledged, any_taken
from tests.pushing import Wire, enrol, running_pusher, token_file, wait_until, without_history
from tests.tls import Authority

pytestmark = [pytest.mark.xdist_group("network"), pytest.mark.timeout(600)]
PORT = 8042
NODE = "far-1"
ASK = "import sys, urllib.request as r; print(r.urlopen(sys.argv[1], timeout=20).read().decode())"


@pytest.fixture(scope="module")
def machines() -> Iterator[Network]:
    """Two machines."""
    with network() as made:
        yield made


def ask(machines: Network, host: str, path: str) -> dict[str, Any]:
    """Ask the board from the other machine, by its name or address."""
    answer = machines.run_there(sys.executable, "-c", ASK, f"http://{host}:{PORT}/{path}")
    found: dict[str, Any] = json.loads(answer)
    return found


def test_a_lab_sees_names_when_it_is_told_so(machines: Network, tmp_path: Path) -> None:
    """By the machine's name and by its address."""
    arguments = ("--demo", "2", "--anonymous", "names")
    with board_on(machines, PORT, *arguments, folder=tmp_path):
        # It answers before its first tick, and nobody is there yet.
        wait_until(lambda: ask(machines, BOARD, "api/v1/people")["people"])
        seen = [ask(machines, host, "api/v1/people") for host in (BOARD, NAME)]
    assert [each["tier"] for each in seen] == ["names", "names"]
    assert all(each["people"] for each in seen)


def test_others_see_counts_and_how_to_see_names(machines: Network, tmp_path: Path) -> None:
    """Which is the default; and whoever starts the board reads it too."""
    with board_on(machines, PORT, "--demo", "2", folder=tmp_path):
        people = ask(machines, NAME, "api/v1/people")
        fleet = ask(machines, BOARD, "api/v1/fleet")
    assert (people["tier"], people["people"], fleet["tier"]) == ("counts", None, "counts")
    assert "--anonymous names" in people["hint"]
    assert "--anonymous names" in (tmp_path / "log").read_text()
    assert [gpu["users"] for node in fleet["nodes"] for gpu in node["gpus"] if gpu["users"]] == []


def test_a_cut_network_makes_a_node_stale_and_then_loses_nothing(machines: Network, tmp_path: Path) -> None:
    """With the right reason; back by itself, and every sample of the time between is taken once, in order."""
    authority = Authority(tmp_path)
    certificate, key = authority.certificate(BOARD)
    token = enrol(tmp_path / "state", NODE)[NODE]
    wire = Wire()
    trusted = ssl.create_default_context(cafile=authority.ca_file)
    secure = ("--tls-certificate", str(certificate), "--tls-key", str(key))
    arguments = ("--demo", "1", "--anonymous", "names", *without_history(tmp_path), *secure)
    with (
        board_on(machines, PORT, *arguments, folder=tmp_path, ca_file=authority.ca_file) as board,
        living_on(machines.there),
        running_pusher(
            board.url, token_file(tmp_path, token), ca_file=authority.ca_file, open_channel=wire.open
        ) as pusher,
        httpx.Client(base_url=board.url, verify=trusted, timeout=60) as there,
    ):
        sampling = Sampling({NODE: pusher}, said_interval=1.0)
        try:
            wait_until(lambda: any_taken(wire) and view(there)["state"] == "live")
            machines.drop_everything()
            cut_at = time.time()
            before = len(sampling.offered[NODE])
            with living_on(machines.here), httpx.Client(base_url=board.url, verify=trusted) as here:
                wait_until(lambda: view(here)["state"] == "late")
                stale = view(here)
                wait_until(lambda: view(here)["state"] == "lost")
            missed = len(sampling.offered[NODE]) - before
            machines.restore()
            wait_until(lambda: view(there)["state"] == "live")
            wait_until(lambda: pusher.waiting < 5)
        finally:
            sampling.stop()
        wait_until(lambda: pusher.waiting == 0)
    assert (stale["state"], stale["reason"]["code"]) == ("late", "late")
    assert {gpu["verdict"]["word"] for gpu in stale["gpus"]} == {"stale"}
    assert stale["sampled_at"] < cut_at + 1
    assert missed > 3 / INTERVAL_SECONDS
    assert acknowledged(wire) == list(sampling.offered[NODE])
    assert (wire.refusals(), pusher.lost) == ([], 0)


def view(client: httpx.Client) -> dict[str, Any]:
    """What the board shows of the node."""
    found: dict[str, Any] = client.get(f"api/v1/nodes/{NODE}").json()
    return {"state": None, **found}
