"""The README, followed from top to bottom as it is printed, on a machine without anything of ours."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.blocks import GUIDES, printed
from tests.docs.consul import running_consul
from tests.docs.machine import HOME, Machine, machine
from tests.parts import ROOT, missing, require
from tests.started import eventually

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("consul")]
PAGE = ROOT / "README.md"
BEGIN, *_ = printed(PAGE, "gpuboard", "sh", "sh")
LOOKS, SHOWN = printed(PAGE, "One machine", "sh", "")
SETTINGS, ASKED = printed(PAGE, "Many machines, however they can be reached", "toml", "sh")
SERVICE, RELOAD, *_ = printed(GUIDES / "consul.md", "Step by step", "json", "sh", "sh", "sh", "toml", "sh")
AUTHORITY, CERTIFICATE, AGENT, *_ = printed(
    GUIDES / "pull.md", "Step by step", "sh", "sh", "sh", "sh", "toml", "sh"
)


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Machine]:
    """Somebody's machine, with two GPUs."""
    with machine(tmp_path) as made:
        yield made


def clone(machine: Machine) -> str:
    """What stands for `git clone`: these files and their environment, since nothing is fetched."""
    require("git")
    ask = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(ask, cwd=ROOT, capture_output=True, check=False)
    if done.returncode != 0:
        missing("a git checkout")
    (machine.root / "tmp" / "files").write_bytes(done.stdout)
    copy = f"mkdir gpuboard && tar -C {ROOT} --null -cf - -T /tmp/files | tar -C gpuboard -xf -"
    return f"{copy} && ln -s {ROOT}/.venv gpuboard/.venv"


def test_the_first_two_lines_lead_to_a_board_with_simulated_nodes(here: Machine) -> None:
    """At the address that they print; the command is then where the next sentence says."""
    assert BEGIN.count("git clone …") == 1
    with here.running(BEGIN.replace("git clone …", clone(here))):
        url = "http://127.0.0.1:8042/"
        eventually(lambda: "live" in here.run(f"gpuboard status --board {url} --json || true"))
        ask = f"import urllib.request as u; print(u.urlopen('{url}').read())"
        assert "<title>" in here.run(f'python -c "{ask}"')
    assert "gpuboard" in here.run("cd gpuboard && .venv/bin/gpuboard --version")


def test_one_machine_is_looked_at(here: Machine) -> None:
    """Each line by itself."""
    status, demo, doctor = LOOKS.strip().splitlines()
    assert "2 of 2 GPUs free" in here.run(status)
    assert SHOWN.strip().splitlines()[0].split()[0] in here.run(demo)
    assert "nvidia-smi" in here.run(doctor)


def test_many_machines_are_shown_however_they_are_reached(here: Machine) -> None:
    """By ssh, by files, by agents that Consul names; and then asked for what is free."""
    require("openssl", "sshd", "ssh")
    here.name("gpu17", "gpu17.lab.example")
    here.run("mkdir -p /nfs/status-gpu && nvidia-smi -q -x > /nfs/status-gpu/cml01.xml")
    here.run(AUTHORITY)
    here.run(CERTIFICATE.replace("gpu01", "gpu17").partition("ssh root@")[0])
    here.run("cd /etc/gpuboard && cp gpu17.pem node.pem && cp gpu17.key node.key")
    here.write("/etc/consul.d/gpu-host.json", SERVICE)
    here.write("gpuboard.toml", SETTINGS)
    with here.open_to_ssh(), running_consul(here, "gpu17"), here.running(AGENT):
        eventually((here.root / "etc" / "gpuboard" / "agent.token").exists)
        here.run(
            "cp /etc/gpuboard/agent.token /etc/gpuboard/agents.token; ssh-keyscan gpu01 >> ~/.ssh/known_hosts"
        )
        with here.running(SETTINGS.splitlines()[0].partition("then: ")[2]):
            for node in ("gpu01", "cml01", "gpu17"):
                here.until_live(node)
            for command in ASKED.strip().splitlines():
                here.run(command)
    assert "cml01" in here.read(f"{HOME}/index.html")
