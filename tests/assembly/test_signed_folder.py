"""A whole board that takes only signed drops: those of nodes that it has enrolled itself."""

import json
import time
import urllib.request
from pathlib import Path

import msgspec

from gpuboard.agent.drop import write_drop
from gpuboard.agent.outlet import TimedReport
from gpuboard.probes.simulated import simulate
from gpuboard.wire.enrolment import digest
from tests.board import RunningBoard, running_board
from tests.pushing import enrol

PATIENCE_SECONDS = 60


def shown(board: RunningBoard) -> dict[str, tuple[str, list[str]]]:
    """How each node is, and what is wrong with it."""
    with urllib.request.urlopen(f"{board.url}api/v1/fleet", timeout=60) as answer:
        return {
            node["name"]: (node["state"], [problem["kind"] for problem in node["problems"]])
            for node in json.load(answer)["nodes"]
        }


def test_only_what_an_enrolled_node_has_signed_is_shown(tmp_path: Path) -> None:
    """The board compares with what it keeps of the tokens; the others are nodes with trouble."""
    tokens = enrol(tmp_path / "state", "gpu01", "gpu02")
    folder = tmp_path / "nfs"
    folder.mkdir()
    keys = {"gpu01": digest(tokens["gpu01"]), "gpu02": digest(tokens["gpu01"]), "gpu03": None}
    for node, key in keys.items():
        report = msgspec.structs.replace(simulate("dgx-01", time.time(), interval=600.0), node=node)
        write_drop(folder, node, TimedReport(report, 0.0), key=key)
    config = tmp_path / "gpuboard.toml"
    config.write_text(f'[[source]]\nkind = "folder"\npath = "{folder}"\nsigned = true\ninterval = "1s"\n')
    with running_board("--config", str(config), log=tmp_path / "log", until="healthz") as board:
        ends = time.monotonic() + PATIENCE_SECONDS
        while "gpu03" not in (found := shown(board)) and time.monotonic() < ends:
            time.sleep(0.1)
    refused = ("error", ["unreadable-file"])
    assert found == {"gpu01": ("live", []), "gpu02": refused, "gpu03": refused}
