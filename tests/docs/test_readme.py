"""The README, followed from top to bottom as it is printed, on a machine without anything of ours."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.blocks import GUIDES, printed
from tests.docs.consul import running_consul
from tests.docs.machine import HOME, Machine, machine
from tests.docs.wheels import make_wheels
from tests.parts import ROOT, missing, require
from tests.started import eventually

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("consul")]
PAGE = ROOT / "README.md"
UI = "src/gpuboard/web/ui"
BEGIN, INSTALL = printed(PAGE, "gpuboard", "sh", "sh")
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


def files_of_the_checkout() -> bytes:
    """The names of the files that a clone would have, each with a zero behind it."""
    require("git")
    ask = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(ask, cwd=ROOT, capture_output=True, check=False)
    if done.returncode != 0:
        missing("a git checkout")
    return done.stdout


def clone(machine: Machine) -> str:
    """What stands for `git clone`: these files and their environment, since nothing is fetched."""
    (machine.root / "tmp" / "files").write_bytes(files_of_the_checkout())
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


class Checkout:
    """A clone on a machine without a network, with wheels of what an installation needs."""

    def __init__(self, place: Path) -> None:
        self.place = place / "gpuboard"
        for name in filter(None, files_of_the_checkout().decode().split("\0")):
            if (ROOT / name).is_file():
                (self.place / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.place / name)
        if (ROOT / UI).exists():
            shutil.copytree(ROOT / UI, self.place / UI)
        make_wheels(place / "wheels", "gpuboard[board]", "hatchling")
        (place / "bin").mkdir()
        (place / "bin" / "uv").symlink_to(Path(sys.executable).parent / "uv")
        subprocess.run([sys.executable, "-m", "venv", place / "own"], check=True)
        self._environment = {
            "HOME": str(place),
            "PATH": f"{place}/own/bin:{place}/.local/bin:{place}/bin:/usr/bin:/bin",
            # Building the page would take its packages from the network; it is as it was built here.
            "GPUBOARD_UI": "skip",
            "PIP_NO_INDEX": "1",
            "PIP_CONFIG_FILE": "/dev/null",
            "PIP_FIND_LINKS": f"{place}/wheels",
            "UV_OFFLINE": "1",
            "UV_NO_CONFIG": "1",
            "UV_FIND_LINKS": f"{place}/wheels",
            "UV_PYTHON": sys.executable,
        }

    def run(self, line: str) -> str:
        """Type a line there; what it prints."""
        done = subprocess.run(
            ["sh", "-e", "-c", line], cwd=self.place, env=self._environment, capture_output=True, text=True,
            check=False, timeout=180,
        )  # fmt: skip
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
        return done.stdout


@pytest.mark.timeout(300)
@pytest.mark.parametrize("way", ["uv", "pip", "a node's"])
def test_the_command_is_installed_from_the_checkout_as_it_is_printed(tmp_path: Path, way: str) -> None:
    """With uv, in an environment of one's own, and the little that a node needs; no network is asked."""
    for_board, for_node = INSTALL.strip().splitlines()
    line = {"uv": for_board, "pip": for_board.partition("of yours: ")[2], "a node's": for_node}[way]
    assert line.startswith(("uv tool install", "pip install"))
    checkout = Checkout(tmp_path)
    checkout.run(line)
    checkout.run("gpuboard --version")
    assert "GPUs free" in checkout.run("gpuboard status --demo")
    if way != "a node's":
        checkout.run("gpuboard serve --check")


def test_another_port_for_the_demo_is_named() -> None:
    """The first board that somebody starts may not be the only program on 8042."""
    assert "--listen 127.0.0.1:" in PAGE.read_text().partition("## One machine")[0]


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
