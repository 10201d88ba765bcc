"""A PHP board's bookings file, taken over once and written, with a running board."""

import fcntl
import json
import os
import pty
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from gpuboard.bookings.comments_json import parse_comments
from tests.booking_lab import NODE, SETTINGS, Lab, booking_lab
from tests.cli.test_booking_commands import Terminal
from tests.pushing import wait_until

pytestmark = pytest.mark.slow

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


def test_what_the_file_says_is_listed_with_its_origin(tmp_path: Path) -> None:
    """A GPU that cannot be booked is not told to be free of bookings; whose it is, only to who sees names."""
    settings = SETTINGS.replace("[bookings]", '[bookings]\ncomments_json = "FOLDER/comments.json"', 1)
    people = '\n[names.people]\nachen2 = "chen"\n'
    with booking_lab(tmp_path, settings + people) as lab:
        ana = Terminal(lab, tmp_path, "ana", "user")
        assert "nothing is booked" in ana.type("bookings", "--node", NODE).stderr
        chen = {"name": "achen2", "date": "YEAR-12-01 9:05", "comment": "paper"}
        write(lab.claims, {f"{NODE}.lab.example": {"1": chen}})
        wait_until(lambda: lab.row(1)["claim"] is not None)
        done = ana.type("bookings", "--node", NODE)
        ident, who, place, span, comment = done.stdout.rstrip("\n").split("\t")
        assert (ident, who, place) == ("-", "chen (from comments.json, not verified)", f"{NODE}:1")
        assert (span.startswith("until "), comment, done.stderr) == (True, "paper", "")
        assert "nothing is booked" in ana.type("bookings", "--mine").stderr
        (hidden,) = httpx.get(f"{lab.board.url}api/v1/bookings").json()["elsewhere"]
        assert (hidden["gpu"], hidden["who"], hidden["comment"]) == (1, None, None)
        before = {"to": hidden["until"] + 2 * 86400, "from": hidden["until"] + 86400}
        assert httpx.get(f"{lab.board.url}api/v1/bookings", params=before).json()["elsewhere"] == []


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


def test_an_import_that_broke_off_is_finished_by_another(admin: Terminal, tmp_path: Path) -> None:
    """What was taken over before is no conflict, and booked once."""
    first = write(tmp_path / "first.json", {NODE: {"0": ANA}})
    assert admin.type("bookings", "import", str(first), "--names-are-people").returncode == 0
    whole = write(tmp_path / "comments.json", OBJECT)
    done = admin.type("bookings", "import", str(whole), "--names-are-people")
    assert done.returncode == 0, done.stderr
    assert [line.split("\t")[1] for line in done.stdout.splitlines()] == ["Ben K."]
    assert f"taken over before: {NODE}:0 of ana until " in done.stderr
    assert sorted(one["who"] for one in admin.ask("bookings")["bookings"]) == ["Ben K.", "ana"]


def test_what_was_agreed_otherwise_meanwhile_is_no_earlier_import(admin: Terminal, tmp_path: Path) -> None:
    """Another end is another booking: it is named."""
    assert admin.type("block", f"{NODE}:1", "--for", "1h").returncode == 0
    assert admin.type("book", f"{NODE}:0", "--for", "2h").returncode == 0
    path = write(tmp_path / "comments.json", OBJECT)
    done = admin.type("bookings", "import", str(path), "--person", "ana=boss", "--person", "Ben K.=boss")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("not taken over") == 2


def test_who_exports_waits_for_whoever_does_and_writes_what_holds_then(
    admin: Terminal, tmp_path: Path
) -> None:
    """What was asked for earlier must not come to stand last."""
    out = tmp_path / "out.json"
    with ThreadPoolExecutor() as pool:
        folder = os.open(tmp_path, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            waiting = [pool.submit(admin.type, "bookings", "export", str(out)) for _ in range(2)]
            wait_until(lambda: waiting_for(tmp_path) == 2)
            assert not out.exists()
            assert admin.type("book", f"{NODE}:2", "--for", "2h").returncode == 0
        finally:
            os.close(folder)
        assert [one.result().returncode for one in waiting] == [0, 0]
    assert list(json.loads(out.read_text())[NODE]) == ["2"]


def waiting_for(folder: Path) -> int:
    """How many wait for the lock of a folder."""
    lines = Path("/proc/locks").read_text().splitlines()
    return sum("-> FLOCK" in line and f":{folder.stat().st_ino} " in line for line in lines)


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
