"""The guide to lists of hosts: each sample is a board's settings, and the nodes that it names are shown."""

from collections.abc import Iterator

import pytest

from tests.docs.blocks import GUIDES, printed
from tests.docs.machine import HOME, Machine, machine
from tests.parts import require

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("hosts guide")]
GUIDE = GUIDES / "hosts.md"
SERVE = "gpuboard serve --config gpuboard.toml"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """Some of the machines that the guide names, which are all this one; the others are not there."""
    require("sshd", "ssh", "useradd")
    with machine(tmp_path_factory.mktemp("hosts")) as here:
        here.name("old-box", "gpu3", "mail.lab.example")
        here.run("ip address add 10.0.0.7/32 dev lo; ip address add fd00::7/128 dev lo nodad")
        here.run("useradd --create-home --password '*' ana")
        with here.open_to_ssh(22, 2222):
            here.run("mkdir /home/ana/.ssh && cp ~/.ssh/authorized_keys /home/ana/.ssh/")
            here.run("ssh-keyscan gpu01.lab.example old-box gpu3 > ~/.ssh/known_hosts")
            here.run("ssh-keyscan -p 2222 10.0.0.7 fd00::7 >> ~/.ssh/known_hosts")
            yield here


def test_every_kind_of_name_in_a_list_leads_to_its_node(lab: Machine) -> None:
    """Ranges, plain names, an account and a port, an IPv6 address."""
    (settings,) = printed(GUIDE, "A list, with ranges", "toml")
    lab.write("gpuboard.toml", settings)
    with lab.running(SERVE):
        for node in ("gpu01", "old-box", "gpu3", "10.0.0.7", "fd00--7"):
            lab.until_live(node)


def test_a_hosts_file_is_taken_up_and_so_is_a_new_line(lab: Machine) -> None:
    """Without a restart."""
    settings, listed = printed(GUIDE, "A hosts file", "toml", "")
    lab.write("gpuboard.toml", settings)
    lab.write("/etc/gpuboard/hosts.txt", listed)
    with lab.running(SERVE):
        lab.until_live("gpu01")
        lab.until_live("old-box")
        lab.write("/etc/gpuboard/hosts.txt", f"{listed}gpu3\n")
        lab.until_live("gpu3")


def test_an_ssh_config_names_the_nodes_that_are_picked(lab: Machine) -> None:
    """Under their aliases; the mail server is none."""
    settings, config = printed(GUIDE, "An ssh config", "toml", "")
    lab.write("gpuboard.toml", settings)
    lab.write(f"{HOME}/.ssh/config", config, mode=0o600)
    with lab.running(SERVE):
        lab.until_live("gpu01")
        lab.until_live("dgx1")
        assert "mail" not in lab.run("gpuboard status --board http://127.0.0.1:8042/")
