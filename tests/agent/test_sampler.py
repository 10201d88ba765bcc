"""Reports from the whole way: sampler, real NVML binding, stand-in driver, real processes."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuboard.agent.sampler import Sampler
from gpuboard.model.report import GpuReading, NodeReport
from gpuboard.probes.nvml import NvmlProbe
from gpuboard.wire.report import decode_report, encode_report
from tests.clock import Clock
from tests.driver import StandInDriver
from tests.fakes import nvml
from tests.started import eventually, started

DEADLINE = 1.0


@pytest.fixture
def clock() -> Clock:
    """Real time until a test moves it on."""
    return Ahead()


class Ahead(Clock):
    """A clock that goes on by itself and can be put forward."""

    def __init__(self) -> None:
        super().__init__(0.0)

    def __call__(self) -> float:
        """Return the real time, and what was added to it."""
        return time.monotonic() + self.now


@pytest.fixture
def sampler(driver: StandInDriver, tmp_path: Path, clock: Clock) -> Iterator[Sampler]:
    """A sampler on the stand-in driver."""
    driver.show(nvml.eight_busy_datacenter())
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/nvidiactl").touch()
    sampler = Sampler(
        {"nvidia": lambda: NvmlProbe(root=tmp_path, clock=clock)},
        node="vision-01",
        interval_seconds=5,
        deadline_seconds=DEADLINE,
        clock=clock,
    )
    yield sampler
    driver.show(nvml.zero_gpus())
    eventually(lambda: sampler.drivers[0].threads == 0)
    sampler.close()


def sample(sampler: Sampler) -> NodeReport:
    """One report, such that a board takes it."""
    report = sampler.sample()
    assert decode_report(encode_report(report)) == report
    return report


def kinds(report: NodeReport) -> list[tuple[str, str | None]]:
    """What is wrong, and with which GPU."""
    return [(problem.kind, problem.gpu_uuid) for problem in report.problems]


def sample_until(sampler: Sampler, *expected: tuple[str, str | None]) -> NodeReport:
    """The first report with just these problems; a busy machine may need a round more to be sure."""
    for _ in range(20):
        report = sample(sampler)
        if kinds(report) == list(expected):
            return report
    pytest.fail(f"the problems stay {kinds(report)}")


def live(report: NodeReport) -> list[int]:
    """The indexes of the GPUs that said something."""
    return [gpu.index for gpu in report.gpus or () if gpu.utilization_percent is not None]


def is_blank(gpu: GpuReading) -> bool:
    """Whether a GPU has kept what it is and said nothing."""
    said = (gpu.utilization_percent, gpu.memory_used_bytes, gpu.temperature_celsius, gpu.processes)
    return said == (None,) * 4 and gpu.model is not None and gpu.memory_total_bytes is not None


def test_a_report_has_all_that_a_node_can_say(sampler: Sampler) -> None:
    """Host, driver, GPUs and the numbers by which a board orders reports."""
    first, second = sample(sampler), sample(sampler)
    assert (first.node, first.probe, first.interval_seconds, first.problems) == ("vision-01", "nvml", 5, ())
    assert first.host is not None
    assert (first.host.driver_version, first.host.cuda_version) == ("535.104.05", "12.2")
    assert first.taken_at == pytest.approx(time.time(), abs=10)
    assert first.boot_id == second.boot_id
    assert (first.sequence or 0) < (second.sequence or 0)
    assert live(first) == list(range(8))


def test_processes_get_their_owners(driver: StandInDriver, sampler: Sampler) -> None:
    """The driver names pids; the report names people, and calls the dead dead."""
    with started() as sleeper:
        eventually(lambda: Path(f"/proc/{sleeper.pid}/comm").read_text() == "sleep\n")
        driver.show(nvml.eight_busy_datacenter([sleeper.pid, 4_194_000]))
        report = sample(sampler)
    assert report.gpus is not None
    alive, dead = report.gpus[0].processes or ()
    assert (alive.uid, alive.program, alive.state) == (os.getuid(), "sleep", "sleeping")
    assert (dead.pid, dead.state, dead.program) == (4_194_000, "gone", None)


def test_a_hanging_gpu_is_broken_and_the_others_stay_live(driver: StandInDriver, sampler: Sampler) -> None:
    """It keeps its identity and its problem keeps its time; once it answers, it is read again."""
    machine = nvml.eight_busy_datacenter()
    stuck = machine.gpus[3].uuid
    sample(sampler)
    driver.show(nvml.one_gpu_hangs(3))
    first, later = sample_until(sampler, ("driver-hung", stuck)), sample(sampler)
    for report in (first, later):
        assert kinds(report) == [("driver-hung", stuck)]
        assert live(report) == [0, 1, 2, 4, 5, 6, 7]
        assert is_blank((report.gpus or ())[3])
    assert first.problems[0].since == later.problems[0].since == pytest.approx(time.time(), abs=10)
    driver.show(machine)
    eventually(lambda: sampler.drivers[0].threads == 0)
    report = sample(sampler)
    assert (live(report), report.problems) == (list(range(8)), ())


def test_a_gpu_that_hung_before_we_came_has_a_made_up_name(driver: StandInDriver, sampler: Sampler) -> None:
    """A first look at a machine in trouble shows all but the one in trouble."""
    driver.show(nvml.one_gpu_hangs(3))
    report = sample_until(sampler, ("driver-hung", "vision-01:3"))
    assert live(report) == [0, 1, 2, 4, 5, 6, 7]
    assert (report.gpus or ())[3].uuid_is_synthetic


def test_a_driver_that_hangs_leaves_the_inventory(driver: StandInDriver, sampler: Sampler) -> None:
    """Eight GPUs of which nothing is known, and one problem of the whole node."""
    sample(sampler)
    driver.show(nvml.everything_hangs())
    first, later = sample_until(sampler, ("driver-hung", None)), sample(sampler)
    for report in (first, later):
        assert kinds(report) == [("driver-hung", None)]
        assert [is_blank(gpu) for gpu in report.gpus or ()] == [True] * 8
    assert first.problems[0].since == later.problems[0].since
    driver.show(nvml.eight_busy_datacenter())
    eventually(lambda: sampler.drivers[0].threads == 0)
    assert live(sample(sampler)) == list(range(8))


def test_two_hanging_gpus_are_a_hanging_driver(driver: StandInDriver, sampler: Sampler) -> None:
    """There is no third thread to find out more."""
    sample(sampler)
    rules = nvml.Rules(hangs=("*",))
    driver.show(nvml.one_gpu_hangs(3).with_gpu(6, rules=rules))
    sample_until(sampler, ("driver-hung", None))
    assert sampler.drivers[0].threads == 2
    assert kinds(sample(sampler)) == [("driver-hung", None)]
    assert sampler.drivers[0].threads == 2


def test_without_a_driver_the_gpus_are_unknown(driver: StandInDriver, sampler: Sampler) -> None:
    """Not "none": nobody could look."""
    driver.show(nvml.no_driver())
    report = sample(sampler)
    assert (report.gpus, kinds(report)) == (None, [("no-driver", None)])
    assert report.problems[0].since == pytest.approx(time.time(), abs=10)


def test_a_driver_that_breaks_leaves_the_inventory(
    driver: StandInDriver, sampler: Sampler, clock: Clock
) -> None:
    """It is asked again for ever, less and less often, and the problem keeps its beginning."""
    sample(sampler)
    broken = nvml.Rules(errors={"nvmlDeviceGetCount": 18})
    driver.show(nvml.eight_busy_datacenter().with_rules(broken))
    first = sample(sampler)
    assert kinds(first) == [("driver-mismatch", None)]
    assert [is_blank(gpu) for gpu in first.gpus or ()] == [True] * 8
    driver.show(nvml.eight_busy_datacenter())
    assert kinds(sample(sampler)) == [("driver-mismatch", None)]
    clock.now += 5
    assert (live(sample(sampler)), kinds(sample(sampler))) == (list(range(8)), [])


def test_the_pauses_grow_to_a_minute_and_no_further(
    driver: StandInDriver, sampler: Sampler, clock: Clock
) -> None:
    """A broken driver is not hammered, and a repaired one is seen within a minute."""
    driver.show(nvml.mismatch())
    pauses = []
    for _ in range(7):
        sample(sampler)
        pauses.append(sampler.drivers[0].pause_seconds)
        clock.now += sampler.drivers[0].pause_seconds
    assert pauses == [5, 10, 20, 40, 60, 60, 60]


def test_a_lost_gpu_is_remembered_by_the_next_session_too(driver: StandInDriver, sampler: Sampler) -> None:
    """After a hang a new session reads on, which has never seen the GPU that was lost before."""
    machine = nvml.eight_busy_datacenter()
    sample(sampler)
    driver.show(machine.without_gpu(5))
    assert kinds(sample(sampler)) == [("gpu-lost", machine.gpus[5].uuid), ("gpus-missing", None)]
    sampler.close()
    report = sample(sampler)
    assert ("gpu-lost", machine.gpus[5].uuid) in kinds(report)
    assert len(report.gpus or ()) == 8


def test_the_instances_of_a_hanging_card_hang_with_it(driver: StandInDriver, sampler: Sampler) -> None:
    """They stay in the list, each with the problem."""
    machine = driver.show(nvml.mig_a100())
    before = sample(sampler)
    driver.show(machine.with_gpu(0, rules=nvml.Rules(hangs=("*",))))
    hung = [("driver-hung", gpu.uuid) for gpu in (before.gpus or ())[:5]]
    after = sample_until(sampler, *hung)
    assert [gpu.uuid for gpu in after.gpus or ()] == [gpu.uuid for gpu in before.gpus or ()]


def test_a_slow_driver_is_said_to_be_slow(driver: StandInDriver, sampler: Sampler) -> None:
    """Without persistence mode each call may take seconds; the remedy is one command."""
    patient = Sampler({"nvidia": NvmlProbe}, node="vision-02", interval_seconds=5, deadline_seconds=10)
    sampler.close()
    rules = nvml.Rules(delays={"nvmlDeviceGetPowerUsage": 1100})
    driver.show(nvml.eight_busy_datacenter().with_gpu(0, rules=rules))
    report = patient.sample()
    assert kinds(report) == [("slow-driver", None)]
    assert "persistence mode" in report.problems[0].remedy
    patient.close()


def test_a_driver_that_is_slow_but_gets_on_is_not_hung(driver: StandInDriver, sampler: Sampler) -> None:
    """What was read before goes out with its age until the new reading is there; nothing is called broken."""
    fresh = sample(sampler)
    # Four GPUs of a third of a second each take longer than one read may.
    rules = nvml.Rules(delays={"nvmlDeviceGetPowerUsage": 330})
    machine = nvml.eight_busy_datacenter()
    for index in range(4):
        machine = machine.with_gpu(index, rules=rules, temperature=90)
    driver.show(machine)
    meanwhile = sample(sampler)
    assert kinds(meanwhile) == [("slow-driver", None)]
    assert meanwhile.gpus == fresh.gpus
    assert meanwhile.age_seconds >= 0.9 * DEADLINE
    assert (meanwhile.sequence or 0) > (fresh.sequence or 0)
    done = sample(sampler)
    assert (done.age_seconds, (done.gpus or ())[0].temperature_celsius) == (0, 90)
    assert sampler.drivers[0].threads == 0


def test_a_first_look_at_a_slow_driver_knows_nothing_yet(driver: StandInDriver, sampler: Sampler) -> None:
    """The list of GPUs comes with the next report."""
    machine = nvml.eight_busy_datacenter()
    for index in range(4):
        machine = machine.with_gpu(index, rules=nvml.Rules(delays={"nvmlDeviceGetPowerUsage": 330}))
    driver.show(machine)
    report = sample(sampler)
    assert (report.gpus, kinds(report)) == (None, [("slow-driver", None)])
    assert live(sample(sampler)) == list(range(8))
