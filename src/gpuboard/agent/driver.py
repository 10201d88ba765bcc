"""One vendor's driver, asked again and again; what it said, and which GPUs there are whatever it says."""

import time
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from gpuboard.agent.watchdog import Hang, Round, Watchdog
from gpuboard.model.names import in_order
from gpuboard.model.problems import problem
from gpuboard.model.report import GpuReading, Problem
from gpuboard.probes.base import Probe, index_at, place
from gpuboard.probes.inventory import Inventory, name_of

# A driver that is broken is asked less and less often, but never given up.
LONGEST_PAUSE_SECONDS: Final = 60.0


class VendorReading(Struct, frozen=True, kw_only=True):
    """The GPUs of one vendor, those included that did not answer, and all that is wrong."""

    # None: not known.
    gpus: tuple[GpuReading, ...] | None
    problems: tuple[Problem, ...] = ()
    # When it was read, if it was; by the monotonic clock.
    read_at: float | None = None
    # Not what an earlier round said already.
    is_new: bool = True


class Driver:
    """Reads the GPUs of one vendor, on time whatever its driver does; used by one thread at a time."""

    def __init__(
        self,
        vendor: str,
        make_probe: Callable[[], Probe],
        *,
        node: str,
        interval_seconds: float,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.vendor = vendor
        self.probe: str | None = None
        self.version: str | None = None
        self.cuda_version: str | None = None
        self._node = node
        self._interval_seconds = interval_seconds
        self._clock = clock
        self._watchdog = Watchdog(make_probe, clock=clock, wall=wall)
        self._inventory = Inventory()
        self._failure: Round | None = None
        self.pause_seconds = 0.0
        self._ask_again_at = 0.0
        self._read_at = 0.0

    def read(self, deadline_seconds: float) -> Round:
        """Return what came of a round; a little after the deadline at the latest."""
        if self._failure is not None and self._clock() < self._ask_again_at:
            return self._failure
        places = {gpu.uuid: place(gpu.index) for gpu in self._inventory.all() if gpu.mig_parent_uuid is None}
        came = self._watchdog.read(deadline_seconds, places=places)
        self._failure = came if came.error is not None else None
        if self._failure is None:
            self.pause_seconds = 0.0
        else:
            longer = max(self._interval_seconds, 2 * self.pause_seconds)
            self.pause_seconds = min(longer, LONGEST_PAUSE_SECONDS)
            # A little early, so that the round of just that moment does ask.
            self._ask_again_at = self._clock() + 0.9 * self.pause_seconds
        self.probe = came.probe or self.probe
        self._read_at = self._clock()
        return came

    def close(self) -> None:
        """Give the driver back; a later read opens it again."""
        self._watchdog.close()

    @property
    def threads(self) -> int:
        """How many threads are stuck in the driver."""
        return self._watchdog.threads

    def look(self, came: Round) -> VendorReading:
        """What a round says of the GPUs."""
        if came.devices is None:
            return VendorReading(gpus=self._inventory.all() or None, problems=(_why_nothing(came),))
        devices = came.devices
        self.version, self.cuda_version = devices.driver_version, devices.cuda_version
        hung, problems = self._hung(came.hangs, devices.gpus)
        left_out = {gpu.uuid for gpu in hung}
        self._inventory.remember(devices.gpus, left_out=left_out)
        # The probe misses what it has seen; after a hang it may be a new one that has not.
        lost = self._inventory.missing(devices.gpus, left_out=left_out)
        problems += [problem("gpu-lost", gpu_uuid=gpu.uuid, place=name_of(gpu)) for gpu in lost]
        if came.slowest_seconds is not None:
            problems.append(slow(came))
        gpus = in_order([*devices.gpus, *hung, *lost])
        return VendorReading(gpus=gpus, problems=(*devices.problems, *problems), read_at=self._read_at)

    def _hung(
        self, hangs: tuple[Hang, ...], read: tuple[GpuReading, ...]
    ) -> tuple[list[GpuReading], list[Problem]]:
        """The GPUs that a thread is stuck at, with their instances, and the problem of each."""
        gpus: dict[str, GpuReading] = {}
        problems = []
        here = {gpu.uuid for gpu in read}
        for hang in hangs:
            for gpu in self._stuck_at(hang.touching or ""):
                if gpu.uuid not in here and gpu.uuid not in gpus:
                    gpus[gpu.uuid] = gpu
                    place = name_of(gpu)
                    problems.append(problem("driver-hung", gpu_uuid=gpu.uuid, place=place, since=hang.since))
        return list(gpus.values()), problems

    def _stuck_at(self, touching: str) -> tuple[GpuReading, ...]:
        index = index_at(touching)
        if index is None:
            return self._inventory.family(touching)
        known = self._inventory.at(index)
        if known is not None:
            return self._inventory.family(known.uuid)
        uuid = f"{self._node}:{index}"
        return (GpuReading(uuid=uuid, uuid_is_synthetic=True, index=index, vendor=self.vendor),)


def slow(came: Round) -> Problem:
    """The driver takes its time."""
    seconds = f"{came.slowest_seconds or 0:.1f} s"
    return problem(
        "slow-driver", f"{seconds} and counting" if came.is_under_way else f"{seconds} for one question"
    )


def _why_nothing(came: Round) -> Problem:
    if came.error is not None:
        return came.error.problem
    if came.is_under_way:
        return slow(came)
    return problem("driver-hung", since=min(hang.since for hang in came.hangs))
