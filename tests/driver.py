"""The stand-in driver in the test's own process, so that a test may hold a probe and change the machine."""

import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.fakes import nvml
from tests.parts import require

LIBRARY: Final = "libnvidia-ml.so.1"


class StandInDriver:
    """A driver that shows whatever machine it is told to."""

    def __init__(self, scenario: Path) -> None:
        self._scenario = scenario

    def show(self, machine: nvml.Scenario) -> nvml.Scenario:
        """Be this machine from now on; calls that hang on the old one come back."""
        machine.write(self._scenario)
        return machine


@pytest.fixture(scope="session")
def driver_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Load the stand-in library; the linker gives it to whoever asks for a library of its name later."""
    require("cc")
    folder = nvml.build(tmp_path_factory.getbasetemp())
    ctypes.CDLL(str(folder / LIBRARY))
    return folder


@pytest.fixture
def driver(driver_library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandInDriver]:
    """A driver without GPUs, to be shown others."""
    scenario = tmp_path / "scenario"
    for name, value in nvml.environment(scenario, driver_library).items():
        monkeypatch.setenv(name, value)
    stand_in = StandInDriver(scenario)
    stand_in.show(nvml.zero_gpus())
    yield stand_in
    # Whatever still hangs in it comes back now.
    stand_in.show(nvml.zero_gpus())
