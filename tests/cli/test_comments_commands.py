"""A PHP board's bookings file, taken over once and written, with a running board."""

import json
import os
import pty
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gpuboard.bookings.comments_json import parse_comments
from tests.booking_lab import NODE, Lab, booking_lab
from tests.cli.test_booking_commands import Terminal

# Longer than the policies of that board allow: what was agreed elsewhere holds.
ANA = {"name": "ana", "date": "YEAR-12-01 9:05", "comment": 'paper; "quoted", ünï'}
BEN = {"name": "Ben K.", "date": "YEAR-12-24", "comment": ""}
# Both forms of the file, with the same meaning.
OBJECT = {NODE: {"0": ANA, "1": BEN}}
LIST = {NODE: [ANA, BEN]}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """One board for all."""
    with booking_lab(tmp_path_factory.mktemp("lab")) as lab:
        yield lab


@pytest.fixture
def admin(lab: Lab, tmp_path: Path) -> Iterator[Terminal]:
    """An admin, who clears up afterwards."""
    terminal = Terminal(lab, tmp_path, "boss", "admin")
    yield terminal
    terminal.give_back()


def write(path: Path, content: object) -> Path:
    """A file whose dates are all to come, whenever this is run."""
    text = (
        content
        if isinstance(content, str)
        else json.dumps(content).replace("YEAR", str(datetime.now(UTC).year + 1))
    )
    path.write_text(text)
    return path


@pytest.mark.parametrize(("content", "form"), [(OBJECT, "object"), (LIST, "list"), (LIST, "object")])
def test_both_forms_are_taken_over_shown_and_written_with_the_same_meaning(
    admin: Terminal, tmp_path: Path, content: object, form: str
) -> None:
    """Who holds what until when, and why; times by the minute."""
    path = write(tmp_path / "comments.json", content)
    done = admin.type("bookings", "import", str(path), "--person", "Ben K.=Ben K.", "--person", "ana=ana")
    assert done.returncode == 0, done.stderr
    shown = admin.ask("bookings")["bookings"]
    assert {(one["who"], tuple(one["places"][0]["gpus"])) for one in shown} == {
        ("ana", (0,)),
        ("Ben K.", (1,)),
    }
    out = tmp_path / "out.json"
    assert admin.type("bookings", "export", str(out), "--form", form).returncode == 0
    before, after = (parse_comments(one.read_bytes(), time.time(), zone=UTC) for one in (path, out))
    assert after.unread == []
    for place, claim in before.claims.items():
        again = after.claims[place]
        assert (again.who, again.comment) == (claim.who, claim.comment)
        # A day alone ends with its last second, a file tells minutes.
        assert again.until is not None
        assert claim.until is not None
        assert 0 <= again.until - claim.until < 60
    assert isinstance(json.loads(out.read_text())[NODE], list if form == "list" else dict)
    assert [one.name for one in tmp_path.glob(".out.json*")] == []


def test_a_host_is_known_with_its_domain_too(admin: Terminal, tmp_path: Path) -> None:
    """As where the same file is only shown."""
    path = write(tmp_path / "comments.json", {f"{NODE}.lab.example": {"0": ANA}})
    done = admin.type("bookings", "import", str(path), "--names-are-people")
    assert done.returncode == 0, done.stderr
    assert [one["places"][0]["node"] for one in admin.ask("bookings")["bookings"]] == [NODE]


def test_nothing_is_booked_before_it_is_known_whose_each_name_is(admin: Terminal, tmp_path: Path) -> None:
    """Names there are typed by anybody."""
    path = write(tmp_path / "comments.json", OBJECT)
    done = admin.type("bookings", "import", str(path), "--person", "ana=ana", stdin=subprocess.DEVNULL)
    assert done.returncode == 2
    assert "whose are Ben K.?" in done.stderr
    assert admin.ask("bookings")["bookings"] == []
    assert admin.type("bookings", "import", str(path), "--names-are-people").returncode == 0


@pytest.mark.parametrize("damaged", ["", '{"gpu01": [{"name": "an', "[1, 2]", '{"gpu01": {}, "gpu01": {}}'])
def test_a_corrupt_file_changes_nothing(admin: Terminal, tmp_path: Path, damaged: str) -> None:
    """Half of a file is not what people have agreed."""
    path = write(tmp_path / "comments.json", damaged)
    done = admin.type("bookings", "import", str(path), "--names-are-people")
    assert done.returncode == 2
    assert "nothing was booked" in done.stderr
    assert admin.ask("bookings")["bookings"] == []


def test_what_conflicts_or_cannot_be_read_is_named_and_the_rest_taken_over(
    admin: Terminal, tmp_path: Path
) -> None:
    """Entry by entry."""
    assert admin.type("block", f"{NODE}:0", "--for", "1h").returncode == 0
    unclear = {"name": "cem", "date": "tomorrow"}
    content = {NODE: {"0": ANA, "1": BEN, "2": unclear}, "nowhere": [ANA]}
    path = write(tmp_path / "comments.json", content)
    done = admin.type("bookings", "import", str(path), "--names-are-people")
    assert done.returncode == 1
    assert [line.split("\t")[1] for line in done.stdout.splitlines()] == ["Ben K."]
    lines = done.stderr.splitlines()
    assert any(f"{NODE}:0 of ana" in line and "boss" in line for line in lines)
    assert any(f"{NODE}:2" in line and "no end" in line for line in lines)
    assert any("nowhere:0 of ana" in line and "there is no node nowhere" in line for line in lines)


def test_only_admins_book_for_somebody_else(lab: Lab, tmp_path: Path) -> None:
    """It is said once, and not of each entry."""
    path = write(tmp_path / "comments.json", {NODE: [BEN, {**BEN, "name": "carl"}]})
    done = Terminal(lab, tmp_path, "ana", "user").type("bookings", "import", str(path), "--names-are-people")
    assert done.returncode == 4
    assert done.stderr == "gpuboard: no more is taken over: only admins book for somebody else\n"


def test_an_export_to_no_folder_says_so_and_leaves_nothing(admin: Terminal, tmp_path: Path) -> None:
    """Whole or not at all."""
    done = admin.type("bookings", "export", str(tmp_path / "no" / "comments.json"))
    assert done.returncode == 2
    assert "cannot write" in done.stderr
    assert [one.name for one in tmp_path.iterdir()] == ["boss"]


def test_on_a_terminal_it_asks_whose_a_name_is(admin: Terminal, tmp_path: Path) -> None:
    """An empty answer takes the name for the person's."""
    path = write(tmp_path / "comments.json", OBJECT)
    typed, terminal = pty.openpty()
    try:
        os.write(typed, b"ben\n\n")
        done = admin.type("bookings", "import", str(path), stdin=terminal)
    finally:
        os.close(typed)
        os.close(terminal)
    assert done.returncode == 0, done.stderr
    assert "whose is 'Ben K.'?" in done.stderr
    assert {one["who"] for one in admin.ask("bookings")["bookings"]} == {"ana", "ben"}
