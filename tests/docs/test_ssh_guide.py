"""The ssh guide, followed as it is printed, on a machine that is board and node: `gpu01.lab.example`."""

from collections.abc import Iterator

import pytest

from tests.docs.blocks import GUIDES, printed
from tests.docs.machine import Machine, machine
from tests.parts import require

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("ssh guide")]
GUIDE = GUIDES / "ssh.md"
# What a person types when ssh asks: whether this is the node, and the account's password.
ANSWERS = """#!/bin/sh
case $1 in *fingerprint*) echo yes;; *) echo secret;; esac
"""
MEMBERS = "gpu_monitor monitor"


KEYS, SETTINGS, SERVE, LOOK = printed(GUIDE, "In five minutes", "sh", "toml", "sh", "sh")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A node with accounts, and sshd as Debian sets it up; the same machine is the bastion."""
    require("sshd", "ssh", "ssh-copy-id", "ssh-agent", "useradd")
    with machine(tmp_path_factory.mktemp("ssh")) as here:
        here.name("bastion.lab.example")
        for member in MEMBERS.split():
            here.run(f"useradd --create-home --shell /bin/sh {member} && echo {member}:secret | chpasswd")
        here.write("/usr/local/bin/answers", ANSWERS, mode=0o755)
        with here.open_to_ssh():
            yield here


@pytest.fixture
def node(installed: Machine) -> Machine:
    """The same after the first steps, whatever was done to it before."""
    installed.run(f"rm -rf ~/.ssh ~/gpuboard.toml; for a in {MEMBERS}; do rm -rf /home/$a/.ssh; done")
    type_in(installed, KEYS)
    installed.write("gpuboard.toml", SETTINGS)
    return installed


def type_in(node: Machine, commands: str) -> str:
    """Type commands, and answer what ssh asks."""
    return node.run(commands, SSH_ASKPASS="/usr/local/bin/answers", SSH_ASKPASS_REQUIRE="force")


def is_shown(node: Machine) -> None:
    """A board with the guide's settings shows the node."""
    with node.running(SERVE):
        node.until_live("gpu01")


def test_five_minutes_lead_from_nothing_to_a_live_node(node: Machine) -> None:
    """Key, host key, settings, board; and the same without a board."""
    is_shown(node)
    assert node.run(LOOK).count("gpu01  driver") == 2


def test_an_account_without_a_password_is_given_the_key_by_root(node: Machine) -> None:
    """As it is made for the board alone."""
    (commands,) = printed(GUIDE, "An account without a password", "sh")
    node.run("userdel --force --remove gpu_monitor; cp ~/.ssh/gpuboard.pub .")
    try:
        node.run(commands)
        is_shown(node)
    finally:
        node.run("echo gpu_monitor:secret | chpasswd")


def test_with_the_printed_line_the_key_does_nothing_but_what_the_board_needs(node: Machine) -> None:
    """The board lives with that: it asks again after each sample."""
    command, looks_like = printed(GUIDE, "Allow this command and nothing else", "sh", "")
    line = node.run(command)
    begin, end = (part.strip() for part in looks_like.split("…")[:2])
    assert line.startswith(begin)
    assert end.split()[-2:] == ["ssh-ed25519", "AAAA"]
    node.write("/home/gpu_monitor/.ssh/authorized_keys", line)
    assert "uid=" not in node.run("ssh -i ~/.ssh/gpuboard gpu_monitor@gpu01.lab.example id || true")
    is_shown(node)


def test_host_keys_can_be_collected_at_once(node: Machine) -> None:
    """Without logging in to each by hand; one of the two nodes that are printed is not there."""
    node.run("rm ~/.ssh/known_hosts")
    (collect,) = printed(GUIDE, "Host keys", "sh")
    node.run(collect)
    is_shown(node)


def test_a_key_with_a_passphrase_works_through_an_agent(node: Machine) -> None:
    """Which is asked for it once."""
    node.run("ssh-keygen -q -p -N secret -f ~/.ssh/gpuboard")
    (commands,) = printed(GUIDE, "Keys with a passphrase", "sh")
    asked = {"SSH_ASKPASS": "/usr/local/bin/answers", "SSH_ASKPASS_REQUIRE": "force"}
    with node.running(commands, **asked):
        node.until_live("gpu01")


def test_a_node_behind_a_jump_host_is_reached_by_the_ssh_config(node: Machine) -> None:
    """Each with its own account."""
    (config,) = printed(GUIDE, "Jump hosts, aliases, other ports", "")
    type_in(node, "ssh-copy-id -i ~/.ssh/gpuboard monitor@bastion.lab.example")
    node.write(".ssh/config", config)
    is_shown(node)
    assert "Accepted publickey for monitor" in node.logs()
