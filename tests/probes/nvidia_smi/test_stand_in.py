"""The probe on the stand-in command: three generations of drivers, one scenario."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest

from gpuboard.model.errors import ProbeError
from gpuboard.probes.nvidia_smi.probe import NvidiaSmiProbe
from gpuboard.probes.nvidia_smi.run import CommandRunner
from tests.fakes import nvidia_smi, nvml

Style = Literal["old", "newest"] | None
STYLES: tuple[Style, ...] = ("old", None, "newest")


@pytest.fixture(params=STYLES, ids=["2016", "2023", "2025"])
def scenario(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the machine is described that the command on the path tells of."""
    path = tmp_path / "scenario"
    for name, value in nvidia_smi.environment(path, style=request.param).items():
        monkeypatch.setenv(name, value)
    return path


def test_every_generation_tells_the_same_figures(scenario: Path) -> None:
    """What differs is only how they write it."""
    machine = nvml.eight_busy_datacenter()
    machine.write(scenario)
    devices = NvidiaSmiProbe().read()
    assert [gpu.uuid for gpu in devices.gpus] == [gpu.uuid for gpu in machine.gpus]
    assert [gpu.utilization_percent for gpu in devices.gpus] == [gpu.utilization for gpu in machine.gpus]
    assert [[p.pid for p in gpu.processes or ()] for gpu in devices.gpus] == [
        [p.pid for p in gpu.processes] for gpu in machine.gpus
    ]
    assert devices.problems == ()


def test_one_lost_gpu_of_eight_is_told_apart_and_comes_back(scenario: Path) -> None:
    """Older drivers stop altogether, newer ones leave it out."""
    machine = nvml.eight_busy_datacenter()
    machine.write(scenario)
    probe = NvidiaSmiProbe()
    probe.read()
    nvml.one_lost_of_eight(3).write(scenario)
    devices = probe.read()
    assert [gpu.index for gpu in devices.gpus if gpu.utilization_percent is None] == [3]
    assert [(found.kind, found.gpu_uuid) for found in devices.problems] == [
        ("gpu-lost", machine.gpus[3].uuid)
    ]
    machine.write(scenario)
    assert probe.read().problems == ()


@pytest.mark.parametrize(
    ("machine", "kind"),
    [
        (nvml.mismatch, "driver-mismatch"),
        (nvml.no_driver, "no-driver"),
        (nvml.no_permission, "no-permission"),
        (nvml.everything_hangs, "driver-hung"),
    ],
)
def test_each_trouble_has_its_kind(scenario: Path, machine: Callable[[], nvml.Scenario], kind: str) -> None:
    """In the words of every generation."""
    machine().write(scenario)
    with pytest.raises(ProbeError) as caught:
        NvidiaSmiProbe(run=CommandRunner(timeout=0.2 if kind == "driver-hung" else 15.0)).read()
    assert caught.value.problem.kind == kind


def test_no_gpu_at_all_is_an_empty_list(scenario: Path) -> None:
    """The driver answers, and says none."""
    nvml.zero_gpus().write(scenario)
    devices = NvidiaSmiProbe().read()
    assert devices.gpus == ()
    assert [found.kind for found in devices.problems] == ["no-devices"]
