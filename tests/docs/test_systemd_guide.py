"""The guide to systemd, followed as it is printed, on a machine that systemd has started."""

import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.blocks import GUIDES, printed, texts_of
from tests.docs.machine import CHECKOUT, Machine, booted_machine
from tests.parts import ROOT, missing, require
from tests.started import eventually

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("systemd guide")]
GUIDE, PUSH = GUIDES / "systemd.md", GUIDES / "push.md"
SETTINGS, BOARD, IN_PLACE, SSH_FILES = printed(GUIDE, "The board", "toml", "sh", "sh", "sh")
AGENT, TOKEN, TLS, DROP = printed(GUIDE, "An agent", "sh", "sh", "sh", "sh")
AUTHORITY, CERTIFICATE, _, COLLECT, PULLING, _ = printed(
    GUIDES / "pull.md", "Step by step", "sh", "sh", "sh", "sh", "toml", "sh"
)
# Nothing is fetched: what pip would install is what is under test here, read from the checkout.
PIP = "/opt/gpuboard/bin/pip install "
PROGRAM = """#!/opt/gpuboard/bin/python
import sys

sys.path[1:1] = [{source!r}, {packages!r}]
from gpuboard.cli import main

sys.exit(main())
"""


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A machine with a checkout, in which somebody has written the settings."""
    if not _is_the_systems_python():
        missing(f"a Python {sys.version_info[0]}.{sys.version_info[1]} in /usr")
    with booted_machine(tmp_path_factory.mktemp("systemd")) as here:
        here.run(f"mkdir checkout && ln -s {CHECKOUT}/deploy checkout/")
        here.write("checkout/gpuboard.toml", SETTINGS)
        packages = CHECKOUT / Path(sysconfig.get_path("purelib")).relative_to(ROOT)
        program = PROGRAM.format(source=str(CHECKOUT / "src"), packages=str(packages))
        here.write("/usr/local/share/program", program, mode=0o755)
        yield here


def _is_the_systems_python() -> bool:
    """Services see nothing below /home and /root, where people keep theirs; packages fit the same version."""
    ask = "import sys; print(sys.version_info[:2])"
    done = subprocess.run(["/usr/bin/python3", "-c", ask], capture_output=True, text=True, check=False)
    return done.stdout.strip() == str(sys.version_info[:2])


def from_the_checkout(commands: str) -> str:
    """The same, as typed there, but for what pip does."""
    commands = commands.replace("-m venv", "-m venv --without-pip")
    commands = commands.replace(PIP, "cp /usr/local/share/program /opt/gpuboard/bin/gpuboard # ")
    return f"cd checkout\nexport PATH=/usr/bin:$PATH\n{commands}"


@pytest.fixture(scope="module")
def board(node: Machine) -> Machine:
    """The same with the board as a service."""
    node.run(from_the_checkout(BOARD))
    return node


def settle(board: Machine, settings: str) -> None:
    """Write other settings; a restart takes them up."""
    board.write("checkout/gpuboard.toml", settings)
    board.run("install -Dm640 -g gpuboard checkout/gpuboard.toml /etc/gpuboard/gpuboard.toml")


def test_settings_that_are_in_place_already_are_read_by_the_service(board: Machine) -> None:
    """Who comes from the guide to push has none in the checkout; and the service could read no key."""
    installing, checking = (
        next(line for line in BOARD.splitlines() if part in line)
        for part in ("gpuboard.toml /etc", "--check")
    )
    board.write("/etc/gpuboard/board.key", "secret", mode=0o600)
    board.run(f"chmod 600 /etc/gpuboard/gpuboard.toml && {IN_PLACE}")
    board.run(checking)
    board.run("runuser -u gpuboard -- cat /etc/gpuboard/board.key")
    board.run(f"cd checkout && {installing} && rm /etc/gpuboard/board.key")


def test_board_and_agent_are_services_that_know_each_other(board: Machine) -> None:
    """Beside each other, as the guide begins."""
    board.run(from_the_checkout(_without_first_line(AGENT)))
    eventually((board.root / "var" / "lib" / "gpuboard-agent" / "agent.token").exists)
    board.run(from_the_checkout(TOKEN))
    board.until_live("gpu01")


def test_an_agent_with_a_certificate_listens_to_other_machines(board: Machine) -> None:
    """Its key stays root's."""
    require("openssl")
    certificate = CERTIFICATE.partition("ssh root@")[0]
    tokens = COLLECT.replace("/etc/gpuboard/agent.token", "/var/lib/gpuboard-agent/agent.token")
    with board.open_to_ssh():
        board.run(AUTHORITY)
        board.run(f"{certificate}\ncp gpu01.pem node.pem && install -m600 gpu01.key node.key")
        board.run(from_the_checkout(_without_first_line(AGENT)))
        board.run(TLS)
        board.run(tokens)
    board.run("chgrp -R gpuboard /etc/gpuboard/agents")
    settle(board, PULLING)
    board.run("systemctl restart gpuboard")
    board.until_live("gpu01")


def test_a_renewed_certificate_of_an_agent_is_shown(board: Machine) -> None:
    """Though systemd hands the agent only copies."""
    look = "openssl s_client -connect 127.0.0.1:8043 </dev/null 2>/dev/null | openssl x509 -noout -serial"
    before = board.run(look)
    board.run(f"{CERTIFICATE.partition('ssh root@')[0]}\ncp gpu01.pem node.pem && cp gpu01.key node.key")
    renewed = board.run("openssl x509 -noout -serial -in /etc/gpuboard/node.pem")
    assert renewed != before
    eventually(lambda: board.run(f"{look} || true") == renewed)


def test_an_agent_pushes_as_a_service(board: Machine) -> None:
    """To a board that is one."""
    require("openssl")
    certificate, settings, *_ = printed(PUSH, "Step by step", "sh", "toml", "sh", "console", "sh", "sh")
    readable, push = printed(PUSH, "As a service", "sh", "sh")
    (invite,) = printed(GUIDE, "Agents that push", "sh")
    board.name("board.lab.example")
    board.run(certificate)
    settle(board, settings)
    board.run(readable)
    board.run(from_the_checkout(_without_first_line(AGENT)))
    board.run(push, given=f"{board.run(invite).split()[1]}\n")
    board.until_live("gpu01", "https://board.lab.example:8042/", ca_file="/etc/gpuboard/ca.pem")


def test_an_agent_drops_files_as_a_service(board: Machine) -> None:
    """Into a folder that the board reads; the guide to folders reads those of other machines."""
    board.run("mkdir -p /nfs/status-gpu && chmod 1777 /nfs/status-gpu")
    board.run(from_the_checkout(_without_first_line(AGENT)))
    board.run(DROP)
    settle(board, texts_of(GUIDES / "folder.md", "toml")[0].replace('"cml*"', '"gpu*"'))
    board.run("systemctl restart gpuboard")
    board.until_live("gpu01")


def test_a_reload_takes_up_a_renewed_certificate(board: Machine) -> None:
    """When the service that renews it has ended."""
    (drop_in,) = printed(GUIDE, "New settings without a restart", "ini")
    place = drop_in.partition("\n")[0].removeprefix("# ")
    board.write(place, drop_in)
    board.write("/etc/systemd/system/certbot.service", "[Service]\nType=oneshot\nExecStart=/bin/true\n")
    board.run("systemctl daemon-reload && systemctl start certbot")
    eventually(lambda: "settings taken up" in board.run("journalctl -u gpuboard"))


def test_what_a_board_needs_for_ssh_is_readable_for_its_user(board: Machine) -> None:
    """And for nobody else."""
    board.run(
        "mkdir -p ~/.ssh && ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/gpuboard && touch ~/.ssh/known_hosts"
    )
    board.run(SSH_FILES)
    for name in ("ssh_key", "ssh_key.pub", "known_hosts"):
        board.run(f"runuser -u gpuboard -- test -r /etc/gpuboard/{name}")
        board.run(f"runuser -u nobody -- test -r /etc/gpuboard/{name}", fails=True)


def test_what_a_board_needs_for_consul_is_readable_for_its_user(board: Machine) -> None:
    """As the guide to Consul has written it; before, the check says which is not."""
    (as_service,) = printed(GUIDES / "consul.md", "As a service", "sh")
    settings = printed(GUIDES / "consul.md", "Step by step", "json", "sh", "sh", "sh", "toml", "sh")[4]
    written = "umask 027 && mkdir -p /etc/gpuboard/agents && cd /etc/gpuboard"
    board.run(f"{written} && echo t > consul.token && echo t > agents/gpu01 && touch lab-ca.pem")
    board.run("chgrp -R root /etc/gpuboard/consul.token /etc/gpuboard/agents")
    settle(board, settings)
    check = next(line for line in as_service.splitlines() if line.endswith("--check"))
    assert "consul.token' cannot be read by user gpuboard" in board.run(f"{check} 2>&1")
    board.run(as_service)
    assert "/etc/gpuboard/agents" not in (told := board.run(f"{check} 2>&1"))
    assert "consul.token" not in told


def _without_first_line(text: str) -> str:
    return text.partition("\n")[2]
