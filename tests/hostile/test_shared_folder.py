"""A folder in which everybody may write: nobody speaks for another's node, nobody hides the others."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gpuboard.assembly.storage import BoardStorage, remember_owners
from gpuboard.fleet.clock import SteadyClock
from gpuboard.fleet.state import Fleet
from gpuboard.settings.base import Duration
from gpuboard.sources.folder import FolderOptions, FolderSource, Owners, listing, reader
from gpuboard.storage.sqlite.database import SqliteDatabase
from tests.fakes.sink import RecordingSink, running
from tests.hostile.test_left import HONEST, folder_source, honest_drop, leave
from tests.parts import require_root

MALLORY = 54321
EVE = 54322


def leave_as(user: int, path: Path) -> None:
    """Leave an honest drop that belongs to somebody."""
    leave(path, honest_drop())
    os.chown(path, user, -1)


async def what_is_said(folder: Path, *changes: Callable[[], None]) -> list[list[str]]:
    """The kinds of problems of cml10's reports: at the first look, and after each change."""
    sink = RecordingSink()
    async with running(folder_source(folder), sink):
        for number, change in enumerate((lambda: None, *changes), start=1):
            await asyncio.to_thread(change)
            await sink.reports_of("cml10", number)
    return [[problem.kind for problem in report.problems] for _, report in sink.reports]


@pytest.mark.parametrize("theirs", ["cml10.txt", "cml10", "CML10.json", "cml10.xml"])
def test_another_users_file_never_stands_for_roots(tmp_path: Path, theirs: str) -> None:
    """Whatever its ending, and whichever is newer; that it is there is said."""
    require_root()
    leave_as(0, tmp_path / "cml10.json")
    leave_as(MALLORY, tmp_path / theirs)
    source, sink = folder_source(tmp_path), RecordingSink()
    source.read_once(sink)
    leave_as(MALLORY, tmp_path / theirs)
    source.read_once(sink)
    ((_, report),) = sink.reports
    assert [problem.kind for problem in report.problems] == ["second-file"]
    assert (theirs in report.problems[0].text, str(MALLORY) in report.problems[0].text) == (True, True)


def test_another_users_file_is_said_as_soon_as_it_is_there(tmp_path: Path) -> None:
    """The one that is read may never change again: its cron job may be the other user's now."""
    require_root()
    leave_as(0, tmp_path / "cml10.json")
    source, sink = folder_source(tmp_path), RecordingSink()
    source.read_once(sink)
    leave_as(MALLORY, tmp_path / "cml10.txt")
    for _ in range(2):
        source.read_once(sink)
    (tmp_path / "cml10.txt").unlink()
    source.read_once(sink)
    said = [[problem.kind for problem in report.problems] for _, report in sink.reports]
    assert said == [[], ["second-file"], []]


async def test_a_nodes_file_changes_its_owner_only_with_a_word(tmp_path: Path) -> None:
    """Whoever may delete in the folder can put another in its place; then the node says so."""
    require_root()
    path = tmp_path / "cml10.json"
    leave_as(EVE, path)
    said = await what_is_said(
        tmp_path,
        lambda: leave_as(EVE, path),
        lambda: leave_as(MALLORY, path),
        lambda: leave_as(MALLORY, path),
    )
    assert said == [[], [], ["file-owner"], ["file-owner"]]


async def test_root_takes_its_node_back_from_whoever_was_first(tmp_path: Path) -> None:
    """Nobody can occupy a name by writing it first."""
    require_root()
    leave_as(MALLORY, tmp_path / "cml10")
    said = await what_is_said(tmp_path, lambda: leave_as(0, tmp_path / "cml10.json"))
    assert said == [[], ["second-file", "file-owner"]]


def test_who_was_read_first_stays_over_a_restart(tmp_path: Path) -> None:
    """Whatever their numbers are; until the node is forgotten, or has had no file for long."""
    require_root()
    state = tmp_path / "board.db"
    folder = tmp_path / "folder"
    folder.mkdir()
    leave_as(EVE, folder / "cml10.json")
    assert _owner_after_a_start(state, folder) == EVE
    leave_as(MALLORY, folder / "cml10.txt")
    assert _owner_after_a_start(state, folder) == EVE
    assert _owner_after_a_start(state, folder, forget="cml10") == MALLORY


def _owner_after_a_start(state: Path, folder: Path, *, forget: str | None = None) -> int | None:
    """Whose file is read by a board that goes on where the one before ended."""
    storage = BoardStorage(SqliteDatabase(state), "http://localhost/")
    owners = remember_owners(storage, Fleet(SteadyClock()))
    storage.open()
    if forget is not None:
        owners.forget(forget)
    options = FolderOptions(path=str(folder), interval=Duration(1))
    FolderSource(options, owners=owners).read_once(RecordingSink())
    storage.close()
    return owners.of(str(folder), "cml10")


def test_an_owner_whose_files_have_long_been_gone_is_forgotten() -> None:
    """One that is away for a while is not."""
    owners = Owners(forget_after=60.0)
    owners.restore({"/drops": {"a": 1, "b": 2}})
    for now, here in ((0.0, {"b"}), (59.0, {"a", "b"}), (60.0, {"b"}), (119.0, {"b"})):
        owners.look("/drops", here, now=now)
        assert owners.of("/drops", "a") == 1
    owners.look("/drops", {"b"}, now=120.0)
    assert owners.known() == {"/drops": {"b": 2}}


def test_ten_thousand_dot_files_hide_nobody(tmp_path: Path) -> None:
    """Names are chosen before they are counted."""
    for number in range(listing.MAX_FILES):
        (tmp_path / f".{number}").touch()
    leave(tmp_path / HONEST, honest_drop())
    source, sink = folder_source(tmp_path), RecordingSink()
    source.read_once(sink)
    assert [name for name, _ in sink.reports] == [HONEST]
    assert source.trouble is None


async def test_three_thousand_sparse_files_delay_nobody(tmp_path: Path) -> None:
    """They are read once, some at a time, after the nodes that are known; the board says so meanwhile."""
    leave(tmp_path / HONEST, honest_drop())
    source, sink = folder_source(tmp_path), RecordingSink()
    await asyncio.to_thread(source.read_once, sink)
    for number in range(3000):
        with (tmp_path / f"a{number}").open("wb") as hole:
            hole.truncate(4 * 1024 * 1024)
    async with running(source, sink):
        for number in (2, 3):
            leave(tmp_path / HONEST, honest_drop())
            await sink.reports_of(HONEST, number)
            assert source.trouble is not None
            assert source.trouble.code == "folder-overfull"


def test_of_too_many_files_those_of_known_nodes_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Names that come first in the alphabet push nobody out; when they are gone, all is well again."""
    monkeypatch.setattr(listing, "MAX_FILES", 5)
    leave(tmp_path / HONEST, honest_drop())
    source, sink = folder_source(tmp_path), RecordingSink()
    source.read_once(sink)
    for number in range(10):
        leave(tmp_path / f"a{number}", honest_drop())
    leave(tmp_path / HONEST, honest_drop())
    source.read_once(sink)
    assert sink.count(HONEST) == 2
    assert source.trouble is not None
    assert source.trouble.code == "folder-overfull"
    for number in range(10):
        (tmp_path / f"a{number}").unlink()
    source.read_once(sink)
    assert source.trouble is None
    assert caplog.text.count("folder failed") == 1


def test_a_file_is_read_again_only_when_it_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that is refused."""
    read: list[str] = []
    plain = listing.read_below

    def noted(folder: int, name: str, *, limit: int) -> listing.File:
        read.append(name)
        return plain(folder, name, limit=limit)

    monkeypatch.setattr(reader, "read_below", noted)
    leave(tmp_path / HONEST, honest_drop())
    (tmp_path / "bad").write_bytes(b"{")
    source, sink = folder_source(tmp_path), RecordingSink()
    for _ in range(3):
        source.read_once(sink)
    assert sorted(read) == ["bad", HONEST]


def test_foreign_files_are_named_within_bounds(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A log is not filled by whoever makes files."""
    for number in range(300):
        (tmp_path / f"notes{number}").write_text("hello\n")
    source = FolderSource(FolderOptions(path=str(tmp_path), interval=Duration(1)))
    source.read_once(RecordingSink())
    assert caplog.text.count("file skipped") == 100
    assert "no more are named" in caplog.text


def test_dot_files_beyond_all_that_is_listed_hide_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only names that could be a node's are counted."""
    monkeypatch.setattr(listing, "MAX_LISTED", 10)
    for number in range(50):
        (tmp_path / f".{number}").touch()
    leave(tmp_path / HONEST, honest_drop())
    source, sink = folder_source(tmp_path), RecordingSink()
    source.read_once(sink)
    assert sink.count(HONEST) == 1
    assert source.trouble is None


def test_a_known_file_is_read_also_where_its_name_is_no_longer_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However a file system sorts names, those of many others do not come before it."""
    leave(tmp_path / HONEST, honest_drop())
    source, sink = folder_source(tmp_path), RecordingSink()
    source.read_once(sink)
    monkeypatch.setattr(listing, "MAX_LISTED", 0)
    leave(tmp_path / HONEST, honest_drop())
    source.read_once(sink)
    assert sink.count(HONEST) == 2
    assert sink.expected[-1] == {HONEST}
    assert source.trouble is not None
    assert source.trouble.code == "folder-overfull"


@pytest.mark.parametrize("remembered", [{}, {f"0{number}": MALLORY for number in range(9)}])
def test_nodes_of_before_a_restart_are_read_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, remembered: dict[str, int]
) -> None:
    """Whatever comes before them in the alphabet, and however many of another user were read before too."""
    monkeypatch.setattr(listing, "MAX_FILES", 5)
    for number in range(9):
        leave(tmp_path / f"0{number}", honest_drop())
    leave(tmp_path / HONEST, honest_drop())
    owners = Owners()
    owners.restore({str(tmp_path): {**remembered, HONEST: os.geteuid()}})
    source, sink = FolderSource(FolderOptions(path=str(tmp_path)), owners=owners), RecordingSink()
    source.read_once(sink)
    assert sink.count(HONEST) == 1
    assert len(sink.reports) == 5
