"""One board, every way in which servers can be reached at once; and the plug pulled on each."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.board import RunningBoard, free_port, running_board
from tests.pushing import enroll_by_command
from tests.sources.ssh.server import Server, running_server

INTERVAL = "2s"
# Late after three intervals, lost after ten; and some time for a busy machine.
LATE_SECONDS, LOST_SECONDS, SLACK_SECONDS = 6, 20, 15

SETTINGS = """
[[source]]
kind = "ssh"
hosts = ["127.0.0.1"]
user = "{user}"
key_file = "{key}"
known_hosts = "{known_hosts}"
ssh_config = "/dev/null"
port = {ssh_port}
interval = "2s"
timeout = "4s"

[[source]]
kind = "folder"
path = "{folder}"
interval = "1s"

[[source]]
kind = "pull"
hosts = ["localhost:{pull_port}"]
token_file = "{token}"
interval = "2s"
timeout = "3s"

[[source]]
kind = "push"

[[source]]
kind = "local"
interval = "2s"
probe = "simulated"

[names]
nodes = {{ "dropped" = "The one in the cellar" }}
"""


class Lab:
    """A board with one node of each kind, and the processes behind each."""

    def __init__(
        self, board: RunningBoard, server: Server, agents: dict[str, subprocess.Popen[bytes]]
    ) -> None:
        self.board = board
        self._server = server
        self._agents = agents

    def nodes(self) -> dict[str, dict[str, Any]]:
        """What the board says of each source's node."""
        fleet = httpx.get(f"{self.board.url}api/v1/fleet", timeout=60).json()
        return {node["source"]: node for node in fleet["nodes"]}

    def states(self) -> dict[str, str]:
        """The state of each source's node."""
        return {source: node["state"] for source, node in self.nodes().items()}

    def freeze(self, source: str) -> None:
        """Let a node stop in the middle of what it does."""
        self._signal(source, signal.SIGSTOP)

    def thaw(self, source: str) -> None:
        """Let it go on."""
        self._signal(source, signal.SIGCONT)

    def _signal(self, source: str, number: signal.Signals) -> None:
        agent = self._agents.get(source)
        pids = [agent.pid] if agent is not None else [self._server.listener, *self._server.sessions()]
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)


def eventually(is_so: Callable[[], bool], seconds: float, what: Callable[[], object]) -> None:
    """Wait until something is so."""
    ends = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < ends, what()
        time.sleep(0.2)


@contextlib.contextmanager
def agent(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    """An agent on an invented machine."""
    command = [
        sys.executable,
        "-m",
        "gpuboard",
        "agent",
        "--probe",
        "simulated",
        "--interval",
        INTERVAL,
        *words,
    ]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """Everything at once."""
    folder, token = tmp_path / "drops", tmp_path / "agents.token"
    folder.mkdir()
    (tmp_path / "ssh").mkdir()
    pull_port = free_port()
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(running_server(tmp_path / "ssh"))
        agents = {
            "folder": stack.enter_context(agent("--drop", str(folder), "--node", "dropped")),
            "pull": stack.enter_context(
                agent("--listen", f"127.0.0.1:{pull_port}", "--token-file", str(token), "--node", "asked")
            ),
        }
        eventually(token.exists, 20, lambda: "no token file")
        settings = tmp_path / "gpuboard.toml"
        settings.write_text(
            SETTINGS.format(
                user=server.user, key=server.user_key, known_hosts=server.known_hosts, ssh_port=server.port,
                folder=folder, pull_port=pull_port, token=token,
            )
        )  # fmt: skip
        board = stack.enter_context(running_board("--config", str(settings), log=tmp_path / "log"))
        node_token = str(tmp_path / "node.token")
        enroll_by_command(board, "pushing", node_token)
        agents["push"] = stack.enter_context(agent("--push", board.url, "--token-file", node_token))
        yield Lab(board, server, agents)


@pytest.mark.timeout(300)
def test_every_kind_of_source_lives_dies_and_comes_back_alone(lab: Lab) -> None:
    """Each node with its provenance; a frozen one is late, then lost, and returns; the others stay live."""
    kinds = ("ssh", "folder", "pull", "push", "local")
    eventually(lambda: lab.states() == dict.fromkeys(kinds, "live"), 40, lab.states)
    assert lab.nodes()["folder"]["display_name"] == "The one in the cellar"
    first, second = ("push", "folder"), ("pull", "ssh")
    freeze_until_late(lab, *first)
    assert {lab.states()[source] for source in (*second, "local")} == {"live"}
    # From here on the others die while the first are still dead, and those come back alone.
    freeze_until_late(lab, *second)
    thaw_once_lost(lab, *first)
    thaw_once_lost(lab, *second)
    eventually(lambda: lab.states() == dict.fromkeys(kinds, "live"), 70, lab.states)


def freeze_until_late(lab: Lab, *sources: str) -> None:
    """Stop these, and wait until nothing of theirs counts any more."""
    for source in sources:
        lab.freeze(source)
    eventually(
        lambda: all(lab.states()[source] in ("late", "lost") for source in sources),
        LATE_SECONDS + SLACK_SECONDS,
        lab.states,
    )
    for source in sources:
        node = lab.nodes()[source]
        assert {gpu["verdict"]["word"] for gpu in node["gpus"]} == {"stale"}
        assert node["reason"]["text"]


def thaw_once_lost(lab: Lab, *sources: str) -> None:
    """Wait until these are given up, let them go on, and wait until they are live."""

    def turn(state: str, seconds: float) -> None:
        eventually(lambda: {lab.states()[source] for source in sources} == {state}, seconds, lab.states)

    turn("lost", LOST_SECONDS + SLACK_SECONDS)
    for source in sources:
        lab.thaw(source)
    turn("live", 70)
