"""A folder with more files than are looked at: whoever has filled it keeps nobody's new node out."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from gpuboard.sources.folder import listing, shares
from gpuboard.sources.folder.shares import Found, Shares
from tests.fakes.sink import RecordingSink
from tests.hostile.test_left import HONEST, folder_source, honest_drop, leave
from tests.hostile.test_shared_folder import EVE, MALLORY
from tests.parts import require_root


def put(path: Path, owner: int) -> None:
    """Leave a drop of somebody's."""
    leave(path, honest_drop())
    os.chown(path, owner, -1)


def test_ten_thousand_files_of_one_user_keep_no_new_node_of_another_out(tmp_path: Path) -> None:
    """Their names come first, and nobody has read any of them yet; known nodes go on."""
    require_root()
    put(tmp_path / "zz-known", EVE)
    source, sink = folder_source(tmp_path), RecordingSink()
    source.read_once(sink)
    for number in range(listing.MAX_FILES + 500):
        path = tmp_path / f"a{number}"
        path.touch()
        os.chown(path, MALLORY, -1)
    put(tmp_path / "zz-known", EVE)
    put(tmp_path / "zz-new", EVE)
    source.read_once(sink)
    assert (sink.count("zz-known"), sink.count("zz-new")) == (2, 1)
    assert source.trouble is not None
    assert source.trouble.code == "folder-overfull"


def test_nor_do_those_that_were_read_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is known with all that may be looked at gives way beyond half of it, and keeps the rest."""
    require_root()
    monkeypatch.setattr(listing, "MAX_FILES", 20)
    source, sink = folder_source(tmp_path), RecordingSink()
    for number in range(20):
        put(tmp_path / f"a{number:02}", MALLORY)
    source.read_once(sink)
    assert len(sink.expected[-1]) == 20
    put(tmp_path / "zz-new", EVE)
    source.read_once(sink)
    assert sink.count("zz-new") == 1
    assert len(sink.expected[-1]) == 20


def test_nodes_of_the_folders_owner_give_way_to_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many files others leave beside them."""
    require_root()
    monkeypatch.setattr(listing, "MAX_FILES", 20)
    source, sink = folder_source(tmp_path), RecordingSink()
    mine = {f"z{number:02}" for number in range(18)}
    for name in mine:
        put(tmp_path / name, os.geteuid())
    source.read_once(sink)
    for number in range(50):
        put(tmp_path / f"a{number:02}", MALLORY)
    source.read_once(sink)
    assert mine < sink.expected[-1]


def test_a_new_file_is_found_though_not_all_can_be_asked_whose_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some are asked with every look; what was learnt stays learnt."""
    require_root()
    monkeypatch.setattr(listing, "MAX_FILES", 10)
    monkeypatch.setattr(shares, "MAX_ASKED", 10)
    for number in range(60):
        path = tmp_path / f"a{number:02}"
        path.touch()
        os.chown(path, MALLORY, -1)
    put(tmp_path / HONEST, EVE)
    source, sink = folder_source(tmp_path), RecordingSink()
    for _ in range(7):
        source.read_once(sink)
    assert sink.count(HONEST) == 1


def test_a_name_that_has_another_owner_now_is_learnt_anew(tmp_path: Path) -> None:
    """What was asked before is asked again, as long as there is room to ask."""
    require_root()

    def first(names: Sequence[str], count: int) -> list[str]:
        return list(names[:count])

    found: list[Found] = []
    for name, owner in (("a", MALLORY), ("b", MALLORY), ("c", MALLORY)):
        put(tmp_path / name, owner)
        found.append((name, "", name))
    chosen = Shares(pick=first)
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        told = [chosen.first(folder, found, known={}, trusted=(), limit=2)]
        os.chown(tmp_path / "c", EVE, -1)
        told.append(chosen.first(folder, found, known={}, trusted=(), limit=2))
    finally:
        os.close(folder)
    assert [[name for _, _, name in files] for files in told] == [["a", "b"], ["a", "c"]]
