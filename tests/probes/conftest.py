from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuboard.probes.nvml import NvmlProbe
from tests.clock import Clock
from tests.driver import StandInDriver, driver, driver_library
from tests.fakes import nvml

__all__ = ["driver", "driver_library"]


@pytest.fixture
def clock() -> Clock:
    """A clock that stands still."""
    return Clock()


@pytest.fixture
def probe(driver: StandInDriver, tmp_path: Path, clock: Clock) -> Iterator[NvmlProbe]:
    """A probe on the stand-in driver, on a machine that has nothing else of a driver."""
    driver.show(nvml.zero_gpus())
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/nvidiactl").touch()
    probe = NvmlProbe(root=tmp_path, clock=clock, host="vision-01")
    yield probe
    probe.close()
