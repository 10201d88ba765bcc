"""What a demo that keeps nothing has booked, and who looks at it."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import datetime
from itertools import combinations
from pathlib import Path

import pytest

from gpuboard.assembly.demo_bookings import Invented, demo_bookings
from gpuboard.bookings.use import is_no_show
from gpuboard.cli import read_words
from gpuboard.cli.serve import DEMO_CONTACT, DEMO_PERSON, settings_of
from gpuboard.model.booking import is_on
from gpuboard.probes.simulated import node_names, simulate
from tests.board import DEMO_TIME, RunningBoard, free_port, wait_for
from tests.signing_in import TestBrowser

NOW = datetime.fromisoformat(DEMO_TIME).timestamp()
AFTER = 1800.0


def invented(nodes: int, now: float = NOW) -> dict[str, Invented]:
    """What is booked there, by what it shows."""
    found = demo_bookings(node_names(nodes), now, 0.0, no_show_after=AFTER, person=DEMO_PERSON)
    return {one.booking.id.removeprefix("demo-"): one for one in found}


def users_on(one: Invented) -> set[str | None]:
    """Who is on it."""
    ((node, number),) = one.booking.places
    gpus = simulate(node, NOW).gpus or ()
    return {process.user for gpu in gpus if gpu.index == number for process in gpu.processes or ()}


def test_a_demo_has_one_of_everything_booked() -> None:
    """Running, coming, not come, trespassed, blocked; and the one who looks has something."""
    found = invented(12)
    states = {name: one.booking.state_at(NOW) for name, one in found.items()}
    assert states == {
        "running": "running",
        "trespass": "running",
        "no-show": "running",
        "running-2": "running",
        "coming": "upcoming",
        "block": "upcoming",
    }
    assert users_on(found["running"]) == {found["running"].booking.who}
    assert users_on(found["trespass"]) not in (set(), {found["trespass"].booking.who})
    assert [name for name, one in found.items() if is_no_show(one.use, AFTER)] == ["no-show"]
    assert found["coming"].booking.who == DEMO_PERSON
    assert found["block"].booking.kind == "block"
    assert [name for name, one in found.items() if one.booking.created_at >= NOW] == []


@pytest.mark.parametrize("hour", range(24))
def test_nothing_is_booked_twice_at_any_hour(hour: int) -> None:
    """However few nodes there are."""
    for nodes in (1, 2, 12):
        spans = [one.booking for one in invented(nodes, NOW + hour * 3600).values()]
        assert spans
        for one, other in combinations(spans, 2):
            is_same_place = any(is_on(a, b) for a in one.places for b in other.places)
            assert not (is_same_place and one.start < other.end and other.start < one.end)


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[RunningBoard]:
    """A demo as a newcomer starts it, whose temporary files are in a place of their own."""
    port, log = free_port(), tmp_path / "log"
    # Short: a socket's path has an end.
    folder = Path(tempfile.mkdtemp())
    command = [sys.executable, "-m", "gpuboard", "serve", "--demo", "2", "--listen", f"127.0.0.1:{port}"]
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, stderr=out, env={"TMPDIR": str(folder), "GPUBOARD_DEMO_TIME": DEMO_TIME}
        )
    url = f"http://127.0.0.1:{port}/"
    try:
        wait_for(f"{url}readyz", process, log)
        (state,) = (path.parent for path in folder.glob("*/board.sock"))
        yield RunningBoard(url, process, state)
    finally:
        process.terminate()
        process.wait(15)
    # What was tried out there is nobody's.
    folder.rmdir()


def test_a_newcomer_books_as_somebody_invented_and_nothing_is_kept(
    demo: RunningBoard, tmp_path: Path
) -> None:
    """Without signing in; that it is a demo is said, and how to sign in as oneself."""
    newcomer = TestBrowser(demo)
    told = newcomer.session()
    assert (told["person"], told["way"], told["role"]) == (DEMO_PERSON, "demo", "user")
    assert "demo" in told["display_name"]
    wish = {"any": {"gpus": 1}, "for_seconds": 3600}
    assert newcomer.post("api/v1/bookings", wish).json()["booking"]["who"] == DEMO_PERSON
    said = (tmp_path / "log").read_text()
    assert f"you are {DEMO_PERSON} in this demo" in said
    assert f"gpuboard login --socket {demo.state}/board.sock" in said
    assert (demo.state / "board.sock").is_socket()


@pytest.mark.parametrize(
    ("words", "person"),
    [([], DEMO_PERSON), (["--anonymous", "counts"], None), (["--state-dir", "here"], None)],
)
def test_who_says_what_visitors_see_is_a_visitor(words: list[str], person: str | None) -> None:
    """A demo whose state is kept is no playground either."""
    _, arguments = read_words(["serve", "--demo", *words])
    assert settings_of(arguments).demo_person == person


@pytest.mark.parametrize(
    ("words", "contact"),
    [([], DEMO_CONTACT), (["--anonymous", "counts"], DEMO_CONTACT), (["--state-dir", "here"], "")],
)
def test_a_demo_shows_how_people_are_asked_for_what_they_hold_idle(words: list[str], contact: str) -> None:
    """Without a way to reach them there is no "Ask", and nobody knew that there is one."""
    _, arguments = read_words(["serve", "--demo", *words])
    assert settings_of(arguments).names.contact == contact
