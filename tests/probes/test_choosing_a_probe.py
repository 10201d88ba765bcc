import subprocess
import sys
from pathlib import Path

import pytest

from gpuboard.model.errors import ProbeFailed, ProbeUnavailable, UsageError
from gpuboard.model.problems import problem
from gpuboard.model.report import GpuReading
from gpuboard.probes.base import Devices, Touch, index_at, place, touch_all
from gpuboard.probes.presence import Signs
from gpuboard.probes.registry import NVIDIA, ONLY_BY_NAME, PROBES, FirstThatAnswers, Vendor, choose, load


class Scripted:
    """A probe that does what it is told."""

    def __init__(self, name: str, answer: Devices | Exception) -> None:
        self.name = name
        self.answer = answer
        self.reads = 0

    def read(self, touch: Touch = touch_all) -> Devices:
        """Return or raise."""
        touch(None)
        self.reads += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def close(self) -> None:
        """Nothing to give back."""


ONE = Devices(gpus=(GpuReading(uuid="GPU-1", index=0),))
ABSENT = ProbeUnavailable(problem("no-driver"))


def first_of(*probes: Scripted) -> FirstThatAnswers:
    """The choice among these."""
    by_name = {probe.name: probe for probe in probes}
    return FirstThatAnswers(list(by_name), load=by_name.__getitem__)


def test_the_first_probe_that_answers_is_kept() -> None:
    """And the others are not asked again."""
    absent, good, other = Scripted("a", ABSENT), Scripted("b", ONE), Scripted("c", ONE)
    chosen = first_of(absent, good, other)
    assert [chosen.read(), chosen.read()] == [ONE, ONE]
    assert (chosen.name, absent.reads, good.reads, other.reads) == ("b", 1, 2, 0)


def test_where_no_probe_works_the_best_ones_reason_counts() -> None:
    """Nobody wants to hear that the last resort is missing too."""
    chosen = first_of(Scripted("a", ABSENT), Scripted("b", ProbeUnavailable(problem("no-devices"))))
    with pytest.raises(ProbeUnavailable, match="no NVIDIA driver"):
        chosen.read()


def test_a_probe_that_fails_is_not_passed_over() -> None:
    """What it needs is here; that it misbehaves is the news."""
    other = Scripted("b", ONE)
    with pytest.raises(ProbeFailed):
        first_of(Scripted("a", ProbeFailed(problem("driver-mismatch"))), other).read()
    assert other.reads == 0


def test_a_probe_may_be_forced() -> None:
    """Also the one that is never chosen by itself."""
    (make,) = choose("simulated").values()
    assert make().name == "simulated"
    assert PROBES.keys() > ONLY_BY_NAME.keys()


@pytest.mark.parametrize("name", PROBES)
def test_every_probe_of_the_table_can_be_made(name: str) -> None:
    """The table names modules that are imported late, so a wrong one would go unnoticed."""
    assert load(name).name == name


def test_an_unknown_probe_is_refused_with_the_known_ones() -> None:
    """So that one can choose."""
    with pytest.raises(UsageError, match="nvml, nvidia-smi, simulated"):
        choose("magic")


def test_choosing_loads_no_driver_and_no_binding() -> None:
    """Commands that read no device must not pay for it."""
    program = "import sys, gpuboard.probes.registry as r; r.choose(); sys.exit('pynvml' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_place_is_no_uuid() -> None:
    """The two ways to name a device can be told apart."""
    assert (index_at(place(12)), index_at("GPU-12"), index_at("index:x")) == (12, None, None)


def machine(root: Path, *pci: tuple[str, str]) -> Path:
    """A machine with these cards: class and vendor."""
    for number, (kind, vendor) in enumerate(pci):
        device = root / "sys/bus/pci/devices" / f"0000:{number:02x}:00.0"
        device.mkdir(parents=True)
        (device / "class").write_text(f"{kind}\n")
        (device / "vendor").write_text(f"{vendor}\n")
    return root


TWO = {"nvidia": NVIDIA, "acme": Vendor(Signs(pci="0xacce", files=("dev/acme",)), {"acme-tool": "a:b"})}


@pytest.mark.parametrize(
    ("cards", "asked"),
    [
        ([("0x030200", "0x10de"), ("0x030000", "0xacce")], ["nvidia", "acme"]),
        ([("0x030000", "0xacce"), ("0x030200", "0x10de")], ["nvidia", "acme"]),
        ([("0x030200", "0x10de")], ["nvidia"]),
        ([("0x030000", "0xacce")], ["acme"]),
        # Its network card is no GPU.
        ([("0x030200", "0x10de"), ("0x020000", "0xacce")], ["nvidia"]),
        # Somebody must say what is missing.
        ([], ["nvidia"]),
    ],
)
def test_only_vendors_whose_devices_are_here_are_asked(
    tmp_path: Path, cards: list[tuple[str, str]], asked: list[str]
) -> None:
    """So that nobody hears of a driver that this machine does not need; the order is always the same."""
    assert list(choose(vendors=TWO, root=machine(tmp_path, *cards))) == asked


@pytest.mark.parametrize("sign", ["dev/nvidiactl", "dev/nvmap", "usr/lib/wsl/lib/libnvidia-ml.so.1"])
def test_a_device_off_the_bus_is_recognised_by_what_its_driver_leaves(tmp_path: Path, sign: str) -> None:
    """A container, a Jetson, and Linux under Windows."""
    root = machine(tmp_path, ("0x030000", "0xacce"))
    (root / sign).parent.mkdir(parents=True)
    (root / sign).touch()
    assert list(choose(vendors=TWO, root=root)) == ["nvidia", "acme"]


def test_simulated_machines_of_different_names_have_different_gpus() -> None:
    """Several agents that simulate on one machine are several nodes."""

    def uuids(node: str | None) -> set[str]:
        (make,) = choose("simulated", node=node).values()
        return {gpu.uuid for gpu in make().read().gpus}

    assert uuids("gpu01") == uuids("gpu01")
    assert not uuids("gpu01") & uuids("gpu02")
    assert uuids(None)
