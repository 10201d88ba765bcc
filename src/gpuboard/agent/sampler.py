"""One node's report, again and again, on time whatever its drivers do."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import Final

from msgspec.structs import replace

from gpuboard.agent.driver import Driver, VendorReading, slow
from gpuboard.agent.vendors import beside_others
from gpuboard.agent.watchdog import Round
from gpuboard.model.names import in_order
from gpuboard.model.report import GpuReading, HostFacts, NodeReport, Problem
from gpuboard.outside.boot_clock import boot_seconds
from gpuboard.probes.base import Probe
from gpuboard.probes.fit import fit
from gpuboard.probes.host import HostReader, boot_id, sequence
from gpuboard.probes.patience import Call, Patience
from gpuboard.probes.processes import ProcessReader

DEFAULT_DEADLINE_SECONDS: Final = 5.0
PROCESS_PATIENCE_SECONDS: Final = 1.0
# So many intervals a slow driver's last reading is told again; longer would make other vendors' GPUs late.
AGAIN_INTERVALS: Final = 2


class Sampler:
    """Makes the reports of one node; used by one thread."""

    def __init__(
        self,
        probes: Mapping[str, Callable[[], Probe]],
        *,
        node: str,
        interval_seconds: float,
        host: HostReader | None = None,
        processes: ProcessReader | None = None,
        deadline_seconds: float = DEFAULT_DEADLINE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """Prepare to sample with what makes the probe of each vendor."""
        self._node = node
        self._interval_seconds = interval_seconds
        self._host = host or HostReader()
        self._processes = processes or ProcessReader()
        self._deadline_seconds = deadline_seconds
        self._clock = clock
        self._wall = wall
        self.drivers = tuple(
            Driver(vendor, make, node=node, interval_seconds=interval_seconds, clock=clock, wall=wall)
            for vendor, make in probes.items()
        )
        self._process_patience = Patience[tuple[GpuReading, ...]](
            seconds=PROCESS_PATIENCE_SECONDS, name="gpuboard-processes"
        )
        # What each driver said last.
        self._last: dict[Driver, VendorReading] = {}
        self._first_seen: dict[tuple[str, str | None], float] = {}
        # Whether a driver has not yet said which GPUs there are, but is about to.
        self.is_waking = False

    def sample(self) -> NodeReport:
        """Return what the node says now; a little after the deadline at the latest."""
        rounds = self._read_drivers()
        now, listed_at = self._clock(), boot_seconds()
        looks = [self._look(driver, came, now) for driver, came in zip(self.drivers, rounds, strict=True)]
        looks = self._described(looks, listed_at)
        self.is_waking = any(
            came.is_under_way and look.gpus is None for came, look in zip(rounds, looks, strict=True)
        )
        self._last = dict(zip(self.drivers, looks, strict=True))
        return self._report(looks, now)

    def close(self) -> None:
        """Give the drivers back; a later sample opens them again."""
        for driver in self.drivers:
            driver.close()

    def _read_drivers(self) -> list[Round]:
        if len(self.drivers) == 1:
            return [self.drivers[0].read(self._deadline_seconds)]
        # Beside each other, so that none waits for another's; each comes back in time by itself.
        calls = [
            Call(partial(driver.read, self._deadline_seconds), name=f"gpuboard-{driver.vendor}")
            for driver in self.drivers
        ]
        return [call.outcome() for call in calls]

    def _look(self, driver: Driver, came: Round, now: float) -> VendorReading:
        """What a driver says; what it said before while it is slow but gets on."""
        last = self._last.get(driver)
        if not came.is_under_way or last is None or last.read_at is None:
            return driver.look(came)
        if len(self.drivers) > 1 and now - last.read_at > AGAIN_INTERVALS * self._interval_seconds:
            return driver.look(came)
        others = [trouble for trouble in last.problems if trouble.kind != "slow-driver"]
        return replace(last, problems=(*others, slow(came)), is_new=False)

    def _report(self, looks: Sequence[VendorReading], now: float) -> NodeReport:
        if len(looks) > 1:
            looks = [
                beside_others(look, vendor=driver.vendor, rank=rank, node=self._node)
                for rank, (driver, look) in enumerate(zip(self.drivers, looks, strict=True))
            ]
        known = [look.gpus for look in looks if look.gpus is not None]
        ages = [now - look.read_at for look in looks if look.read_at is not None]
        age = round(max(0.0, *ages), 1) if ages else 0.0
        return fit(
            NodeReport(
                node=self._node,
                boot_id=boot_id(),
                sequence=sequence(),
                taken_at=self._wall() - age,
                age_seconds=age,
                interval_seconds=self._interval_seconds,
                probe=", ".join(driver.probe for driver in self.drivers if driver.probe) or None,
                host=self._host_facts(),
                gpus=in_order(chain.from_iterable(known)) if known else None,
                problems=self._dated([trouble for look in looks for trouble in look.problems]),
            )
        )

    def _described(self, looks: Sequence[VendorReading], listed_at: float) -> list[VendorReading]:
        """The same with whose the processes are, where that was not known already."""
        gpus = [gpu for look in looks if look.is_new for gpu in look.gpus or ()]
        # Outside the driver's threads, but not without a limit: reading about a blocked process may block.
        described = gpus and self._process_patience.ask(
            lambda: self._processes.describe(gpus, listed_at=listed_at)
        )
        if not described:
            return list(looks)
        rest = iter(described)
        return [
            replace(look, gpus=tuple(islice(rest, len(look.gpus)))) if look.is_new and look.gpus else look
            for look in looks
        ]

    def _host_facts(self) -> HostFacts:
        versions = [(driver.vendor, driver.version) for driver in self.drivers if driver.version is not None]
        told = [version if len(self.drivers) == 1 else f"{vendor} {version}" for vendor, version in versions]
        cuda = (driver.cuda_version for driver in self.drivers if driver.cuda_version is not None)
        return replace(
            self._host.read(), driver_version=", ".join(told) or None, cuda_version=next(cuda, None)
        )

    def _dated(self, problems: list[Problem]) -> tuple[Problem, ...]:
        """The same problems, each with the time since when it has been there without a break."""
        now = self._wall()
        self._first_seen = {key: self._first_seen.get(key, now) for key in map(_about, problems)}
        return tuple(
            replace(trouble, since=trouble.since or self._first_seen[_about(trouble)]) for trouble in problems
        )


def _about(trouble: Problem) -> tuple[str, str | None]:
    return trouble.kind, trouble.gpu_uuid
