"""The sources of a whole board: each table is one of its own."""

import json
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from gpuboard.agent.drop import write_drop
from gpuboard.agent.outlet import Sample
from gpuboard.probes.simulated import simulate
from tests.board import RunningBoard, running_board

PATIENCE_SECONDS = 30


def two_folders(place: Path) -> Path:
    """A configuration with two folders in which different machines have left the same name."""
    tables = []
    for name, machine in (("one", "dgx-01"), ("two", "vision-01")):
        folder = place / name
        folder.mkdir()
        write_drop(folder, "gpu01", Sample(simulate(machine, time.time()), 0.0))
        tables.append(f'[[source]]\nkind = "folder"\npath = "{folder}"\ninterval = "100ms"\n')
    config = place / "gpuboard.toml"
    config.write_text("".join(tables))
    return config


def until_from(board: RunningBoard, source: str) -> dict[str, Any]:
    """The node as soon as it is shown from this source; both have been read by then."""
    ends = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < ends:
        try:
            with urllib.request.urlopen(f"{board.url}api/v1/nodes/gpu01", timeout=10) as answer:
                node: dict[str, Any] = json.load(answer)
        except urllib.error.HTTPError:
            node = {}
        if node.get("source") == source and any(p["kind"] == "duplicate-node" for p in node["problems"]):
            return node
        time.sleep(0.1)
    raise AssertionError(f"never shown from {source}: {node}")


def test_two_folders_with_one_node_show_the_first_and_name_both(tmp_path: Path) -> None:
    """The second used to hide the first, without a word."""
    config = two_folders(tmp_path)
    with running_board("--config", str(config), log=tmp_path / "log") as board:
        node = until_from(board, "folder")
    expected = [reading.model for reading in simulate("dgx-01", time.time()).gpus or ()]
    assert [gpu["reading"]["model"] for gpu in node["gpus"]] == expected
    assert [p["text"] for p in node["problems"] if p["kind"] == "duplicate-node"] == [
        "sources folder and folder 2 both have a node of this name; folder is shown"
    ]
    told = [line for line in (tmp_path / "log").read_text().splitlines() if "several sources" in line]
    assert len(told) == 1
    assert "sources=folder, folder 2" in told[0]
