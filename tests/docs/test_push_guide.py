"""The guide to pushing nodes, walked as it is printed; only names, places and the port are the test's."""

import contextlib
import os
import re
import shlex
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.board import free_port, wait_for
from tests.parts import require
from tests.pushing import wait_until

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "push.md"


class Walk:
    """Somebody who types what the guide says, on one machine that is board and node."""

    def __init__(self, folder: Path, text: str, **environment: str) -> None:
        self.folder = folder
        self.port = free_port()
        for printed, here in (
            ("/etc/gpuboard", f"{folder}/etc"),
            ("/var/lib/gpuboard-agent", f"{folder}/agent"),
            ("board.lab.example", "localhost"),
            ("0.0.0.0", "127.0.0.1"),
            ("8042", str(self.port)),
        ):
            text = text.replace(printed, here)
        self.shell = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
        self.settings = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
        self.typed = re.findall(r"^\$ (.*)$", text, re.MULTILINE)
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        unset = {"STATE_DIRECTORY", "XDG_STATE_HOME"}
        self._environment = {name: value for name, value in os.environ.items() if name not in unset} | {
            "PATH": path, "HOME": str(folder), **environment,
        }  # fmt: skip

    def run(self, command: str, given: str = "") -> str:
        """Run a block to its end; its output."""
        done = subprocess.run(
            ["sh", "-e", "-c", command], env=self._environment, input=given, cwd=self.folder,
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    @contextlib.contextmanager
    def running(self, command: str, log: Path) -> Iterator["subprocess.Popen[bytes]"]:
        """Run a block that goes on."""
        with log.open("wb") as out:
            process = subprocess.Popen(
                shlex.split(command), env=self._environment, cwd=self.folder, stdout=out, stderr=out
            )
        try:
            yield process
        finally:
            process.terminate()
            process.wait(timeout=30)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_guide_leads_from_nothing_to_a_live_node(tmp_path: Path) -> None:
    """Certificate, board, code, token, agent: nothing has to be guessed in between."""
    require("openssl")
    walk = Walk(tmp_path, GUIDE.read_text().split("### Without a certificate")[0], GPUBOARD_PROBE="simulated")
    certificate, serve, enroll, agent = walk.shell
    ca_file = tmp_path / "etc" / "ca.pem"
    walk.run(certificate)
    (tmp_path / "etc" / "gpuboard.toml").write_text(walk.settings[0])
    with walk.running(serve, tmp_path / "board.log") as board:
        url = f"https://localhost:{walk.port}/"
        wait_for(f"{url}readyz", board, tmp_path / "board.log", ca_file)
        # A board that listens on one address prints that one.
        told = walk.run(walk.typed[0]).replace("127.0.0.1", "localhost")
        printed = [line.strip() for line in told.splitlines() if line.startswith("  gpuboard")]
        # What the command prints is what the guide says, but for the authority and the agent's usual place.
        assert [f"{line} --ca-file {ca_file}" for line in printed] == [
            line.strip().replace(f"{tmp_path}/agent", "/var/lib/gpuboard-agent") for line in (enroll, agent)
        ]
        walk.run(enroll, given=f"{told.split()[1]}\n")
        with walk.running(agent, tmp_path / "agent.log"):
            context = ssl.create_default_context(cafile=ca_file)
            wait_until(lambda: node_in(url, "gpu01", context).get("state") == "live", 60)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_an_agent_can_be_tried_without_a_gpu(tmp_path: Path) -> None:
    """Two terminals of one machine; the node has GPUs and is called as it was enrolled."""
    walk = Walk(tmp_path, GUIDE.read_text().split("### On a machine without a GPU")[1].split("\n## ")[0])
    serve, node = walk.shell
    *enrolling, agent = node.strip().splitlines()
    with walk.running(serve, tmp_path / "board.log") as board:
        url = f"http://127.0.0.1:{walk.port}/"
        wait_for(f"{url}readyz", board, tmp_path / "board.log", None)
        for line in enrolling:
            walk.run(line)
        with walk.running(agent, tmp_path / "agent.log"):
            wait_until(lambda: node_in(url, "trial-node").get("gpus"), 60)


def node_in(url: str, name: str, context: ssl.SSLContext | None = None) -> dict[str, Any]:
    """What the board says of a node; nothing while it does not know it."""
    with urllib.request.urlopen(f"{url}api/v1/fleet", context=context) as answer:
        nodes: list[dict[str, Any]] = msgspec.json.decode(answer.read())["nodes"]
    return next((node for node in nodes if node["name"] == name), {})
