"""The sources of a whole board: each table is one of its own."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gpuboard.agent.drop import write_drop
from gpuboard.agent.outlet import TimedReport
from gpuboard.assembly.storage import PLACES_SECONDS
from gpuboard.fleet.places import Places
from gpuboard.probes.simulated import simulate
from gpuboard.storage.named import NamedValues
from gpuboard.storage.tables import NODE_PLACES
from tests.board import RunningBoard, running_board
from tests.databases import open_database

pytestmark = pytest.mark.slow

PATIENCE_SECONDS = 60


def two_folders(place: Path) -> Path:
    """A configuration with two folders in which different machines have left the same name."""
    tables = []
    for name, machine in (("one", "dgx-01"), ("two", "vision-01")):
        folder = place / name
        folder.mkdir()
        write_drop(folder, "gpu01", TimedReport(simulate(machine, time.time(), interval=600.0), 0.0))
        tables.append(f'[[source]]\nkind = "folder"\npath = "{folder}"\ninterval = "1s"\n')
    config = place / "gpuboard.toml"
    config.write_text("".join(tables))
    return config


def until(board: RunningBoard, is_so: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The node as soon as something is so."""
    ends = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < ends:
        try:
            with urllib.request.urlopen(f"{board.url}api/v1/nodes/gpu01", timeout=60) as answer:
                node: dict[str, Any] = json.load(answer)
        except urllib.error.HTTPError:
            node = {}
        if node and is_so(node):
            return node
        time.sleep(0.1)
    raise AssertionError(f"never so: {node}")


def kinds(node: dict[str, Any]) -> list[str]:
    """The kinds of a node's problems."""
    return [problem["kind"] for problem in node["problems"]]


def test_two_folders_with_one_node_show_the_first_and_name_both(tmp_path: Path) -> None:
    """The second used to hide the first, without a word."""
    config = two_folders(tmp_path)
    with running_board("--config", str(config), log=tmp_path / "log") as board:
        node = until(board, lambda node: node["source"] == "folder" and "duplicate-node" in kinds(node))
    expected = [reading.model for reading in simulate("dgx-01", time.time()).gpus or ()]
    assert [gpu["reading"]["model"] for gpu in node["gpus"]] == expected
    assert [p["text"] for p in node["problems"] if p["kind"] == "duplicate-node"] == [
        "two sources have a node of this name: folder is shown, folder 2 is not"
    ]
    told = [line for line in (tmp_path / "log").read_text().splitlines() if "several sources" in line]
    assert len(told) == 1
    assert "sources=folder, folder 2" in told[0]


def leave(folder: Path, *places: int) -> None:
    """Leave a file of a node that has only the cards of these places, numbered as a driver would."""
    report = simulate("dgx-01", time.time(), interval=600.0)
    cards = [gpu for gpu in report.gpus or () if gpu.index in places and gpu.mig_parent_uuid is None]
    gpus = tuple(replace(gpu, index=number, mig_enabled=False) for number, gpu in enumerate(cards))
    write_drop(folder, "gpu01", TimedReport(replace(report, gpus=gpus, problems=()), 0.0))


def kill_when_written(board: RunningBoard) -> None:
    """Let a board die as soon as the places of the node's cards are on its disk."""
    database = open_database(board.state)
    ends = time.monotonic() + PATIENCE_SECONDS
    try:
        while not NamedValues(database, NODE_PLACES, Places).load() and time.monotonic() < ends:
            time.sleep(0.05)
    finally:
        database.close()
    board.process.kill()
    board.process.wait()


def test_places_are_written_within_a_second() -> None:
    """A board that was killed in the seconds after a card went missing called a booked card free."""
    assert PLACES_SECONDS <= 0.5


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_card_that_went_missing_while_the_board_was_down_is_missed(
    tmp_path: Path, *, is_killed: bool
) -> None:
    """The others keep their numbers, though the file and the board are both new."""
    folder = tmp_path / "folder"
    folder.mkdir()
    config = tmp_path / "gpuboard.toml"
    config.write_text(f'[[source]]\nkind = "folder"\npath = "{folder}"\ninterval = "1s"\n')
    leave(folder, 0, 1, 2, 3)
    with running_board("--config", str(config), log=tmp_path / "log") as board:
        before = until(board, lambda node: len(node["gpus"]) == 4)
        if is_killed:
            kill_when_written(board)
    leave(folder, 0, 2, 3)
    with running_board("--config", str(config), log=tmp_path / "log") as board:
        after = until(board, lambda node: len(node["gpus"]) == 4)
    numbers = [(gpu["uuid"], gpu["reading"]["index"]) for gpu in before["gpus"]]
    assert [(gpu["uuid"], gpu["reading"]["index"]) for gpu in after["gpus"]] == numbers
    assert (kinds(after), after["gpus"][1]["verdict"]["word"]) == (["gpu-missing"], "broken")
