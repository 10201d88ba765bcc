"""The guide to agents that listen, followed as it is printed; board and node are one machine."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.blocks import GUIDES, printed
from tests.docs.machine import Machine, machine
from tests.parts import ROOT, require
from tests.started import eventually

pytestmark = pytest.mark.slow
GUIDE = GUIDES / "pull.md"


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Machine]:
    """A machine on which nothing of ours is set up."""
    require("openssl", "sshd", "ssh", "scp")
    with machine(tmp_path) as here, here.open_to_ssh():
        yield here


def test_the_steps_lead_from_nothing_to_a_live_node(node: Machine) -> None:
    """Authority, certificate, agent, token, board."""
    languages = ("sh", "sh", "sh", "sh", "toml", "sh")
    authority, certificate, agent, tokens, settings, serve = printed(GUIDE, "Step by step", *languages)
    node.run(authority)
    node.run(certificate)
    with node.running(agent):
        eventually((node.root / "etc" / "gpuboard" / "agent.token").exists)
        node.run(tokens)
        node.write("/etc/gpuboard/gpuboard.toml", settings)
        with node.running(serve):
            node.until_live("gpu01")


def test_a_node_of_gpu_cluster_monitor_is_shown_as_it_is(node: Machine) -> None:
    """Its list of hosts and its password are where the guide says."""
    (settings,) = printed(GUIDE, "Switching from gpu-cluster-monitor", "toml")
    node.write("gpuboard.toml", settings)
    node.write("/srv/monitor/hosts.txt", "gpu01.lab.example\n")
    node.write("/etc/gpuboard/old-nodes.password", "8888\n", mode=0o600)
    listening = "from tests.sources.pull.old_node import OldNode; OldNode('0.0.0.0', 7080)"
    forever = f"import threading; {listening}; threading.Event().wait()"
    with (
        node.running(f'python -c "{forever}"', PYTHONPATH=str(ROOT)),
        node.running("gpuboard serve --config gpuboard.toml"),
    ):
        node.until_live("gpu01")
