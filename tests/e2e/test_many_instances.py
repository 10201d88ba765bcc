"""The largest nodes: sixteen GPUs of seven MIG instances each, whole on the board by every way in."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.board import RunningBoard, running_board
from tests.fakes import nvidia_smi, nvml
from tests.parts import require
from tests.pushing import enroll_by_command
from tests.sources.ssh.server import running_server

SETTINGS = """
[[source]]
kind = "ssh"
hosts = ["127.0.0.1"]
user = "{user}"
key_file = "{key}"
known_hosts = "{known_hosts}"
ssh_config = "/dev/null"
port = {port}
interval = "2s"

[[source]]
kind = "folder"
path = "{folder}"
interval = "1s"

[[source]]
kind = "push"
"""
NODES = {"127.0.0.1": "ssh", "dropped": "folder", "copied": "folder", "pushed": "push"}


class Machines:
    """Machines of sixteen cut GPUs each, on which commands can be run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._library = nvml.build(folder)

    def environment(self, name: str) -> dict[str, str]:
        """What makes a process believe to be on this machine."""
        scenario = self._folder / f"{name}.scenario"
        nvml.sixteen_cut(name).write(scenario)
        driver = nvml.environment(scenario, self._library)
        return os.environ | driver | nvidia_smi.environment(scenario)

    def document(self, name: str) -> bytes:
        """What `nvidia-smi -q -x` writes there."""
        command = [str(nvidia_smi.COMMAND), "-q", "-x"]
        return subprocess.run(command, env=self.environment(name), check=True, capture_output=True).stdout

    @contextmanager
    def agent(self, name: str, *words: str) -> Iterator[None]:
        """An agent there, reading through NVML."""
        command = [sys.executable, "-m", "gpuboard", "agent", "--probe", "nvml", "--interval", "2s", *words]
        process = subprocess.Popen(command, env=self.environment(name), stderr=subprocess.DEVNULL)
        try:
            yield
        finally:
            process.kill()
            process.wait()


@pytest.fixture
def board(tmp_path: Path) -> Iterator[RunningBoard]:
    """A board with such a node by each way in."""
    require("cc")
    folder, ssh = tmp_path / "drops", tmp_path / "ssh"
    folder.mkdir()
    ssh.mkdir()
    machines = Machines(tmp_path)
    with ExitStack() as stack:
        server = stack.enter_context(running_server(ssh))
        (ssh / "log.xml").write_bytes(machines.document("over-ssh"))
        (folder / "copied.xml").write_bytes(machines.document("copied"))
        stack.enter_context(machines.agent("dropped", "--drop", str(folder), "--node", "dropped"))
        settings = tmp_path / "gpuboard.toml"
        settings.write_text(
            SETTINGS.format(
                user=server.user,
                key=server.user_key,
                known_hosts=server.known_hosts,
                port=server.port,
                folder=folder,
            )
        )
        board = stack.enter_context(running_board("--config", str(settings), log=tmp_path / "log"))
        token = str(tmp_path / "node.token")
        enroll_by_command(board, "pushed", token)
        stack.enter_context(machines.agent("pushed", "--push", board.url, "--token-file", token))
        yield board


def fleet(board: RunningBoard) -> dict[str, dict[str, Any]]:
    """The nodes that the board shows, by name."""
    answer = httpx.get(f"{board.url}api/v1/fleet", timeout=60).json()
    return {node["name"]: node for node in answer["nodes"]}


@pytest.mark.timeout(600)
def test_sixteen_gpus_of_seven_instances_are_shown_whole_by_every_way_in(board: RunningBoard) -> None:
    """Every instance with its parent and its process, and no problem with any of it."""
    ends = time.monotonic() + 60
    while {name: node["state"] for name, node in fleet(board).items()} != dict.fromkeys(NODES, "live"):
        assert time.monotonic() < ends, fleet(board).keys()
        time.sleep(0.2)
    for name, node in fleet(board).items():
        assert (name, node["source"], node["problems"]) == (name, NODES[name], [])
        gpus = [gpu["reading"] | {"word": gpu["verdict"]["word"]} for gpu in node["gpus"]]
        cards = [gpu for gpu in gpus if gpu["mig_parent_uuid"] is None]
        instances = [gpu for gpu in gpus if gpu["mig_parent_uuid"] is not None]
        parents = sorted(gpu["mig_parent_uuid"] for gpu in instances)
        assert (len(cards), parents) == (16, sorted([card["uuid"] for card in cards] * 7))
        assert {(gpu["word"], len(gpu["processes"])) for gpu in instances} == {("busy", 1)}
