"""Nodes that are listed by address and called by the name that they report."""

from pathlib import Path

import pytest

from gpuboard.fleet.clock import SteadyClock
from gpuboard.fleet.state import Fleet
from gpuboard.fleet.views import fleet_view
from gpuboard.model.report import HostFacts, NodeReport
from gpuboard.model.verdict import Reason
from gpuboard.sources.pull import PullOptions
from gpuboard.sources.reported_names import ReportedNames
from tests.fakes.sink import RecordingSink, running
from tests.sources.pull.agents import at, pull
from tests.sources.pull.old_node import PASSWORD, old_node
from tests.sources.ssh.server import running_server
from tests.sources.ssh.watching import target, until, watching


def report(hostname: str | None) -> NodeReport:
    """What a machine of this name says."""
    return NodeReport(node="whoever", host=HostFacts(hostname=hostname), gpus=())


def fleet_of(*nodes: str) -> tuple[Fleet, ReportedNames]:
    """A fleet, and the list of a source whose nodes name themselves."""
    fleet = Fleet(SteadyClock())
    names = ReportedNames(fleet.sink("pull"))
    names.expect(nodes, {node: node for node in nodes})
    return fleet, names


def shown(fleet: Fleet) -> list[str]:
    """The nodes that people see."""
    fleet.settle()
    return sorted(node.name for node in fleet_view(fleet).nodes)


def test_groups_of_the_list_are_those_of_the_name() -> None:
    """Whatever the node is listed as."""
    fleet = Fleet(SteadyClock())
    names = ReportedNames(fleet.sink("pull"))
    names.expect(["10.0.0.5"], groups={"10.0.0.5": ("rack-1",)})
    names.report("10.0.0.5", report("gpu05"))
    fleet.settle()
    assert [(node.name, node.groups) for node in fleet_view(fleet).nodes] == [("gpu05", ("rack-1",))]


def test_an_address_takes_the_name_that_is_reported() -> None:
    """First and always: people never see the address, unless the node has never said a word."""
    fleet, names = fleet_of("10.0.0.5", "10.0.0.6", "fe80--1", "gpu09")
    assert shown(fleet) == ["gpu09"]
    names.report("10.0.0.5", report("GPU05.lab.example"))
    names.report("fe80--1", report("gpu06"))
    names.trouble("10.0.0.6", Reason(code="timeout", text="no answer"))
    assert shown(fleet) == ["10.0.0.6", "gpu05", "gpu06", "gpu09"]
    names.report("10.0.0.6", report("late"))
    names.trouble("10.0.0.5", Reason(code="timeout", text="no answer"))
    names.expect(["10.0.0.5", "10.0.0.6", "fe80--1", "gpu09"])
    assert shown(fleet) == ["gpu05", "gpu06", "gpu09", "late"]
    entry = fleet.get("gpu05")
    assert entry is not None
    assert entry.report is not None
    assert entry.report.node == "gpu05"


def test_nobody_takes_the_name_of_another() -> None:
    """Neither one of the list, nor one that was taken before; and a name once taken stays."""
    fleet, names = fleet_of("10.0.0.5", "10.0.0.6", "10.0.0.7", "gpu09")
    for node, hostname in {"10.0.0.5": "gpu05", "10.0.0.6": "gpu05", "10.0.0.7": "gpu09"}.items():
        names.report(node, report(hostname))
    names.report("10.0.0.5", report("gpu06"))
    names.report("10.0.0.6", report("gpu08"))
    assert shown(fleet) == ["10.0.0.6", "10.0.0.7", "gpu05", "gpu09"]


@pytest.mark.parametrize("hostname", [None, ""])
def test_without_a_reported_name_the_address_stays(hostname: str | None) -> None:
    """Until it says one."""
    fleet, names = fleet_of("10.0.0.5")
    names.report("10.0.0.5", report(hostname))
    assert shown(fleet) == ["10.0.0.5"]


def test_names_of_the_list_are_never_changed() -> None:
    """Whatever their machines call themselves."""
    fleet, names = fleet_of("gpu09")
    names.report("gpu09", report("evil"))
    assert shown(fleet) == ["gpu09"]


async def test_over_ssh(tmp_path: Path) -> None:
    """By the option of the table."""
    with running_server(tmp_path) as server:
        async with watching(server.options(names="reported"), target("127.0.0.1")) as recorder:
            await until(lambda: bool(recorder.reports))
    (name,) = recorder.reports
    assert name != "127.0.0.1"
    assert recorder.expected == {name}


async def test_by_pull(tmp_path: Path) -> None:
    """Old nodes too say what they are called."""
    (tmp_path / "password").write_text(PASSWORD)
    options = PullOptions(
        protocol="gpu-cluster-monitor", password_file=str(tmp_path / "password"), names="reported"
    )
    sink = RecordingSink()
    with old_node() as node:
        async with running(pull(at("127.0.0.1", node.port), options=options), sink):
            await sink.reports_of("old-box", 1)
    assert sink.expected[-1] == {"old-box"}
