"""What the files of a folder may take of a look, of the event loop and of memory, and whose come first."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from gpuboard.model.report import GpuReading, NodeReport
from gpuboard.sources.folder import FolderOptions, FolderSource, Owners, room, turns
from gpuboard.sources.folder.listing import Bundle, State
from gpuboard.sources.folder.turns import Due, Turns
from tests.fakes.sink import RecordingSink, running
from tests.hostile.test_left import HONEST, drop, folder_source, honest_drop, leave
from tests.hostile.test_shared_folder import EVE, MALLORY
from tests.parts import require_root


def many_gpus(name: str, count: int) -> bytes:
    """A drop that tells of so many GPUs."""
    gpus = tuple(GpuReading(uuid=f"{name}-{number}", index=number) for number in range(count))
    return drop(msgspec.json.encode(NodeReport(node=name, gpus=gpus)))


class Clock:
    """The processor's time, which only reading takes."""

    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        """The time so far."""
        return self.time


def due(node: str, *, owner: int = 1, size: int = 1000, is_known: bool = True, waited: int = 0) -> Due:
    """A node whose file has changed."""
    bundle = Bundle(owner, {"": node}, {"": State(owner, size, 0.0, ())})
    return Due(node, bundle, size, is_known, waited)


def read_in(clock: Clock, taken: Turns, seconds: float) -> Iterator[str]:
    """The nodes that a look reads when each file takes so long."""
    for one in taken:
        clock.time += seconds
        yield one.node


def test_a_look_ends_when_its_time_is_over() -> None:
    """What was not read is said, and those who have waited are the first of the next look."""
    clock = Clock()
    look = Turns([due(f"n{number}") for number in range(9)], clock=clock)
    assert list(read_in(clock, look, turns.MAX_LOOK_SECONDS / 3)) == ["n0", "n1", "n2", "n3"]
    assert look.overfull is not None
    waiting = [due(f"n{number}", waited=number > 3) for number in range(9)]
    assert next(iter(Turns(waiting, clock=clock))).node == "n4"


def test_known_nodes_and_small_files_are_read_first() -> None:
    """Whoever writes large files, or many under new names, waits for those who are known."""
    clock = Clock()
    look = Turns([due("new", is_known=False), due("large", size=4_000_000), due("small")], clock=clock)
    assert list(read_in(clock, look, 0.1)) == ["small", "large", "new"]
    assert look.overfull is None


def test_the_files_of_one_user_do_not_keep_others_from_being_read() -> None:
    """Each has the same share of a look, whoever is known and whoever has smaller files."""
    clock = Clock()
    theirs = [due(f"a{number:03}", owner=MALLORY) for number in range(300)]
    look = Turns([*theirs, due("new", owner=EVE, size=2_000_000, is_known=False)], clock=clock)
    assert "new" in list(read_in(clock, look, 0.2))[:2]


def test_large_files_that_take_no_time_do_not_either() -> None:
    """Bytes are shared like time."""
    clock = Clock()
    theirs = [due(f"a{number:03}", owner=1, size=4 << 20) for number in range(300)]
    look = Turns([*theirs, due("honest", owner=2, size=4 << 20, is_known=False)], clock=clock)
    assert "honest" in list(read_in(clock, look, 0.0))[:2]
    assert look.overfull is not None


def test_what_a_look_did_not_read_comes_with_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One file a look is read in any case."""
    monkeypatch.setattr(turns, "MAX_LOOK_SECONDS", 1e-9)
    for number in range(3):
        leave(tmp_path / f"n{number}", honest_drop())
    source, sink = folder_source(tmp_path), RecordingSink()
    read = []
    for _ in range(4):
        source.read_once(sink)
        read.append(len(sink.reports))
    assert read == [1, 2, 3, 3]
    assert source.trouble is None


async def test_others_have_their_turn_between_any_two_nodes(tmp_path: Path) -> None:
    """However many files have changed at once."""
    for number in range(200):
        leave(tmp_path / f"n{number}", honest_drop())

    class CountingSink(RecordingSink):
        """Notes how many reports came without a turn for others."""

        in_one_go = 0
        longest = 0

        def report(self, node: str, report: NodeReport) -> bool:
            self.in_one_go += 1
            self.longest = max(self.longest, self.in_one_go)
            return super().report(node, report)

    sink = CountingSink()
    async with running(folder_source(tmp_path), sink):
        while len(sink.reports) < 200:
            sink.in_one_go = 0
            await asyncio.sleep(0)
    assert sink.longest == 1


def test_a_folder_tells_of_so_many_gpus_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are known stay and go on; others come in when there is room again."""
    monkeypatch.setattr(room, "MAX_GPUS", 100)
    leave(tmp_path / HONEST, honest_drop())
    source, sink = folder_source(tmp_path), RecordingSink()
    source.read_once(sink)
    for number in range(5):
        leave(tmp_path / f"a{number}", many_gpus(f"a{number}", 40))
    leave(tmp_path / HONEST, honest_drop())
    for _ in range(2):
        source.read_once(sink)
        assert source.trouble is not None
        assert source.trouble.code == "folder-overfull"
    assert [sink.count(name) for name in (HONEST, "a0", "a1", "a2")] == [2, 1, 1, 0]
    assert {name for name, _, _ in sink.troubles} == {"a2", "a3", "a4"}
    for gone in ("a0", "a3", "a4"):
        (tmp_path / gone).unlink()
    source.read_once(sink)
    assert (sink.count("a2"), source.trouble) == (1, None)


def test_one_user_fills_no_more_than_half_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever comes later finds room; root and the folder's owner may fill it."""
    require_root()
    monkeypatch.setattr(room, "MAX_GPUS", 100)
    sink = RecordingSink()
    for number in range(4):
        leave(tmp_path / f"a{number}", many_gpus(f"a{number}", 20))
        os.chown(tmp_path / f"a{number}", MALLORY, -1)
    leave(tmp_path / HONEST, many_gpus(HONEST, 60))
    folder_source(tmp_path).read_once(sink)
    assert sorted(name for name, _ in sink.reports) == ["a0", "a1", HONEST]


def test_files_about_a_host_without_the_one_about_its_gpus_are_a_node_in_trouble(tmp_path: Path) -> None:
    """Its loop over GPUs has died, and that is a word about the host; a lone list of users is none."""
    for name in ("gpu1_status.csv", "gpu1_users.csv", "lab_users.csv"):
        leave(tmp_path / name, b"1, ana\n")
    source, sink = folder_source(tmp_path), RecordingSink()
    source.read_once(sink)
    assert sink.expected == [{"gpu1"}]
    ((node, reason, _),) = sink.troubles
    assert (node, "_gpus.csv" in reason.text) == ("gpu1", True)


@pytest.mark.parametrize(
    "words",
    [
        "bash: nvidia-smi: Befehl nicht gefunden.",
        "/bin/sh: 1: nvidia-smi: 见つかりません",
        "-bash: gpustat : commande introuvable",
        "Illegal instruction",
    ],
)
def test_what_a_shell_says_in_any_language_is_a_nodes_trouble(tmp_path: Path, words: str) -> None:
    """Beside it, what people write for each other is no node."""
    leave(tmp_path / "gpu1", f"{words}\n".encode())
    leave(tmp_path / "notes", b"Please write here with cron, one file a node.\n")
    sink = RecordingSink()
    folder_source(tmp_path).read_once(sink)
    assert [node for node, _, _ in sink.troubles] == ["gpu1"]


def test_a_node_of_before_a_restart_stays_one_whatever_its_file_says_now(tmp_path: Path) -> None:
    """Its command may fail in words that nobody here knows."""
    leave(tmp_path / "gpu1", "何か\n".encode())
    owners = Owners()
    owners.restore({str(tmp_path): {"gpu1": os.geteuid()}})
    sink = RecordingSink()
    FolderSource(FolderOptions(path=str(tmp_path)), owners=owners).read_once(sink)
    assert [(node, reason.code) for node, reason, _ in sink.troubles] == [("gpu1", "file-refused")]
