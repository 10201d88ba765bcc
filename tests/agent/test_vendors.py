"""A node with GPUs of two vendors: NVIDIA's through the stand-in driver, and those of another."""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from gpuboard.agent.sampler import Sampler
from gpuboard.assembly.agent import Agent, AgentOptions, this_machine
from gpuboard.fleet.clock import SteadyClock
from gpuboard.fleet.state import Fleet
from gpuboard.fleet.views import fleet_view
from gpuboard.model.errors import ProbeFailed, ProbeUnavailable
from gpuboard.model.problems import problem
from gpuboard.model.report import NodeReport
from gpuboard.model.verdict import Claim
from gpuboard.probes.nvml import NvmlProbe
from gpuboard.probes.presence import Signs
from gpuboard.probes.registry import NVIDIA, VENDORS, Vendor
from gpuboard.wire.report import decode_report, encode_report
from tests.driver import StandInDriver
from tests.fakes import nvml, second_vendor
from tests.fakes.second_vendor import VENDOR, AcmeMachine
from tests.started import eventually

DEADLINE = 0.5
INTERVAL = 1.0
EIGHT = list(range(8))


@pytest.fixture
def acme() -> Iterator[AcmeMachine]:
    """Two cards of another vendor."""
    machine = AcmeMachine()
    yield machine
    machine.release()


@pytest.fixture
def sampler(driver: StandInDriver, tmp_path: Path, acme: AcmeMachine) -> Iterator[Sampler]:
    """A sampler on a machine that has eight NVIDIA cards too."""
    driver.show(nvml.eight_busy_datacenter())
    sampler = Sampler(
        {"nvidia": lambda: NvmlProbe(root=tmp_path), VENDOR: acme.probe},
        node="vision-01",
        interval_seconds=INTERVAL,
        deadline_seconds=DEADLINE,
    )
    yield sampler
    acme.release()
    driver.show(nvml.zero_gpus())
    eventually(lambda: not any(one.threads for one in sampler.drivers))
    sampler.close()


def live(report: NodeReport) -> list[int]:
    """The numbers of the GPUs that said something."""
    return [gpu.index for gpu in report.gpus or () if gpu.utilization_percent is not None]


def kinds(report: NodeReport) -> list[tuple[str, str | None]]:
    """What is wrong, and with which GPU."""
    return [(problem.kind, problem.gpu_uuid) for problem in report.problems]


def sample_until(sampler: Sampler, *expected: tuple[str, str | None]) -> NodeReport:
    """The first report with just these problems; a busy machine may need some more to be sure."""
    for _ in range(20):
        report = sampler.sample()
        assert decode_report(encode_report(report)) == report
        if kinds(report) == list(expected):
            return report
    pytest.fail(f"the problems stay {kinds(report)}")


def words(report: NodeReport, claims: Mapping[tuple[str, int], Claim] | None = None) -> dict[str, str]:
    """The verdict of each GPU, by its label."""
    fleet = Fleet(SteadyClock())
    fleet.set_claims("booking", claims or {})
    fleet.sink("local").report(report.node, report)
    fleet.settle()
    (node,) = fleet_view(fleet).nodes
    return {gpu.label: gpu.verdict.word for gpu in node.gpus}


def test_the_gpus_of_both_vendors_are_in_one_report(sampler: Sampler) -> None:
    """Each under a number of its own, whose last three digits are its driver's."""
    report = sample_until(sampler)
    assert live(report) == [*EIGHT, 1000, 1001]
    assert [gpu.vendor for gpu in report.gpus or ()] == ["nvidia"] * 8 + [VENDOR] * 2
    assert report.probe == "nvml, acme-tool"
    assert report.host is not None
    assert (report.host.driver_version, report.host.cuda_version) == ("nvidia 535.104.05, acme 7.1", "12.2")


def test_a_number_is_booked_for_one_card(sampler: Sampler) -> None:
    """Both drivers have a card 0 and a card 1; a booking means one of them."""
    booked = {("vision-01", 1001): Claim(who="ana", until=time.time() + 3600)}
    assert words(sample_until(sampler), booked) == dict.fromkeys(map(str, EIGHT), "busy") | {
        "1000": "free",
        "1001": "booked",
    }


def test_a_vendor_whose_driver_hangs_hides_no_other_gpu(sampler: Sampler, acme: AcmeMachine) -> None:
    """Its own GPUs are broken; the others are as they were, and so are all numbers."""
    sample_until(sampler)
    acme.hang()
    report = sample_until(
        sampler, ("vendor-unreadable", None), ("driver-hung", "acme-0"), ("driver-hung", "acme-1")
    )
    assert live(report) == EIGHT
    assert [gpu.index for gpu in report.gpus or ()] == [*EIGHT, 1000, 1001]
    assert report.problems[0].detail == "acme: the driver does not answer"
    assert words(report) == dict.fromkeys(map(str, EIGHT), "busy") | {"1000": "broken", "1001": "broken"}
    acme.release()
    eventually(lambda: sampler.drivers[1].threads == 0)
    assert live(sample_until(sampler)) == [*EIGHT, 1000, 1001]


def test_nvidias_driver_hides_no_other_gpu_either(driver: StandInDriver, sampler: Sampler) -> None:
    """The same the other way round: no number moves, and nobody waits."""
    sample_until(sampler)
    driver.show(nvml.everything_hangs())
    cards = [gpu.uuid for gpu in nvml.eight_busy_datacenter().gpus]
    report = sample_until(sampler, ("vendor-unreadable", None), *(("driver-hung", uuid) for uuid in cards))
    assert live(report) == [1000, 1001]
    assert words(report) == dict.fromkeys(map(str, EIGHT), "broken") | {"1000": "free", "1001": "free"}


@pytest.mark.parametrize(
    "error", [ProbeFailed(problem("driver-mismatch")), ProbeUnavailable(problem("no-driver"))]
)
def test_a_driver_that_never_worked_is_a_problem_of_the_node(
    sampler: Sampler, acme: AcmeMachine, error: ProbeFailed | ProbeUnavailable
) -> None:
    """Nothing is known of its GPUs; it breaks none of the others'."""
    acme.error = error
    report = sample_until(sampler, ("vendor-unreadable", None))
    assert [gpu.index for gpu in report.gpus or ()] == live(report) == EIGHT
    assert report.problems[0].detail == f"acme: {error.problem.text}"
    assert set(words(report).values()) == {"busy"}


def test_cards_without_names_are_told_apart(
    driver: StandInDriver, sampler: Sampler, acme: AcmeMachine
) -> None:
    """A name made of node and number is made of the number that people see."""
    driver.show(nvml.one_gpu_hangs(1))
    acme.lose_names()
    report = sample_until(sampler, ("driver-hung", "vision-01:1"))
    assert [gpu.uuid for gpu in report.gpus or () if gpu.uuid_is_synthetic] == [
        "vision-01:1",
        "vision-01:1000",
        "vision-01:1001",
    ]


def test_a_lost_card_is_said_to_be_its_vendors(sampler: Sampler, acme: AcmeMachine) -> None:
    """The number is its own driver's."""
    sample_until(sampler)
    acme.gpus.pop()
    report = sample_until(sampler, ("gpu-lost", "acme-1"))
    told = report.problems[0]
    assert (told.place, told.detail) == ("acme GPU 1 (Acme Accelerator, acme-1)", None)


def test_a_slow_driver_is_told_again_for_a_while_and_makes_no_other_gpu_late(
    sampler: Sampler, acme: AcmeMachine
) -> None:
    """A report has one age; what is too old to be told in it is unknown."""
    sample_until(sampler)
    acme.dawdle()
    again = sample_until(sampler, ("slow-driver", None))
    assert (live(again), again.age_seconds > 0) == ([*EIGHT, 1000, 1001], True)
    while live(unknown := sampler.sample()) != EIGHT:
        assert unknown.age_seconds <= 2 * INTERVAL
    assert kinds(unknown) == [("slow-driver", None)]
    assert unknown.age_seconds <= INTERVAL
    acme.release()
    assert live(sample_until(sampler)) == [*EIGHT, 1000, 1001]


@pytest.fixture
def two_vendors(
    driver: StandInDriver, acme: AcmeMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This machine has devices of both."""
    driver.show(nvml.eight_busy_datacenter())
    (tmp_path / "bus").touch()
    here = Signs(pci="none", files=(str(tmp_path / "bus").lstrip("/"),))
    monkeypatch.setitem(VENDORS, "nvidia", NVIDIA._replace(signs=here))
    probes = {"acme-tool": f"{second_vendor.__name__}:AcmeProbe"}
    monkeypatch.setitem(VENDORS, VENDOR, Vendor(here, probes))
    monkeypatch.setattr(second_vendor, "HERE", acme)


@pytest.mark.usefixtures("two_vendors")
def test_one_look_at_this_machine_shows_both() -> None:
    """`gpuboard status` and `free`."""
    assert live(this_machine(node="here")()) == [*EIGHT, 1000, 1001]


@pytest.mark.usefixtures("two_vendors")
def test_every_agent_tells_of_both(tmp_path: Path) -> None:
    """Whatever it does with its reports."""
    (tmp_path / "drops").mkdir()
    report = Agent(AgentOptions(node="here", drop=tmp_path / "drops")).run_once()
    assert live(report) == [*EIGHT, 1000, 1001]
