"""What every probe promises, asked of each of them on a machine that can lose a card or its driver."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest

from gpuboard.model.errors import ProbeFailed, ProbeUnavailable
from gpuboard.model.names import in_order
from gpuboard.model.problems import problem
from gpuboard.model.report import NodeReport
from gpuboard.probes.base import Devices, Probe, index_at
from gpuboard.probes.fit import fit
from gpuboard.probes.inventory import blank
from gpuboard.probes.nvidia_smi.probe import NvidiaSmiProbe
from gpuboard.probes.nvml import NvmlProbe
from gpuboard.probes.registry import PROBES, FirstThatAnswers
from gpuboard.probes.simulated import SimulatedProbe
from gpuboard.wire.report import decode_report, encode_report
from tests.driver import StandInDriver
from tests.fakes import nvidia_smi, nvml
from tests.fakes.second_vendor import VENDOR, AcmeMachine, card


class Machine(Protocol):
    """A machine with cards of one vendor, and what can happen to it."""

    vendor: str

    def probe(self) -> Probe:
        """A new session."""

    def be_whole(self) -> None:
        """Everything is well; so it begins."""

    def lose_a_card(self) -> None:
        """The last card falls off the bus."""

    def lose_the_driver(self) -> None:
        """Nothing of it is here."""

    def break_the_driver(self) -> None:
        """It is here, and answers with errors alone."""


class Nvidia:
    """Eight cards behind a stand-in of NVIDIA's library or command."""

    vendor = "nvidia"

    def __init__(self, show: Callable[[nvml.Scenario], object], make: Callable[[], Probe]) -> None:
        self._show = show
        self.probe = make

    def be_whole(self) -> None:
        """Eight cards."""
        self._show(nvml.eight_busy_datacenter())

    def lose_a_card(self) -> None:
        """Seven of eight."""
        self._show(nvml.eight_busy_datacenter().without_gpu(7))

    def lose_the_driver(self) -> None:
        """No kernel module."""
        self._show(nvml.no_driver())

    def break_the_driver(self) -> None:
        """Its two halves do not fit."""
        self._show(nvml.mismatch())


class Acme(AcmeMachine):
    """Cards of another vendor."""

    vendor = VENDOR

    def be_whole(self) -> None:
        """Two cards."""
        self.gpus, self.error = [card(0), card(1)], None

    def lose_a_card(self) -> None:
        """One of two."""
        self.gpus.pop()

    def lose_the_driver(self) -> None:
        """As it says so."""
        self.error = ProbeUnavailable(problem("no-driver"))

    def break_the_driver(self) -> None:
        """The same."""
        self.error = ProbeFailed(problem("driver-error"))


class Simulated:
    """Invented cards, which nothing happens to but what was invented with them."""

    vendor = "nvidia"

    def probe(self) -> Probe:
        """At a moment that stands still."""
        return SimulatedProbe(clock=lambda: 1_800_000_000.0)

    def be_whole(self) -> None:
        """It always is."""


def of_nvml(request: pytest.FixtureRequest, folder: Path) -> Nvidia:
    """NVIDIA's library."""
    driver: StandInDriver = request.getfixturevalue("driver")
    (folder / "dev").mkdir()
    (folder / "dev/nvidiactl").touch()
    return Nvidia(driver.show, lambda: NvmlProbe(root=folder))


def of_nvidia_smi(request: pytest.FixtureRequest, folder: Path) -> Nvidia:
    """NVIDIA's command."""
    patch: pytest.MonkeyPatch = request.getfixturevalue("monkeypatch")
    for name, value in nvidia_smi.environment(folder / "scenario").items():
        patch.setenv(name, value)
    return Nvidia(lambda machine: machine.write(folder / "scenario"), NvidiaSmiProbe)


def of_the_first_that_answers(request: pytest.FixtureRequest, folder: Path) -> Nvidia:
    """Whichever of a vendor's works."""
    machine = of_nvml(request, folder)
    probes: dict[str, Callable[[], Probe]] = {
        "nvml": machine.probe,
        "nvidia-smi": lambda: NvidiaSmiProbe(command="no-such-command"),
    }
    return Nvidia(
        request.getfixturevalue("driver").show,
        lambda: FirstThatAnswers(tuple(probes), load=lambda name: probes[name]()),
    )


Made = Callable[[pytest.FixtureRequest, Path], Machine]
# A probe of the table that is not here fails below.
KINDS: dict[str, Made] = {
    "nvml": of_nvml,
    "nvidia-smi": of_nvidia_smi,
    "automatic": of_the_first_that_answers,
    "acme-tool": lambda _request, _folder: Acme(),
}
INVENTED = {"simulated": Simulated}


@pytest.fixture(params=list(KINDS))
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Machine:
    """The machine of each probe in turn."""
    made = KINDS[request.param](request, tmp_path)
    made.be_whole()
    return made


@pytest.fixture
def probe(machine: Machine) -> Iterator[Probe]:
    """Its probe."""
    probe = machine.probe()
    yield probe
    probe.close()


@pytest.fixture(params=[*KINDS, *INVENTED])
def any_machine(request: pytest.FixtureRequest, tmp_path: Path) -> "Machine | Simulated":
    """The same, and machines that nothing can happen to."""
    name = request.param
    made = INVENTED[name]() if name in INVENTED else KINDS[name](request, tmp_path)
    made.be_whole()
    return made


@pytest.fixture
def any_probe(any_machine: "Machine | Simulated") -> Iterator[Probe]:
    """Its probe."""
    probe = any_machine.probe()
    yield probe
    probe.close()


class Touched:
    """Hears what is about to be asked, and may leave a device out."""

    def __init__(self, *, leave_out: str | None = None) -> None:
        self.names: list[str | None] = []
        self._leave_out = leave_out

    def __call__(self, gpu_uuid: str | None, /) -> bool:
        """Note it."""
        self.names.append(gpu_uuid)
        return gpu_uuid is None or gpu_uuid != self._leave_out


def uuids(devices: Devices) -> list[str]:
    """Which devices there are."""
    return [gpu.uuid for gpu in devices.gpus]


def test_every_probe_of_the_table_is_asked_here() -> None:
    """A new one must keep the same promises."""
    assert PROBES.keys() <= KINDS.keys() | INVENTED.keys()


def test_every_probe_reads_each_device_once_in_its_drivers_order(
    any_machine: "Machine | Simulated", any_probe: Probe
) -> None:
    """And says whose devices they are: beside another vendor's they are known by it."""
    devices = any_probe.read()
    assert devices.gpus == in_order(devices.gpus)
    assert len(set(uuids(devices))) == len(devices.gpus) > 1
    assert {gpu.vendor for gpu in devices.gpus} == {any_machine.vendor}
    assert [gpu.index for gpu in devices.gpus] == list(range(len(devices.gpus)))
    assert devices.driver_version


def test_what_every_probe_reads_can_travel(any_probe: Probe) -> None:
    """A board takes it as it is, and nothing had to be left out."""
    devices = any_probe.read()
    report = NodeReport(node="gpu01", gpus=devices.gpus, problems=devices.problems)
    assert decode_report(encode_report(fit(report))) == report


def test_every_probe_says_what_it_is_about_to_ask(any_probe: Probe) -> None:
    """The driver as a whole first, unless nothing is asked of one; then devices by their names or places."""
    touched = Touched()
    known = {None, *uuids(any_probe.read(touched))}
    assert touched.names
    assert all(name in known or index_at(name or "") is not None for name in touched.names)


def test_a_device_that_is_to_be_left_out_is_not_asked_and_not_missed(any_probe: Probe) -> None:
    """By a probe that names devices; one that asks for all at once names none."""
    before = any_probe.read()
    first = before.gpus[0].uuid
    touched = Touched(leave_out=first)
    devices = any_probe.read(touched)
    left_out = {first} if first in touched.names else set()
    assert uuids(devices) == [uuid for uuid in uuids(before) if uuid not in left_out]
    assert first not in {found.gpu_uuid for found in devices.problems}


def test_every_probe_reads_again_after_it_was_closed(any_probe: Probe) -> None:
    """Also twice."""
    before = any_probe.read()
    any_probe.close()
    any_probe.close()
    assert uuids(any_probe.read()) == uuids(before)


def test_every_probe_can_be_read_from_another_thread(any_probe: Probe) -> None:
    """Each round has one of its own."""
    before = any_probe.read()
    found: list[Devices] = []
    thread = threading.Thread(target=lambda: found.append(any_probe.read()))
    thread.start()
    thread.join()
    assert uuids(found[0]) == uuids(before)


def test_a_device_that_was_there_before_is_missed(machine: Machine, probe: Probe) -> None:
    """It stays in the list, says nothing, and has a problem; the others are read, and it may come back."""
    before = probe.read()
    machine.lose_a_card()
    after = probe.read()
    lost = before.gpus[-1]
    assert uuids(after) == uuids(before)
    assert after.gpus[-1] == blank(lost)
    assert ("gpu-lost", lost.uuid) in [(found.kind, found.gpu_uuid) for found in after.problems]
    assert all(gpu.utilization_percent is not None for gpu in after.gpus[:-1])
    machine.be_whole()
    probe.close()
    assert uuids(probe.read()) == uuids(before)


def test_without_its_driver_a_probe_is_unavailable(machine: Machine, probe: Probe) -> None:
    """The vendor's next one may try; when the driver comes, so do the devices."""
    machine.lose_the_driver()
    with pytest.raises(ProbeUnavailable) as caught:
        probe.read()
    assert caught.value.problem.remedy
    machine.be_whole()
    assert probe.read().gpus


def test_a_driver_that_misbehaves_is_a_failure(machine: Machine, probe: Probe) -> None:
    """No other probe of its vendor would fare better; the next round may."""
    machine.break_the_driver()
    with pytest.raises(ProbeFailed) as caught:
        probe.read()
    assert caught.value.problem.remedy
    machine.be_whole()
    assert probe.read().gpus
