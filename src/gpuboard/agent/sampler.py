"""One node's report, again and again, on time whatever its driver does."""

import time
from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from gpuboard.agent.watchdog import Hang, Round, Watchdog
from gpuboard.model.names import in_order
from gpuboard.model.problems import problem
from gpuboard.model.report import GpuReading, HostFacts, NodeReport, Problem
from gpuboard.probes.base import Probe, index_at, place
from gpuboard.probes.fit import fit
from gpuboard.probes.host import HostReader, boot_id, sequence
from gpuboard.probes.inventory import Inventory, name_of
from gpuboard.probes.patience import Patience
from gpuboard.probes.processes import ProcessReader, boot_seconds

DEFAULT_DEADLINE_SECONDS: Final = 5.0
PROCESS_PATIENCE_SECONDS: Final = 1.0
# A driver that is broken is asked less and less often, but never given up.
LONGEST_PAUSE_SECONDS: Final = 60.0


class Sampler:
    """Makes the reports of one node; used by one thread."""

    def __init__(
        self,
        make_probe: Callable[[], Probe],
        *,
        node: str,
        interval_seconds: float,
        host: HostReader | None = None,
        processes: ProcessReader | None = None,
        deadline_seconds: float = DEFAULT_DEADLINE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._node = node
        self._interval_seconds = interval_seconds
        self._host = host or HostReader()
        self._processes = processes or ProcessReader()
        self._deadline_seconds = deadline_seconds
        self._clock = clock
        self._wall = wall
        self._watchdog = Watchdog(make_probe, clock=clock, wall=wall)
        self._process_patience = Patience[tuple[GpuReading, ...]](
            seconds=PROCESS_PATIENCE_SECONDS, name="gpuboard-processes"
        )
        self._inventory = Inventory()
        self._last: tuple[NodeReport, float] | None = None
        self._versions: tuple[str | None, str | None] = (None, None)
        self._probe_name: str | None = None
        self._first_seen: dict[tuple[str, str | None], float] = {}
        self._failure: Round | None = None
        self._pause_seconds = 0.0
        self._ask_again_at = 0.0

    def sample(self) -> NodeReport:
        """Return what the node says now; a little after the deadline at the latest."""
        came = self._read_driver()
        if came.is_under_way and self._last is not None:
            return self._again(self._last, came)
        taken = self._clock()
        listed_at = boot_seconds()
        gpus, problems = self._judge(came)
        report = fit(
            NodeReport(
                node=self._node,
                boot_id=boot_id(),
                sequence=sequence(),
                taken_at=self._wall(),
                interval_seconds=self._interval_seconds,
                probe=self._probe_name,
                host=self._host_facts(),
                gpus=gpus and self._described(gpus, listed_at),
                problems=self._dated(problems),
            )
        )
        self._last = (report, taken) if came.devices is not None else None
        return report

    def _again(self, last: tuple[NodeReport, float], came: Round) -> NodeReport:
        """What was read before, saying how old it is, while a slow driver takes its time."""
        report, taken = last
        others = [trouble for trouble in report.problems if trouble.kind != "slow-driver"]
        return replace(
            report,
            sequence=sequence(),
            age_seconds=max(0.0, self._clock() - taken),
            problems=self._dated([*others, _slow(came)]),
        )

    def close(self) -> None:
        """Give the driver back; a later sample opens it again."""
        self._watchdog.close()

    def _read_driver(self) -> Round:
        if self._failure is not None and self._clock() < self._ask_again_at:
            return self._failure
        places = {gpu.uuid: place(gpu.index) for gpu in self._inventory.all() if gpu.mig_parent_uuid is None}
        came = self._watchdog.read(self._deadline_seconds, places=places)
        self._failure = came if came.error is not None else None
        if self._failure is None:
            self._pause_seconds = 0.0
        else:
            longer = max(self._interval_seconds, 2 * self._pause_seconds)
            self._pause_seconds = min(longer, LONGEST_PAUSE_SECONDS)
            # A little early, so that the round of just that moment does ask.
            self._ask_again_at = self._clock() + 0.9 * self._pause_seconds
        self._probe_name = came.probe or self._probe_name
        return came

    def _judge(self, came: Round) -> tuple[tuple[GpuReading, ...] | None, list[Problem]]:
        """The GPUs, those included that did not answer, and all that is wrong."""
        if came.devices is None:
            last = self._inventory.all() or None
            if came.error is not None:
                return last, [came.error.problem]
            if came.is_under_way:
                return last, [_slow(came)]
            since = min(hang.since for hang in came.hangs)
            return last, [problem("driver-hung", since=since)]
        devices = came.devices
        self._versions = (devices.driver_version, devices.cuda_version)
        hung, problems = self._hung(came.hangs, devices.gpus)
        left_out = {gpu.uuid for gpu in hung}
        self._inventory.remember(devices.gpus, left_out=left_out)
        # The probe misses what it has seen; after a hang it may be a new one that has not.
        lost = self._inventory.missing(devices.gpus, left_out=left_out)
        problems += [problem("gpu-lost", name_of(gpu), gpu_uuid=gpu.uuid) for gpu in lost]
        if came.slowest_seconds is not None:
            problems.append(_slow(came))
        return in_order([*devices.gpus, *hung, *lost]), [*devices.problems, *problems]

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
                    detail = name_of(gpu)
                    problems.append(problem("driver-hung", detail, gpu_uuid=gpu.uuid, since=hang.since))
        return list(gpus.values()), problems

    def _stuck_at(self, touching: str) -> tuple[GpuReading, ...]:
        index = index_at(touching)
        if index is None:
            return self._inventory.family(touching)
        known = self._inventory.at(index)
        if known is not None:
            return self._inventory.family(known.uuid)
        return (GpuReading(uuid=f"{self._node}:{index}", uuid_is_synthetic=True, index=index),)

    def _described(self, gpus: tuple[GpuReading, ...], listed_at: float) -> tuple[GpuReading, ...]:
        # Outside the driver's threads, but not without a limit: reading about a blocked process may block.
        described = self._process_patience.ask(lambda: self._processes.describe(gpus, listed_at=listed_at))
        return gpus if described is None else described

    def _host_facts(self) -> HostFacts:
        driver, cuda = self._versions
        return replace(self._host.read(), driver_version=driver, cuda_version=cuda)

    def _dated(self, problems: list[Problem]) -> tuple[Problem, ...]:
        """The same problems, each with the time since when it has been there without a break."""
        now = self._wall()
        keys = {(trouble.kind, trouble.gpu_uuid) for trouble in problems}
        self._first_seen = {key: self._first_seen.get(key, now) for key in keys}
        return tuple(
            trouble
            if trouble.since is not None
            else replace(trouble, since=self._first_seen[trouble.kind, trouble.gpu_uuid])
            for trouble in problems
        )


def _slow(came: Round) -> Problem:
    seconds = f"{came.slowest_seconds or 0:.1f} s"
    return problem(
        "slow-driver", f"{seconds} and counting" if came.is_under_way else f"{seconds} for one question"
    )
