"""Cards that somebody changes while the board runs: over a real sshd, and pushed by a real agent."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.board import RunningBoard, running_board
from tests.e2e.test_every_source import eventually
from tests.probes.nvidia_smi.logs import new_gpu
from tests.pushing import enroll_by_command
from tests.sources.ssh.server import Server, running_server

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
timeout = "4s"

[[source]]
kind = "push"
"""
NODES = ("127.0.0.1", "pushing")
# What the files of the stand-in call its cards, each by the slot that it was in first.
CARDS = [f"GPU-0000000{number}-1111-2222-3333-444444444444" for number in range(10)]


class Lab:
    """A board that reads one machine in two ways."""

    def __init__(self, board: RunningBoard, server: Server, folder: Path) -> None:
        self.board = board
        self._server = server
        self._folder = folder
        self._agent: subprocess.Popen[bytes] | None = None

    def put(self, *slots: int | None) -> None:
        """Let the machine have these cards in its slots."""
        gpus = [
            new_gpu(slot).replace(CARDS[slot], CARDS[card])
            for slot, card in enumerate(slots)
            if card is not None
        ]
        self._server.set_log("".join(gpus))

    def enroll(self) -> None:
        """Give the agent a token, as people do."""
        enroll_by_command(self.board, "pushing", str(self._folder / "node.token"))

    @contextlib.contextmanager
    def agent(self) -> Iterator[None]:
        """An agent beside the sshd, until the block ends."""
        words = ["--probe", "nvidia-smi", "--interval", "2s", "--push", self.board.url]
        command = [sys.executable, "-m", "gpuboard", "agent", *words]
        process = subprocess.Popen(
            [*command, "--token-file", str(self._folder / "node.token")],
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PATH": f"{self._server.bin}:{os.environ['PATH']}"},
        )
        try:
            yield
        finally:
            process.kill()
            process.wait()

    def forget(self, node: str) -> None:
        """Forget a node, as people do."""
        words = ["node", "forget", node, "--state-dir", str(self.board.state)]
        subprocess.run(
            [sys.executable, "-m", "gpuboard", *words], check=True, capture_output=True, timeout=60
        )

    def cards(self) -> dict[str, list[str]]:
        """Of each node its numbers, and which card has it; a `!` behind one that is broken."""
        nodes: list[dict[str, Any]] = httpx.get(f"{self.board.url}api/v1/fleet", timeout=60).json()["nodes"]
        return {node["name"]: [_card(gpu) for gpu in node["gpus"]] for node in nodes}

    def await_cards(self, *cards: str) -> None:
        """Wait until the machine has just these, whoever tells it."""
        eventually(lambda: all(self.cards().get(node) == [*cards] for node in NODES), 40, self.cards)


def _card(gpu: dict[str, Any]) -> str:
    card = CARDS.index(gpu["uuid"].partition("@")[0])
    return f"{gpu['reading']['index']}:{card}{'!' * (gpu['verdict']['word'] == 'broken')}"


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """A machine of three cards."""
    (tmp_path / "ssh").mkdir()
    with running_server(tmp_path / "ssh") as server:
        settings = tmp_path / "gpuboard.toml"
        settings.write_text(
            SETTINGS.format(
                user=server.user, key=server.user_key, known_hosts=server.known_hosts, port=server.port
            )
        )
        words = ("--config", str(settings))
        with running_board(*words, log=tmp_path / "log") as board:
            made = Lab(board, server, tmp_path)
            made.put(0, 1, 2)
            made.enroll()
            with made.agent():
                yield made


@pytest.mark.timeout(300)
def test_a_swapped_card_takes_the_place_of_the_old_one(lab: Lab) -> None:
    """The old one was called lost for ever, and its bookings stayed on it."""
    lab.await_cards("0:0", "1:1", "2:2")
    lab.put(7, 1, 2)
    lab.await_cards("0:7", "1:1", "2:2")
    lab.put(None, 8, 2)
    lab.await_cards("0:7!", "1:8", "2:2")
    lab.put(0, 8, 2)
    lab.await_cards("0:0", "1:8", "2:2")


@pytest.mark.timeout(300)
def test_a_card_that_was_taken_out_is_forgotten_with_its_node(lab: Lab) -> None:
    """It came back as lost with the next report; and it is shown again when it is put back."""
    lab.await_cards("0:0", "1:1", "2:2")
    lab.put(None, 7, 2)
    lab.await_cards("0:0!", "1:7", "2:2")
    for node in NODES:
        lab.forget(node)
    lab.enroll()
    lab.await_cards("0:7", "1:2")
    for _ in range(4):
        time.sleep(2)
        assert set(map(tuple, lab.cards().values())) == {("0:7", "1:2")}
    lab.put(0, 7, 2)
    lab.await_cards("0:0", "1:7", "2:2")
    lab.put(0, 7)
    lab.await_cards("0:0", "1:7", "2:2!")
