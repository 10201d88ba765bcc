"""Booking from a terminal, with a running board."""

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from gpuboard.cli.booking_words import line_of, read_places
from gpuboard.client.credentials import Credential, Credentials
from gpuboard.model.booking import BookingKind
from gpuboard.model.errors import UsageError
from gpuboard.model.identity import Role
from gpuboard.wire.bookings import BookedPlaces, BookingView, WantedPlaces
from tests.booking_lab import NODE, SETTINGS, Lab, booking_lab, gpu
from tests.pushing import wait_until
from tests.signing_in import log_in

pytestmark = pytest.mark.slow

ZONE = "Europe/Berlin"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """One board for all."""
    called = f'\n[names]\nnodes = {{ {NODE} = "Vision 1" }}\n'
    with booking_lab(tmp_path_factory.mktemp("lab"), SETTINGS + called) as lab:
        yield lab


class Terminal:
    """Where somebody types who has signed in."""

    def __init__(self, lab: Lab, home: Path, person: str, role: Role) -> None:
        self._env = {**os.environ, "XDG_CONFIG_HOME": str(home / person), "TZ": ZONE}
        token = log_in(lab.board.state, person, role).token
        Credentials({"XDG_CONFIG_HOME": str(home / person)}).keep(
            lab.board.url, Credential(person=person, token=token)
        )

    def type(self, *words: str, stdin: int | None = None) -> "subprocess.CompletedProcess[str]":
        """Run a command, with this for what is typed into it."""
        command = [sys.executable, "-m", "gpuboard", *words]
        return subprocess.run(
            command, stdin=stdin, capture_output=True, text=True, timeout=60, check=False, env=self._env
        )

    def ask(self, *words: str) -> Any:  # noqa: ANN401 - JSON
        """What a command says in JSON."""
        done = self.type(*words, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def give_back(self) -> None:
        """Cancel everything."""
        for one in self.ask("bookings")["bookings"]:
            self.type("cancel", one["id"])


@pytest.fixture(scope="module")
def people(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Terminal]:
    """Who has signed in where: two who book, and an admin."""
    home = tmp_path_factory.mktemp("homes")
    roles: dict[str, Role] = {"ana": "user", "ben": "user", "boss": "admin"}
    return {person: Terminal(lab, home, person, role) for person, role in roles.items()}


@pytest.fixture
def ana(people: dict[str, Terminal]) -> Terminal:
    """Somebody who books."""
    return people["ana"]


@pytest.fixture
def ben(people: dict[str, Terminal]) -> Terminal:
    """Somebody else."""
    return people["ben"]


@pytest.fixture
def admin(people: dict[str, Terminal]) -> Iterator[Terminal]:
    """An admin, who clears up afterwards."""
    yield people["boss"]
    people["boss"].give_back()


@pytest.mark.usefixtures("admin")
def test_a_booking_is_made_listed_extended_and_cancelled(ana: Terminal) -> None:
    """Times are shown with the terminal's zone."""
    done = ana.type("book", f"{NODE}:0,1", "--for", "2h", "-m", "a paper")
    assert done.returncode == 0, done.stderr
    ident, who, places, span, state, comment = done.stdout.rstrip("\n").split("\t")
    assert (who, places, state, comment) == ("ana", f"{NODE}:0,1", "running", "a paper")
    assert span.count(" CE") == 2
    assert ident in ana.type("bookings", "--mine").stdout
    before = ana.ask("bookings", "--mine")["bookings"][0]["end"]
    assert ana.ask("extend", ident, "--by", "1h")["booking"]["end"] == before + 3600
    assert ana.ask("cancel", ident)["booking"]["state"] == "cancelled"


@pytest.mark.parametrize(
    ("kind", "through", "shown"),
    [
        ("booking", None, "ana"),
        ("booking", "gpu01", "ana (through gpu01)"),
        ("block", None, "ana (block)"),
        ("block", "gpu01", "ana (block, through gpu01)"),
    ],
)
def test_a_line_says_which_node_has_said_who_booked(
    kind: BookingKind, through: str | None, shown: str
) -> None:
    """Root of that node may have done it."""
    booking = BookingView(
        id="0a1b2c3d4e",
        kind=kind,
        who="ana",
        places=(BookedPlaces(node=NODE, gpus=(0,)),),
        start=0.0,
        end=3600.0,
        state="upcoming",
        through=through,
    )
    assert line_of(booking).split("\t")[:3] == ["0a1b2c3d4e", shown, f"{NODE}:0"]


@pytest.mark.usefixtures("admin")
def test_the_exit_code_says_why_nothing_was_booked(ana: Terminal, ben: Terminal) -> None:
    """1: others have it; 2: it makes no sense; 4: it is not allowed."""
    made = ana.ask("book", f"{NODE}:0", "--for", "1h")["booking"]
    taken = ben.type("book", NODE, "--for", "1h")
    assert (taken.returncode, taken.stdout) == (1, "")
    assert "booked by ana until" in taken.stderr
    long = ben.type("book", f"{NODE}:1", "--for", "9h")
    assert (long.returncode, "policy [bookings] longest" in long.stderr) == (4, True)
    assert "gpuboard login" not in long.stderr
    assert ben.type("cancel", made["id"]).returncode == 4
    assert ben.type("block", f"{NODE}:1", "--for", "1h").returncode == 4
    assert ben.type("book", "nowhere:0", "--for", "1h").returncode == 2
    assert ben.type("book", f"{NODE}:1", "--for", "1").returncode == 2
    assert ben.type("book", f"{NODE}:1", "-n", "2", "--for", "1h").returncode == 2
    assert ben.type("cancel", "0000000000").returncode == 2


@pytest.mark.usefixtures("admin")
def test_a_viewer_is_told_that_the_role_is_the_reason(
    lab: Lab, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """To sign in anew would not help."""
    done = Terminal(lab, tmp_path_factory.mktemp("home"), "vic", "viewer").type("book", NODE, "--for", "1h")
    assert done.returncode != 0
    assert "an admin of the board gives the role" in done.stderr
    assert "gpuboard login" not in done.stderr
    assert ".;" not in done.stderr


def test_any_gpus_can_be_booked_for_later(ana: Terminal) -> None:
    """From tomorrow, in the terminal's zone."""
    made = ana.ask(
        "book", "-n", "2", "--memory", "40G", "--same-node", "--from", "tomorrow 9:00", "--for", "2h"
    )
    booking = made["booking"]
    assert (booking["state"], booking["end"] - booking["start"]) == ("upcoming", 7200)
    assert [len(one["gpus"]) for one in booking["places"]] == [2]


def test_a_block_says_whose_bookings_it_cuts(ana: Terminal, admin: Terminal) -> None:
    """On stderr, beside what is booked now."""
    ana.ask("book", f"{NODE}:0", "--for", "2h")
    done = admin.type("block", NODE, "--for", "1h", "-m", "new driver")
    assert done.returncode == 0
    assert "boss (block)" in done.stdout
    assert "displaced" in done.stderr
    assert "ana" in done.stderr


@pytest.mark.usefixtures("admin")
def test_env_sets_my_booked_gpus_of_this_node_and_nobody_elses(ana: Terminal, ben: Terminal) -> None:
    """By UUID; who has none gets nothing, and eval fails."""
    ana.ask("book", f"{NODE}:1,2", "--for", "1h")
    ben.ask("book", f"{NODE}:0", "--for", "1h")
    done = ana.type("env", "--node", NODE)
    assert ana.type("env", "--node", "vision 1").stdout == done.stdout
    shell = subprocess.run(
        ["sh", "-c", f"eval {shlex.quote(done.stdout)} && echo $CUDA_VISIBLE_DEVICES"],
        capture_output=True, text=True, timeout=30, check=True,
    )  # fmt: skip
    assert shell.stdout.strip() == f"{gpu(1).uuid},{gpu(2).uuid}"
    elsewhere = ana.type("env", "--node", "gpu99")
    assert (elsewhere.returncode, elsewhere.stdout) == (1, "false\n")
    assert f"but {NODE}:1,2" in elsewhere.stderr


@pytest.mark.usefixtures("admin")
def test_env_quotes_what_a_shell_would_run(lab: Lab, ana: Terminal) -> None:
    """Whatever a node calls its GPUs: no such name reaches a shell."""
    hostile = "GPU-$(touch /tmp/x);`id`"
    named = gpu(0)
    bad = type(named)(**{**{f: getattr(named, f) for f in named.__struct_fields__}, "uuid": hostile})
    try:
        lab.report(bad, gpu(1), gpu(2))
        ana.ask("book", f"{NODE}:0", "--for", "1h")
        done = ana.type("env", "--node", NODE)
        assert (done.returncode, done.stdout) == (3, "false\n")
    finally:
        lab.report(gpu(0), gpu(1), gpu(2))


@pytest.mark.usefixtures("admin")
def test_a_booking_that_has_not_begun_sets_nothing(ana: Terminal) -> None:
    """It is said when it begins."""
    at = time.strftime("%Y-%m-%dT%H:%M:00Z", time.gmtime(time.time() + 7200))
    ana.ask("book", f"{NODE}:0", "--from", at, "--for", "1h")
    done = ana.type("env", "--node", NODE)
    assert (done.returncode, "begins only at" in done.stderr) == (1, True)


@pytest.mark.parametrize(
    ("word", "meant"),
    [("gpu01", None), ("gpu01:0", (0,)), ("gpu01:0,2-4", (0, 2, 3, 4))],
)
def test_places_are_written_as_people_say_them(word: str, meant: tuple[int, ...] | None) -> None:
    """A node alone is all of it."""
    assert read_places([word]) == (WantedPlaces(node="gpu01", gpus=meant),)


@pytest.mark.parametrize("word", [":0", "gpu01:", "gpu01:a", "gpu01:3-1", "gpu01:0-999"])
def test_what_is_no_place_is_refused(word: str) -> None:
    """With how to write it, or how many there may be."""
    with pytest.raises(UsageError):
        read_places([word])


def test_a_span_that_ends_before_it_begins_is_a_slip_of_the_pen(ana: Terminal) -> None:
    """Nothing is wrong with the board."""
    done = ana.type("bookings", "--from", "2027-03-02 09:00", "--until", "2027-03-01 09:00")
    assert (done.returncode, "--until" in done.stderr) == (2, True)


def test_a_calendar_feed_is_made_and_revoked(lab: Lab, ana: Terminal) -> None:
    """Its address stands alone on stdout; there is nothing to revoke twice."""
    made = ana.type("bookings", "feed")
    assert made.returncode == 0, made.stderr
    address = made.stdout.strip()
    assert address.startswith(f"{lab.board.url}api/v1/bookings.ics?key=")
    assert httpx.get(address).text.startswith("BEGIN:VCALENDAR")
    assert ana.ask("bookings", "feed")["url"] != address
    assert ana.type("bookings", "feed", "--revoke").returncode == 0
    again = ana.type("bookings", "feed", "--revoke")
    assert (again.returncode, again.stderr) == (1, "gpuboard: you have no calendar feed\n")


@pytest.mark.parametrize(
    "words", [("cancel", ""), ("cancel", " "), ("cancel", "feed"), ("extend", "", "--by", "1h")]
)
def test_a_booking_that_is_not_named_is_a_slip_of_the_pen(ana: Terminal, words: tuple[str, ...]) -> None:
    """As when a variable of a script is empty."""
    done = ana.type(*words)
    assert (done.returncode, "gpuboard bookings shows them" in done.stderr) == (2, True)


def test_bookings_of_a_node_that_is_none_are_not_nothing(ana: Terminal) -> None:
    """Who mistypes it would believe that it is free."""
    done = ana.type("bookings", "--node", "gpu10")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"no node 'gpu10'; did you mean '{NODE}'?" in done.stderr
    assert ana.type("bookings", "--node", NODE).returncode == 0


def test_what_is_booked_later_is_offered_with_its_end(lab: Lab, ana: Terminal) -> None:
    """Whoever looks for a free GPU hears from when on another has it."""
    lab.report(gpu(0), gpu(1), gpu(2))
    made = ana.ask("book", f"{NODE}:0", "--from", "tomorrow 9:00", "--until", "tomorrow 12:00")
    answer = httpx.get(f"{lab.board.url}api/v1/free?gpus=1").json()
    assert answer["blocks"][0]["free_until"] == made["booking"]["start"]
    said = ana.type("free", "--board", lab.board.url).stdout
    assert ", booked from " in said
    assert " 09:00 CE" in said
    ana.give_back()
    # What is free is told as of the last tick.
    wait_until(lambda: ", booked from " not in ana.type("free", "--board", lab.board.url).stdout)
