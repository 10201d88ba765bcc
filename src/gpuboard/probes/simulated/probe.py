"""One simulated node as a probe."""

import time
from collections.abc import Callable

from gpuboard.model.report import HostFacts
from gpuboard.probes.base import Devices, Touch, touch_all
from gpuboard.probes.simulated.node import simulate


class SimulatedProbe:
    """Reads the devices of one simulated node, as a driver would."""

    name = "simulated"

    def __init__(
        self, node: str = "vision-01", *, seed: int = 1, clock: Callable[[], float] = time.time
    ) -> None:
        self._node = node
        self._seed = seed
        self._clock = clock

    def read(self, touch: Touch = touch_all) -> Devices:
        """Return the node's GPUs at this moment."""
        report = simulate(self._node, self._clock(), seed=self._seed)
        gpus = tuple(gpu for gpu in report.gpus or () if touch(gpu.uuid))
        host = report.host or HostFacts()
        return Devices(
            gpus=gpus,
            problems=report.problems,
            driver_version=host.driver_version,
            cuda_version=host.cuda_version,
        )

    def close(self) -> None:
        """Nothing is held open."""
