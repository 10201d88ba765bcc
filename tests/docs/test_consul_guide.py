"""The guide to Consul, followed as it is printed, with a real Consul that denies by default."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.blocks import GUIDES, printed
from tests.docs.consul import running_consul
from tests.docs.machine import Machine, machine
from tests.fakes.consul import TOKEN
from tests.parts import ROOT, require
from tests.started import eventually

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("consul")]
GUIDE = GUIDES / "consul.md"
SERVICE, RELOAD, ACCESS, TOKENS, SETTINGS, SERVE = printed(
    GUIDE, "Step by step", "json", "sh", "sh", "sh", "toml", "sh"
)
AUTHORITY, CERTIFICATE, AGENT = printed(
    GUIDES / "pull.md", "Step by step", "sh", "sh", "sh", "sh", "toml", "sh"
)[:3]
# The administrators' token is the agent's own too.
HELD = dict.fromkeys(("master", "agent", "default"), TOKEN)
DENYING = {"enabled": True, "default_policy": "deny", "tokens": HELD}


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Machine]:
    """A machine on which nothing of ours is set up."""
    require("openssl", "sshd", "ssh", "scp")
    with machine(tmp_path) as here, here.open_to_ssh():
        here.run("ssh-keyscan gpu01 >> ~/.ssh/known_hosts")
        here.name("consul.lab.example")
        yield here


def test_the_steps_lead_from_nothing_to_a_live_node(lab: Machine) -> None:
    """Certificate, agent, service, tokens, board; then the same Consul over TLS."""
    (over_tls,) = printed(GUIDE, "A Consul on another machine", "toml")
    lab.run(AUTHORITY)
    lab.run(CERTIFICATE)
    # Consul's own, as its administrators have it.
    lab.run(CERTIFICATE.replace("gpu01", "consul").partition("ssh root@")[0])
    papers = {"cert_file": "consul.pem", "key_file": "consul.key", "ca_file": "lab-ca.pem"}
    files = {key: f"/etc/gpuboard/{name}" for key, name in papers.items()}
    with running_consul(lab, acl=DENYING, ports={"https": 8501}, **files), lab.running(AGENT):
        eventually((lab.root / "etc" / "gpuboard" / "agent.token").exists)
        lab.write("/etc/consul.d/gpu-host.json", SERVICE)
        for commands in (RELOAD, ACCESS, TOKENS):
            lab.run(commands, CONSUL_HTTP_TOKEN=TOKEN)
        for settings in (SETTINGS, over_tls):
            lab.write("/etc/gpuboard/gpuboard.toml", settings)
            with lab.running(SERVE):
                lab.until_live("gpu01")


def test_nodes_of_gpu_monitor_in_consul_are_shown_as_they_are(lab: Machine) -> None:
    """They serve their files on 8114, whatever port is registered."""
    (settings,) = printed(GUIDES / "pull.md", "Switching from gpu-monitor", "toml")
    lab.write("gpuboard.toml", settings)
    served = "from tests.sources.pull.test_gpu_monitor_nodes import ServedFolder as S"
    begins = "s = S(pathlib.Path('/srv'), 'gpu01', ('0.0.0.0', 8114)); s.write()"
    forever = f"import pathlib, threading; {served}; {begins}; threading.Event().wait()"
    service = json.dumps({"service": {"name": "gpu-host", "port": 80}})
    lab.write("/etc/consul.d/gpu-host.json", service)
    with (
        running_consul(lab),
        lab.running(f'python -c "{forever}"', PYTHONPATH=str(ROOT)),
        lab.running("gpuboard serve --config gpuboard.toml"),
    ):
        lab.until_live("gpu01")
