"""Samples turned into the reports of one node; remembers its GPUs, so that missing ones are missed."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from gpuboard.model.errors import ProbeError, ProbeFailed, ProbeUnavailable
from gpuboard.model.problems import ProblemKind, problem
from gpuboard.model.report import GpuProcess, GpuReading, HostFacts, NodeReport, Problem
from gpuboard.model.units import format_duration
from gpuboard.probes.base import Devices
from gpuboard.probes.fit import fit
from gpuboard.probes.inventory import blank
from gpuboard.probes.nvidia_smi.messages import explain
from gpuboard.probes.nvidia_smi.probe import NvidiaSmiProbe
from gpuboard.sources.ssh.changes import Body, DocumentReader
from gpuboard.sources.ssh.frames import Frame
from gpuboard.sources.ssh.parse import FrameHead, parse_head
from gpuboard.wire.report import check_report
from gpuboard.wire.text import decode_text

PROBE: Final = "nvidia-smi over ssh"
_NOT_FOUND: Final = "127"
_NOT_ALLOWED: Final = "126"
# From here on, a driver is slow: without persistence mode it starts anew for every question.
_SLOW_SECONDS: Final = 2.0
# What can hang while a node is sampled, and what that means; all but the first say nothing against GPUs.
_HUNG: Final[dict[str, ProblemKind]] = {
    "nvidia-smi": "driver-hung",
    "df": "disk-hung",
    "processes": "processes-hung",
}


class NodeReader:
    """Reads the frames of one node, over all its sessions."""

    def __init__(self, node: str, *, interval: float, clock: Callable[[], float] = time.time) -> None:
        self._node = node
        self._interval = interval
        self._clock = clock
        self._body = Body()
        self._sample = FrameHead(processes={})
        self._documents = DocumentReader(node)
        self._probe = self._new_probe()
        self._boot_id: str | None = None
        # The lines that changed since the last document, if that was read: only then they mean something.
        self._changes: Mapping[int, str] | None = None
        self._follows = False
        self._known: tuple[GpuReading, ...] | None = None
        self._host: HostFacts | None = None
        self._hung_since: float | None = None
        # What was last known of each process: of one that is gone, nobody else can tell whose it was.
        self._processes: dict[int, GpuProcess] = {}
        # Whether the node says everything once and then ends, because its command is its own.
        self.once = False

    def read_sample(self, frame: Frame) -> NodeReport:
        """Turn a sample, or what changed since the last one, into a report.

        Raises:
            WireError: the sample breaks a rule that all reports keep, or changes one that did not come.
        """
        changes = self._body.take(frame)
        self._sample = sample = parse_head(self._body.head)
        self._host = sample.host
        if sample.boot_id not in (None, self._boot_id):
            # It may be another machine by now: which GPU of an earlier start is missing, the fleet knows.
            self._boot_id, self._probe = sample.boot_id, self._new_probe()
        self.once = not sample.interval
        self._changes, self._follows = (changes if self._follows else None), False
        if sample.waiting is not None:
            waiting = sample.waiting
            what = f"nvidia-smi (pid {waiting.pid}) has been waiting for it for"
            return self._hung(sample, waiting.seconds, what=what)
        self._hung_since = None
        try:
            devices = self._probe.read()
        except ProbeError as error:
            return self._finish(sample, gpus=self._silent_gpus(), problems=(error.problem,))
        self._follows = True
        self._known = devices.gpus
        slow = _age(sample)
        problems = (problem("slow-driver", f"{slow:.0f} s"),) if slow >= _SLOW_SECONDS else ()
        self._processes = {pid: self._recalled(fact) for pid, fact in sample.processes.items()}
        gpus = _attributed(devices, self._processes)
        return self._finish(sample, gpus=gpus, problems=problems, devices=devices)

    def read_hung(self, frame: Frame, *, seconds: float, doing: str | None) -> NodeReport:
        """Turn what the host says while its driver says nothing into a report.

        Raises:
            WireError: the frame breaks a rule that all reports keep.
        """
        body = Body()
        body.take(frame)
        sample = parse_head(body.head)
        # Between samples the host does not look at its disks and addresses.
        before = self._host or HostFacts()
        if sample.host is not None:
            sample.host = replace(sample.host, disks=before.disks, addresses=before.addresses)
        return self._hung(sample, seconds, what=f"{doing or 'nvidia-smi'} has not answered for", doing=doing)

    def _new_probe(self) -> NvidiaSmiProbe:
        return NvidiaSmiProbe(run=self._answer, node=self._node, parse=self._parse)

    def _parse(self, _document: bytes) -> Devices:
        """Read the driver's document as the probe would, mostly by what changed in it."""
        changes, self._changes = self._changes, None
        devices = None if changes is None else self._documents.read_changes(changes)
        return self._documents.read(self._body.document) if devices is None else devices

    def _hung(self, sample: FrameHead, seconds: float, *, what: str, doing: str | None = None) -> NodeReport:
        if self._hung_since is None:
            self._hung_since = self._clock() - seconds
        kind = _HUNG.get(doing or "", "driver-hung")
        found = problem(kind, f"{what} {format_duration(seconds)}", since=self._hung_since)
        return self._finish(sample, gpus=self._silent_gpus(), problems=(found,))

    def _recalled(self, fact: GpuProcess) -> GpuProcess:
        before = self._processes.get(fact.pid)
        return replace(before, state="gone", children=()) if before and fact.state == "gone" else fact

    def _silent_gpus(self) -> tuple[GpuReading, ...] | None:
        """The GPUs that last answered, without what they said then."""
        return None if self._known is None else tuple(blank(gpu) for gpu in self._known)

    def _finish(
        self,
        sample: FrameHead,
        *,
        gpus: Sequence[GpuReading] | None,
        problems: Sequence[Problem] = (),
        devices: Devices | None = None,
    ) -> NodeReport:
        if devices is not None and sample.host is not None:
            problems = (*devices.problems, *problems)
            sample.host = replace(
                sample.host, driver_version=devices.driver_version, cuda_version=devices.cuda_version
            )
        age = _age(sample)
        report = NodeReport(
            node=self._node,
            boot_id=sample.boot_id,
            sequence=None if sample.sent is None else int(sample.sent * 100),
            taken_at=None if sample.time is None else max(0.0, sample.time - age),
            age_seconds=age,
            interval_seconds=_interval(sample, age) or self._interval,
            probe=PROBE,
            host=sample.host,
            gpus=None if gpus is None else tuple(gpus),
            problems=tuple(problems),
        )
        return check_report(fit(report))

    def _answer(self, command: Sequence[str], /) -> bytes:
        """Stand in for nvidia-smi with what the node has sent of it."""
        sample = self._sample
        if "-L" in command:
            return sample.listing
        if self._changes is not None:
            # It was whole before, and how it is put together now is known to those who read it.
            return b""
        document = self._body.document
        if "-x" in command and document:
            if sample.exit_code == _NOT_FOUND and b"<nvidia_smi_log" not in document:
                raise ProbeUnavailable(problem("no-driver", "nvidia-smi is not installed"))
            if sample.exit_code == _NOT_ALLOWED:
                raise ProbeFailed(problem("no-permission", "nvidia-smi may not be run"))
            return document
        # Nothing else was asked on the node: then the document must say what is wrong.
        raise explain(decode_text(document))


def _age(sample: FrameHead) -> float:
    """How old the driver's answer was when it was sent; by the node's own, steady clock."""
    if sample.begun is None or sample.sent is None:
        return 0.0
    return max(0.0, sample.sent - sample.begun)


def _interval(sample: FrameHead, age: float) -> float | None:
    """How often samples come; a slow driver is asked less often."""
    if not sample.interval:
        return None
    slow = age > sample.interval / 2
    return min(86_400.0, age + max(age, sample.interval)) if slow else sample.interval


def _attributed(devices: Devices, facts: dict[int, GpuProcess]) -> tuple[GpuReading, ...]:
    """Say of every process whose it is; what the driver knows of it stays."""
    return tuple(
        gpu
        if not gpu.processes
        else replace(gpu, processes=tuple(_joined(one, facts.get(one.pid)) for one in gpu.processes))
        for gpu in devices.gpus
    )


def _joined(process: GpuProcess, fact: GpuProcess | None) -> GpuProcess:
    if fact is None:
        return process
    return replace(
        process,
        user=fact.user,
        uid=fact.uid,
        started_at=fact.started_at,
        state=fact.state,
        children=fact.children,
        program=fact.program or process.program,
    )
