"""A board that is killed while people book: whatever was acknowledged is booked."""

import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from gpuboard.bookings.store import BookingStore
from tests.board import ROOT, RunningBoard, free_port, running_board, wait_for
from tests.databases import open_database
from tests.pushing import wait_until
from tests.signing_in import make_token

KILLS = 20
NODE = "vision-01"
# Beyond what the demo has booked itself.
FIRST = 4 * 86400.0


class Booking(threading.Thread):
    """Somebody who books slot after slot, and notes what the board has acknowledged."""

    def __init__(self, board: RunningBoard, person: str, first: float) -> None:
        super().__init__(daemon=True)
        _, token = make_token(board.state, person, "book", "read")
        self._headers = {"authorization": f"Bearer {token}"}
        self._url = f"{board.url}api/v1/bookings"
        self._first = first
        self.acknowledged: list[str] = []

    def run(self) -> None:
        """Book until nobody answers."""
        with httpx.Client(headers=self._headers, timeout=30) as http:
            for number in range(150):
                start = self._first + 60 * number
                places = [{"node": NODE, "gpus": [0]}]
                wish = {"places": places, "start": start, "end": start + 60}
                try:
                    answer = http.post(self._url, json=wish)
                except httpx.HTTPError:
                    return
                if answer.status_code == 201:
                    self.acknowledged.append(answer.json()["booking"]["id"])


@contextmanager
def hasty_board(log: Path) -> Iterator[RunningBoard]:
    """A board that answers too early, until it is killed."""
    address, state = f"127.0.0.1:{free_port()}", log.parent / "state"
    words = ["serve", "--listen", address, "--state-dir", str(state), "--demo", "1"]
    with log.open("ab") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.bookings.hasty", *words], stdout=out, stderr=out, cwd=ROOT
        )
    try:
        wait_for(f"http://{address}/readyz", process, log)
        yield RunningBoard(f"http://{address}/", process, state)
    finally:
        process.kill()
        process.wait()


def lost(folder: Path, *, kills: int, is_hasty: bool = False) -> set[str]:
    """What was acknowledged and is not booked, after so many kills at random moments on one book."""
    first, chance = time.time() + FIRST, random.Random(7)
    log = folder / "log"
    acknowledged: list[str] = []
    for number in range(kills):
        with hasty_board(log) if is_hasty else running_board("--demo", "1", log=log) as board:
            booker = Booking(board, f"p{number}", first + number * 86400)
            booker.start()
            enough = chance.randrange(1, 25)
            wait_until(lambda booker=booker, enough=enough: len(booker.acknowledged) >= enough)  # type: ignore[misc] # bound at once
            board.process.kill()
            booker.join()
            acknowledged += booker.acknowledged
    database = open_database(folder / "state")
    try:
        _, kept = BookingStore(database, lambda *_: None).since(0.0)
    finally:
        database.close()
    assert len(acknowledged) >= kills
    return set(acknowledged) - {one.id for one in kept}


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kills", [KILLS, pytest.param(10 * KILLS, marks=pytest.mark.long)])
def test_no_acknowledged_booking_is_lost_by_kill_9(tmp_path: Path, kills: int) -> None:
    """At random moments, again and again, on one book."""
    assert lost(tmp_path, kills=kills) == set()


@pytest.mark.slow
def test_a_board_that_answers_before_it_has_written_is_found_out(tmp_path: Path) -> None:
    """Else the test above would show nothing."""
    assert lost(tmp_path, kills=3, is_hasty=True)
