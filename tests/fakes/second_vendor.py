"""A vendor that nobody has heard of, with a driver that answers, hangs or breaks on command."""

import threading

from msgspec.structs import replace

from gpuboard.model.errors import ProbeFailed, ProbeUnavailable
from gpuboard.model.problems import problem
from gpuboard.model.report import GpuReading
from gpuboard.model.units import GIB
from gpuboard.probes.base import Devices, Touch, place, touch_all
from gpuboard.probes.inventory import Inventory, name_of

VENDOR = "acme"


def card(index: int) -> GpuReading:
    """A card on which nobody is."""
    return GpuReading(
        uuid=f"acme-{index}",
        index=index,
        vendor=VENDOR,
        model="Acme Accelerator",
        memory_used_bytes=0,
        memory_total_bytes=64 * GIB,
        utilization_percent=0,
        processes=(),
    )


class AcmeMachine:
    """The cards of a machine, and how their driver is."""

    def __init__(self, gpus: int = 2) -> None:
        self.gpus = [card(index) for index in range(gpus)]
        self.error: ProbeFailed | ProbeUnavailable | None = None
        self.gets_on = False
        self.answers = threading.Event()
        self.answers.set()

    def probe(self) -> "AcmeProbe":
        """Open a session."""
        return AcmeProbe(self)

    def hang(self) -> None:
        """Answer nothing from now on."""
        self.answers.clear()

    def dawdle(self) -> None:
        """Get on from question to question, and come to no end."""
        self.gets_on = True
        self.answers.clear()

    def release(self) -> None:
        """Answer again."""
        self.gets_on = False
        self.answers.set()

    def lose_names(self) -> None:
        """Cards that cannot say who they are."""
        self.gpus = [replace(gpu, uuid=f"vision-01:{gpu.index}", uuid_is_synthetic=True) for gpu in self.gpus]


# What a probe reads that is made by its name alone.
HERE = AcmeMachine()


class AcmeProbe:
    """Reads them."""

    name = "acme-tool"

    def __init__(self, machine: AcmeMachine | None = None) -> None:
        self._machine = machine or HERE
        self._inventory = Inventory()

    def read(self, touch: Touch = touch_all) -> Devices:
        """Ask the driver, then each card."""
        touch(None)
        while not self._machine.answers.wait(timeout=0.05 if self._machine.gets_on else None):
            touch(None)
        if self._machine.error is not None:
            raise self._machine.error
        gpus = tuple(gpu for gpu in self._machine.gpus if touch(gpu.uuid) and touch(place(gpu.index)))
        left_out = {gpu.uuid for gpu in self._machine.gpus}.difference(gpu.uuid for gpu in gpus)
        self._inventory.remember(gpus, left_out=left_out)
        lost = self._inventory.missing(gpus, left_out=left_out)
        problems = tuple(problem("gpu-lost", gpu_uuid=gpu.uuid, place=name_of(gpu)) for gpu in lost)
        return Devices(gpus=(*gpus, *lost), problems=problems, driver_version="7.1")

    def close(self) -> None:
        """Nothing is held open."""
