"""The floods that one visitor can make, from another machine: an honest node beside them does not notice."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.hostile.floods import (
    TINY,
    Honest,
    Place,
    at_once,
    flood_with_frames,
    place_of,
    push_without_pause,
    report_with,
    upgrade,
)
from tests.hostile.test_endless_handshakes import ENDLESS
from tests.hostile.test_untaken_answers import ask_and_never_read
from tests.network.namespaces import Network, board_on, living_on, network
from tests.pushing import enrol

pytestmark = [pytest.mark.xdist_group("network"), pytest.mark.timeout(180)]
PORT = 8042
SECONDS = 2.5
# Undisturbed it is 11 ms; the worst of these made it ten seconds.
SLOWEST_SECONDS = 2.5


class Attacked(NamedTuple):
    """A board, and who is there besides the floods."""

    url: str
    honest: Honest
    hostile: str
    log: Path


@pytest.fixture(scope="module")
def machines() -> Iterator[Network]:
    """Two machines."""
    with network() as made:
        yield made


def hold_open(open_one: Callable[[], socket.socket], until: float) -> int:
    """Open connections one after another and keep them; how many there were."""
    count = 0
    with contextlib.ExitStack() as stack:
        while time.monotonic() < until and count < 1000:
            with contextlib.suppress(OSError):
                stack.enter_context(open_one())
            count += 1
            time.sleep(0.002)
    return count


def kept(place: Place) -> socket.socket:
    """A connection on which one request was answered and nothing follows."""
    line = socket.create_connection(place, timeout=10)
    line.sendall(f"GET /healthz HTTP/1.1\r\nHost: {place[0]}\r\n\r\n".encode())
    return line


FLOODS: dict[str, Callable[[Place, float], object]] = {
    "frames": lambda place, until: flood_with_frames(place, TINY["ping"], until),
    "words": lambda place, until: flood_with_frames(place, TINY["text"], until),
    "handshakes": lambda place, until: hold_open(
        partial(upgrade, place, more=ENDLESS["a line of 9 kB"]), until
    ),
    "untaken answers": lambda place, until: hold_open(
        partial(ask_and_never_read, place, ["/api/v1/fleet", "/metrics"]), until
    ),
    "kept connections": lambda place, until: hold_open(partial(kept, place), until),
}


@pytest.fixture(scope="module")
def attacked(machines: Network, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    """A board, an honest node beside whoever attacks it from the other machine, and another node's token."""
    folder = tmp_path_factory.mktemp("board")
    tokens = enrol(folder / "state", "honest", "hostile")
    with board_on(machines, PORT, "--demo", "2", folder=folder) as board:
        yield Attacked(
            board.url, Honest(board.url, "honest", tokens["honest"]), tokens["hostile"], folder / "log"
        )


def waits_beside(
    flood: Callable[[float], object], count: int, attacked: Attacked
) -> tuple[list[float], list[object]]:
    """How long the honest node's reports waited meanwhile, shortest first; and what the floods gave."""
    attacked.honest.took.clear()
    until = time.monotonic() + SECONDS
    with at_once(partial(flood, until), count) as results:
        assert threading.active_count() > 1
        took = sorted(attacked.honest.report(until))
    return took, results


def test_a_node_on_another_machine_with_dear_reports_slows_itself_alone(
    machines: Network, attacked: Attacked
) -> None:
    """Reports full of control characters, as fast as they are taken: its time is soon used up."""
    dirty = report_with("a\x01" * 95)
    with living_on(machines.there):
        took, taken = waits_beside(
            lambda until: push_without_pause(attacked.url, attacked.hostile, until, lambda: dirty),
            1,
            attacked,
        )
    assert took[int(len(took) * 0.95)] < SLOWEST_SECONDS
    assert isinstance(taken[0], int)
    assert 0 < taken[0] < SECONDS * 20
    assert "Traceback" not in attacked.log.read_text()


@pytest.mark.parametrize("kind", FLOODS)
def test_a_flood_from_another_machine_harms_no_honest_node(
    machines: Network, attacked: Attacked, kind: str, record_property: Callable[[str, object], None]
) -> None:
    """Its reports are acknowledged as before, and the log names what was cut."""
    with living_on(machines.there):
        took, _ = waits_beside(partial(FLOODS[kind], place_of(attacked.url)), 2, attacked)
    record_property("p95_seconds", took[int(len(took) * 0.95)])
    print(f"{kind}: {len(took)} reports, p50 {took[len(took) // 2]:.3f} s, worst {took[-1]:.3f} s")  # noqa: T201
    assert took[int(len(took) * 0.95)] < SLOWEST_SECONDS
    log = attacked.log.read_text()
    assert "connection cut" in log or kind == "handshakes"
    assert "Traceback" not in log
