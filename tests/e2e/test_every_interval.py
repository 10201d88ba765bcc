"""The page opens whatever the sources are and however their intervals and their nodes' relate."""

import contextlib
import gzip
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import connect

from tests.board import RunningBoard, running_board
from tests.e2e.test_every_source import agent, eventually
from tests.pushing import enroll_by_command
from tests.sources.formats.test_formats import SAMPLES
from tests.sources.formats.test_gpu_monitor import FILES
from tests.sources.pull.agents import TOKEN, Agent
from tests.sources.pull.old_node import PASSWORD, OldNode
from tests.sources.pull.served_folder import ServedFolder
from tests.sources.ssh.server import Server, running_server

Pulled = Agent | OldNode | ServedFolder
# What the nodes do by themselves, and below, at and above it.
OWN_SECONDS = 3
SECONDS = {"below": "2s", "at": f"{OWN_SECONDS}s", "above": "5s"}


def pulling(stack: contextlib.ExitStack, folder: Path, stir: list[Pulled]) -> Iterator[str]:
    """Agents that say their interval, agents that say none, and nodes of two older boards."""
    (folder / "token").write_text(TOKEN)
    (folder / "password").write_text(PASSWORD)
    for number, interval in enumerate(SECONDS.values(), start=1):
        for place, own in ((2, float(OWN_SECONDS)), (3, None)):
            asked = Agent(host=f"127.0.{place}.{number}", interval=own)
            stack.callback(asked.stop)
            stir.append(asked)
            yield pull_table(
                f"127.0.{place}.{number}", asked.port, interval, f'token_file = "{folder}/token"'
            )
        old = OldNode(f"127.0.4.{number}")
        stack.callback(old.stop)
        stir.append(old)
        protocol = "seed4" if number == 1 else "gpu-cluster-monitor"
        rest = f'protocol = "{protocol}"\npassword_file = "{folder}/password"'
        yield pull_table(f"127.0.4.{number}", old.port, interval, rest)
        (folder / f"served-{number}").mkdir()
        served = ServedFolder(folder / f"served-{number}", address=(f"127.0.5.{number}", 0))
        stack.callback(served.stop)
        stir.append(served)
        yield pull_table(f"127.0.5.{number}", served.port, interval, 'protocol = "gpu-monitor"')


def pull_table(host: str, port: int, interval: str, rest: str) -> str:
    """One table that asks one node."""
    return f'[[source]]\nkind = "pull"\nhosts = ["{host}:{port}"]\ninterval = "{interval}"\n{rest}\n'


def over_ssh(server: Server, folder: Path) -> Iterator[str]:
    """One host under three names."""
    config = folder / "ssh_config"
    config.write_text(f"Host ssh-*\n  HostName 127.0.0.1\n  Port {server.port}\n  User {server.user}\n")
    for relation, interval in SECONDS.items():
        yield (
            f'[[source]]\nkind = "ssh"\nhosts = ["ssh-{relation}"]\nkey_file = "{server.user_key}"\n'
            f'known_hosts = "{server.known_hosts}"\nssh_config = "{config}"\ninterval = "{interval}"\n'
        )


def folders(folder: Path) -> Iterator[str]:
    """Every kind of file, looked at more often, as often and more rarely than it is written."""
    for relation, interval in {"below": "2s", "at": "30s", "above": "1min"}.items():
        path = folder / relation
        path.mkdir()
        for form, samples in SAMPLES.items():
            for number, sample in enumerate(samples):
                (path / f"{form}-{number}-{relation}").write_bytes(sample)
        for member, data in FILES.items():
            (path / f"family-{relation}_{member}.csv").write_bytes(data)
        yield (
            f'[[source]]\nkind = "folder"\npath = "{path}"\ninterval = "{interval}"\nwrite_interval = "30s"\n'
        )


def expected() -> set[str]:
    """The nodes that all of them have, besides this machine."""
    pulled = {f"127.0.{place}.{number}" for place in (2, 3, 4, 5) for number in (1, 2, 3)}
    files = {f"{form}-{number}" for form, samples in SAMPLES.items() for number in range(len(samples))}
    left = {f"{file}-{relation}" for file in {*files, "family"} for relation in SECONDS}
    return {*pulled, *left, *(f"ssh-{relation}" for relation in SECONDS), "pushing", "vision-01"}


@pytest.fixture
def board(tmp_path: Path) -> Iterator[RunningBoard]:
    """A board with all of them, which go on sampling."""
    (tmp_path / "ssh").mkdir()
    stir: list[Pulled] = []
    over = threading.Event()

    def sample() -> None:
        while not over.wait(0.5):
            for each in stir:
                each.sample()

    with contextlib.ExitStack() as stack:
        server = stack.enter_context(running_server(tmp_path / "ssh"))
        tables = [*pulling(stack, tmp_path, stir), *over_ssh(server, tmp_path), *folders(tmp_path)]
        tables += ['[[source]]\nkind = "push"', '[[source]]\nkind = "local"\nprobe = "simulated"']
        tables += ['[[source]]\nkind = "simulated"\nnodes = 1\ninterval = "3s"']
        settings = tmp_path / "gpuboard.toml"
        settings.write_text("\n".join(tables))
        running = stack.enter_context(running_board("--config", str(settings), log=tmp_path / "log"))
        token = str(tmp_path / "node.token")
        enroll_by_command(running, "pushing", token)
        stack.enter_context(agent("--push", running.url, "--token-file", token))
        stack.callback(over.set)
        threading.Thread(target=sample, daemon=True).start()
        yield running


def snapshot(board: RunningBoard) -> dict[str, dict[str, Any]]:
    """The nodes of the snapshot with which a page begins, by name."""
    with connect(board.url.replace("http", "ws") + "api/v1/stream", compression=None) as socket:
        frame = socket.recv(timeout=60)
    message = json.loads(frame if isinstance(frame, str) else gzip.decompress(frame))
    rows = zip(*message["nodes"].values(), strict=True)
    nodes = [dict(zip(message["nodes"], row, strict=True)) for row in rows]
    return {node["name"]: node for node in nodes}


@pytest.mark.timeout(600)
def test_the_page_opens_for_every_source_with_every_interval(board: RunningBoard) -> None:
    """Every node has reported, the stream begins with all of them and goes on, and the API agrees."""

    def unheard() -> set[str]:
        nodes = snapshot(board)
        # Words of nvidia-smi alone say that it fails, and nothing of GPUs.
        silent = {name for name in nodes if name.startswith("nvidia-smi-words")}
        told = {name for name, node in nodes.items() if node["gpus_known"]}
        return expected() - silent - told

    eventually(lambda: not unheard(), 60, unheard)
    fleet = httpx.get(f"{board.url}api/v1/fleet", timeout=20).json()
    assert expected() <= {node["name"] for node in fleet["nodes"]}
    with connect(board.url.replace("http", "ws") + "api/v1/stream", compression=None) as socket:
        ends = time.monotonic() + 3 * OWN_SECONDS
        frames = 0
        while time.monotonic() < ends:
            frames += bool(socket.recv(timeout=20))
    assert frames > 1
