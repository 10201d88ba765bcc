"""Drivers that are absent, broken or come back."""

import os
import subprocess
import sys
from pathlib import Path

import pynvml
import pytest

from gpuboard.model.errors import ProbeError, ProbeFailed
from gpuboard.probes.nvml import NvmlProbe
from tests.driver import StandInDriver
from tests.fakes import nvml
from tests.parts import missing

MODULE = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  535.161.07  Release Build  (root)\nGCC 12\n"
)


def refusal(probe: NvmlProbe) -> ProbeError:
    """Why the probe cannot be read."""
    with pytest.raises(ProbeError) as caught:
        probe.read()
    assert caught.value.problem.remedy
    return caught.value


def test_a_machine_without_even_the_library_lacks_it_too(tmp_path: Path) -> None:
    """In a process of its own: this one has loaded the stand-in."""
    program = "from gpuboard.probes.nvml import NvmlProbe; NvmlProbe().read()"
    environment = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=False)
    if b"Traceback" not in done.stderr:
        missing("a machine without a driver")
    assert b"ProbeUnavailable: no NVIDIA driver is running here: the library" in done.stderr


def test_a_mismatch_names_both_versions(
    driver: StandInDriver, probe: NvmlProbe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that one sees which of the two is behind."""
    version = tmp_path / "proc/driver/nvidia/version"
    version.parent.mkdir(parents=True)
    version.write_text(MODULE)
    # The real library answers this without a session.
    monkeypatch.setattr(pynvml, "nvmlSystemGetNVMLVersion", lambda: "12.535.183.01")
    driver.show(nvml.mismatch())
    error = refusal(probe)
    assert isinstance(error, ProbeFailed)
    assert error.problem.kind == "driver-mismatch"
    assert "library 535.183.01, kernel module 535.161.07" in error.problem.text


def test_a_refusal_is_a_matter_of_permission(driver: StandInDriver, probe: NvmlProbe) -> None:
    """And has its own remedy."""
    driver.show(nvml.no_permission())
    assert refusal(probe).problem.kind == "no-permission"


def test_an_unknown_error_without_the_device_is_one_of_access(
    driver: StandInDriver, probe: NvmlProbe, tmp_path: Path
) -> None:
    """A container that lost its devices hears nothing better from NVML."""
    driver.show(nvml.Scenario(rules=nvml.Rules(errors={"nvmlInit": 999})))
    assert refusal(probe).problem.kind == "driver-error"
    (tmp_path / "dev/nvidiactl").unlink()
    problem = refusal(probe).problem
    assert (problem.kind, "/dev/nvidiactl is missing" in problem.text) == ("no-device-access", True)


def test_a_device_that_may_not_be_opened_is_one_of_access(
    driver: StandInDriver, probe: NvmlProbe, tmp_path: Path
) -> None:
    """The reason is the system's own."""
    (tmp_path / "dev/nvidiactl").unlink()
    (tmp_path / "dev/nvidiactl").mkdir()
    driver.show(nvml.Scenario(rules=nvml.Rules(errors={"nvmlInit": 999})))
    assert "/dev/nvidiactl: Is a directory" in refusal(probe).problem.text


def test_a_driver_that_comes_back_is_read_again(driver: StandInDriver, probe: NvmlProbe) -> None:
    """Whatever it was, the next round opens a new session."""
    driver.show(nvml.mismatch())
    refusal(probe)
    driver.show(nvml.eight_busy_datacenter())
    assert len(probe.read().gpus) == 8
    driver.show(nvml.eight_busy_datacenter().with_rules(nvml.Rules(errors={"nvmlDeviceGetCount": 1})))
    assert refusal(probe).problem.kind == "driver-error"
    driver.show(nvml.eight_busy_datacenter())
    assert len(probe.read().gpus) == 8


def test_a_session_that_ends_in_the_middle_fails_the_round(driver: StandInDriver, probe: NvmlProbe) -> None:
    """It is the driver that is gone, not one GPU."""
    machine = nvml.eight_busy_datacenter()
    driver.show(machine.with_gpu(4, rules=nvml.Rules(errors={"nvmlDeviceGetPowerUsage": 1})))
    refusal(probe)
    driver.show(machine)
    assert probe.read().problems == ()


def test_one_session_is_held_open(
    driver: StandInDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opening a driver anew each time is slow, and hurts."""
    driver.show(nvml.eight_busy_datacenter())
    opened = 0
    real = pynvml.nvmlInit

    def count() -> None:
        nonlocal opened
        opened += 1
        real()

    monkeypatch.setattr(pynvml, "nvmlInit", count)
    probe = NvmlProbe(root=tmp_path)
    for _ in range(3):
        probe.read()
    assert opened == 1
    probe.close()
    probe.read()
    probe.close()
    assert opened == 2


def test_a_driver_that_sees_no_gpu_says_so(probe: NvmlProbe) -> None:
    """That there are none is known, which is not the same as not knowing."""
    devices = probe.read()
    assert devices.gpus == ()
    assert [problem.kind for problem in devices.problems] == ["no-devices"]


def test_a_gpu_of_which_recovery_is_due_needs_a_reset(
    driver: StandInDriver, probe: NvmlProbe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """New drivers say what a GPU needs in a field of its own."""

    def answer(_handle: object, _fields: list[int]) -> object:
        values = (pynvml.c_nvmlFieldValue_t * 1)()
        values[0].value.uiVal = pynvml.NVML_GPU_RECOVERY_ACTION_GPU_RESET
        return values

    monkeypatch.setattr(pynvml, "nvmlDeviceGetFieldValues", answer)
    driver.show(nvml.four_consumer_cards())
    assert [problem.kind for problem in probe.read().problems] == ["gpu-needs-reset"] * 4
