"""What was read of a folder before a restart of the board is not new after it."""

import json
import time
import urllib.request
from pathlib import Path

import msgspec
import pytest

from gpuboard.agent.drop import write_drop
from gpuboard.agent.outlet import TimedReport
from gpuboard.model.report import NodeReport
from gpuboard.probes.simulated import simulate
from gpuboard.sources.folder import FolderOptions, FolderSource, Marks, Owners
from gpuboard.sources.folder.pace import KEPT_BOOTS, Mark, Track
from gpuboard.storage.base import Database
from gpuboard.storage.named import NamedValues
from gpuboard.storage.tables import FOLDER_MARKS
from tests.board import running_board
from tests.fakes.sink import RecordingSink
from tests.started import eventually

DAY = 86400.0


def drop(folder: Path, number: int, *, ago: float, boot: str = "one") -> None:
    """Leave a drop of gpu01 that was taken a while ago."""
    at = time.time() - ago
    report = msgspec.structs.replace(
        simulate("dgx-01", at),
        node="gpu01",
        boot_id=boot,
        sequence=number,
        taken_at=at,
        interval_seconds=60.0,
    )
    write_drop(folder, "gpu01", TimedReport(report, 0.0))


def restarted(before: Owners, database: Database) -> Owners:
    """What a board remembers that goes on where another ended."""
    store = NamedValues(database, FOLDER_MARKS, Marks)
    store.save(before.marks.known(), frozenset())
    owners = Owners()
    owners.marks.restore(store.load())
    return owners


def look(source: FolderSource) -> NodeReport | str | None:
    """What comes of one look at the folder: a report, why there is none, or nothing new."""
    sink = RecordingSink()
    source.read_once(sink)
    if sink.reports:
        return sink.reports[0][1]
    return sink.troubles[0][1].text if sink.troubles else None


def folder(path: Path, owners: Owners) -> FolderSource:
    """A folder as a board sees it that has just started."""
    return FolderSource(FolderOptions(path=str(path)), owners=owners)


def test_old_drops_that_are_put_back_after_a_restart_are_not_fresh(
    tmp_path: Path, database: Database
) -> None:
    """Not the first, and not the second either, though it follows on the first."""
    before = Owners()
    drop(tmp_path, 100, ago=10.0)
    assert isinstance(look(folder(tmp_path, before)), NodeReport)
    source = folder(tmp_path, restarted(before, database))
    for number in (50, 51):
        drop(tmp_path, number, ago=DAY)
        assert "older than what was read before" in str(look(source))
    drop(tmp_path, 101, ago=0.0)
    told = look(source)
    assert isinstance(told, NodeReport)
    assert told.age_seconds < 60.0


def test_the_drop_that_was_read_last_is_told_after_a_restart(tmp_path: Path, database: Database) -> None:
    """As old as it says; and no news at the look after that."""
    before = Owners()
    drop(tmp_path, 100, ago=30.0)
    look(folder(tmp_path, before))
    source = folder(tmp_path, restarted(before, database))
    told = look(source)
    assert isinstance(told, NodeReport)
    assert 29.0 < told.age_seconds < 60.0
    assert look(source) is None


def test_an_earlier_boot_is_not_fresh_after_a_restart(tmp_path: Path, database: Database) -> None:
    """The last boots of a node are known, each with how far it came."""
    before = Owners()
    source = folder(tmp_path, before)
    for boot, number, ago in (("one", 900, 3600.0), ("two", 5, 10.0)):
        drop(tmp_path, number, ago=ago, boot=boot)
        look(source)
    source = folder(tmp_path, restarted(before, database))
    for number in (898, 899):
        drop(tmp_path, number, ago=3700.0, boot="one")
        assert "older than what was read before" in str(look(source))


def test_a_node_that_was_forgotten_may_begin_anew(tmp_path: Path, database: Database) -> None:
    """`node forget` is the way out for a machine that was set back as a whole."""
    before = Owners()
    drop(tmp_path, 100, ago=10.0)
    look(folder(tmp_path, before))
    before.forget("gpu01")
    assert before.marks.known() == {}
    drop(tmp_path, 50, ago=5.0)
    assert isinstance(look(folder(tmp_path, restarted(before, database))), NodeReport)


def test_what_is_remembered_of_a_node_is_bounded(tmp_path: Path) -> None:
    """However many boots it makes up, and however long their names are."""
    owners = Owners()
    source = folder(tmp_path, owners)
    for number in range(3 * KEPT_BOOTS):
        drop(tmp_path, number, ago=0.0, boot=f"{number}" + 250 * "x")
        look(source)
    [marks] = owners.marks.known().values()
    assert len(marks.highest) == KEPT_BOOTS
    assert len(msgspec.json.encode(marks)) < 150 * KEPT_BOOTS
    track = Track(Marks(Mark("a", 1), tuple((str(number), 1.0) for number in range(1000))))
    assert len((track.marks() or marks).highest) == KEPT_BOOTS


def test_what_has_no_files_for_long_is_forgotten(tmp_path: Path) -> None:
    """With whose they were."""
    owners = Owners(forget_after=60.0)
    drop(tmp_path, 100, ago=10.0)
    look(folder(tmp_path, owners))
    for now in (1000.0, 1060.0):
        owners.look(str(tmp_path), (), now=now)
    assert (owners.known(), owners.marks.known()) == ({str(tmp_path): {}}, {})


@pytest.mark.slow
def test_a_board_that_is_started_again_refuses_an_old_drop(tmp_path: Path) -> None:
    """The whole way, over the state directory."""
    (tmp_path / "nfs").mkdir()
    config = tmp_path / "gpuboard.toml"
    config.write_text(f'[[source]]\nkind = "folder"\npath = "{tmp_path}/nfs"\ninterval = "200ms"\n')

    def why(url: str) -> str:
        with urllib.request.urlopen(f"{url}api/v1/fleet", timeout=60) as answer:
            return str([node["reason"] for node in json.load(answer)["nodes"]])

    drop(tmp_path / "nfs", 100, ago=0.0)
    with running_board("--config", str(config), log=tmp_path / "log"):
        pass
    drop(tmp_path / "nfs", 50, ago=DAY)
    with running_board("--config", str(config), log=tmp_path / "log", until="healthz") as board:
        eventually(lambda: "older than what was read before" in why(board.url))
        drop(tmp_path / "nfs", 51, ago=DAY)
        # Several looks of the source: none of them may take it for new.
        time.sleep(1)
        assert "older than what was read before" in why(board.url)
