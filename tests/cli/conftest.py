"""The real command on the stand-in driver."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fakes import nvidia_smi, nvml
from tests.parts import require

Run = Callable[..., "subprocess.CompletedProcess[str]"]
COMMAND = (sys.executable, "-m", "gpuboard")


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the compiled stand-in library."""
    require("cc")
    return nvml.build(tmp_path_factory.getbasetemp())


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """Where the machine of a test is described."""
    return tmp_path / "scenario"


@pytest.fixture
def environment(library: Path, scenario: Path, tmp_path: Path) -> dict[str, str]:
    """A process environment in which the stand-in driver is the driver."""
    home = {"HOME": str(tmp_path), "LANG": "C.UTF-8"}
    return os.environ | nvml.environment(scenario, library) | nvidia_smi.environment(scenario) | home


@pytest.fixture
def run(environment: dict[str, str], scenario: Path) -> Run:
    """Run `gpuboard` on a machine."""

    def run(machine: nvml.Scenario, *words: str, **more: str) -> "subprocess.CompletedProcess[str]":
        machine.write(scenario)
        return subprocess.run(
            [*COMMAND, *words],
            env=environment | more,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            timeout=50,
        )

    return run
