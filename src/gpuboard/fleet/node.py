"""Everything the fleet holds about one node."""

from collections.abc import Mapping
from operator import attrgetter
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gpuboard.fleet.activity import GpuMemory, NodeMemory
from gpuboard.fleet.freshness import AGELESS, LEFT, REVOKED, REVOKED_CODE, Trouble, freshness
from gpuboard.fleet.node_clock import (
    by_our_clock,
    clock_problem,
    correction,
    gpus_moved,
    problems_moved,
)
from gpuboard.fleet.problems import duplicate_gpu, duplicate_node, memory_errors, silent, unreadable_file
from gpuboard.model.problems import heaviest_first, missing_gpus, problem
from gpuboard.model.report import GpuReading, NodeReport, Problem, moved, possible_time
from gpuboard.model.source import PUSH, SourceIdentity
from gpuboard.verdict import LIVE, Freshness

DEFAULT_INTERVAL: Final = 5.0

_errors_of: Final = attrgetter("ecc_uncorrected_errors")

# The names of GPUs, their numbers, and whose instances they are.
Layout = list[tuple[str, int, str | None]]


class Seen(Struct, frozen=True, kw_only=True, gc=False):
    """A node as it was judged last: what every output says of it until it is judged again."""

    report: NodeReport | None
    gpus: tuple[GpuReading, ...]
    # What is remembered of each, in the same order; and by name.
    remembered: tuple[GpuMemory, ...]
    memories: Mapping[str, GpuMemory]
    problems: tuple[Problem, ...]
    freshness: Freshness
    sampled_at: float | None
    received_at: float | None
    clock_offset: float | None
    interval: float


class Node:
    """Everything the fleet holds about one node, as one source knows it."""

    def __init__(self, name: str, identity: SourceIdentity) -> None:
        self.name = name
        self.identity = identity
        # Where its source's list says it is.
        self.address: str | None = None
        # What it belongs to by the list of its source.
        self.groups: tuple[str, ...] = ()
        # The file that its source reads it from.
        self.file: str | None = None
        self.report: NodeReport | None = None
        # In this run of the board or an earlier one.
        self.was_read = False
        self.sampled_at: float | None = None
        self.received_at: float | None = None
        # Whether the moment of its sample is known; if not, it is made up, and nothing is told by it.
        self.is_age_known = True
        self.clock_offset: float | None = None
        # By how much its clock is wrong, so much that its times are shifted; 0: it is not.
        self.clock_ahead = 0.0
        self.interval = DEFAULT_INTERVAL
        self.freshness = Freshness(state="never")
        self.trouble: Trouble | None = None
        # Other sources that have a node of this name and are not shown.
        self.also_from: frozenset[str] = frozenset()
        # Some of the nodes that report GPUs of the same identity.
        self.twins: frozenset[str] = frozenset()
        # Since when its source no longer names it, and how much is remembered of it meanwhile.
        self.left_at: float | None = None
        self.left_bytes = 0
        # Its GPUs as they are shown, and what is remembered of each: by the name under which it is shown, and
        # in the order in which they are shown.
        self.shown: tuple[GpuReading, ...] = ()
        self.gpus: dict[str, GpuMemory] = {}
        self.remembered: tuple[GpuMemory, ...] = ()
        # The cards that are cut into instances.
        self.cut: frozenset[str | None] = frozenset()
        # The same by the name that the node itself says, and the names that differ.
        self.memories: dict[str, GpuMemory] = {}
        self.names: dict[str, str] = {}
        # What the board knows to be wrong with its GPUs.
        self.notes: tuple[Problem, ...] = ()
        # Fewer GPUs than there were, or in another order, and nobody can tell which is which.
        self.has_moved = False
        # How many fewer, where nobody can tell which.
        self.fewer = 0
        # The numbers that GPUs had until lately, or say that they have beside others, by the names that are
        # shown.
        self.renumbered: dict[str, tuple[int, ...]] = {}
        # How the newest report has its GPUs, and whether just these are shown.
        self.layout: Layout | None = None
        self.is_as_told = False
        # GPUs that count memory errors, and since when, by the names under which they are shown.
        self.ecc_since: dict[str, float] = {}
        # It has named more GPUs than the history keeps of one node.
        self.is_unrecorded = False
        # None: it came after the last tick.
        self.seen: Seen | None = None

    def see(self) -> Seen:
        """Keep how it is now, to be judged and shown."""
        self.seen = Seen(
            report=self.report,
            gpus=self.shown,
            remembered=self.remembered,
            memories=self.gpus,
            problems=self.problems(),
            freshness=self.freshness,
            sampled_at=self.sampled_at if self.is_age_known else None,
            received_at=self.received_at,
            clock_offset=self.clock_offset,
            interval=self.interval,
        )
        return self.seen

    @property
    def source(self) -> str:
        """The name of the source that it is shown from."""
        return self.identity.name

    def take(self, report: NodeReport, now: float) -> None:
        """Make this the newest report."""
        self.was_read = True
        self.received_at = now
        self.sampled_at = possible_time(now - report.age_seconds)
        self.interval = report.interval_seconds or self.interval
        # Most have none, and this is done for every report.
        told = report.problems
        self.is_age_known = not told or all(one.kind != "unknown-age" for one in told)
        is_timed = report.taken_at is not None and self.is_age_known
        self.clock_offset = (report.taken_at or 0.0) - self.sampled_at if is_timed else None
        self.clock_ahead = correction(self.clock_offset, self.clock_ahead)
        self.report = by_our_clock(report, self.clock_ahead) if self.clock_ahead else report
        self.trouble = None

    def resume(self, past: NodeMemory) -> None:
        """Go on with what an earlier run of the board knew of its GPUs, if that is not too long ago."""
        at = self.sampled_at or past.at
        if not past.lasts(at, self.interval):
            return
        looked_away = past.looked_away(at, self.interval)
        for name, memory in self.gpus.items():
            known = past.gpus.get(name)
            if known is not None:
                memory.resume(known, looked_away=looked_away)
        self.ecc_since = dict(past.errors_since)

    def shift(self, seconds: float) -> None:
        """Hear that the board's clock was set: what is known of the node is as old as before."""
        self.sampled_at = moved(self.sampled_at, seconds)
        self.received_at = moved(self.received_at, seconds)
        self.left_at = moved(self.left_at, seconds)
        self.ecc_since = {uuid: since + seconds for uuid, since in self.ecc_since.items()}
        self.notes = problems_moved(self.notes, seconds)
        self.shown = gpus_moved(self.shown, seconds)
        if self.report is not None:
            self.report = by_our_clock(self.report, -seconds)
        for memory in self.memories.values():
            memory.shift(seconds)
        if self.clock_offset is not None:
            # A clock that seems worse now may have been set along (it may be this very machine's): whether it
            # is wrong, the node's next report says.
            offset = self.clock_offset - seconds
            self.clock_offset = offset if abs(offset) <= abs(self.clock_offset) else None
            self.clock_ahead = correction(self.clock_offset, self.clock_ahead)

    def leave(self, now: float) -> None:
        """Hear that its source no longer names it."""
        self.left_at = now
        # A report is at most as long in memory as it is as text, but for the figures of each GPU.
        self.left_bytes = 0 if self.report is None else len(msgspec.json.encode(self.report))

    def problems(self) -> tuple[Problem, ...]:
        """What the node says is wrong, and what the board knows to be wrong with it."""
        told = self.report.problems if self.report is not None else ()
        if self.names:
            told = tuple([_about(problem, self.names) for problem in told])
        counted = self._memory_errors(told)
        broken = unreadable_file(self.trouble)
        # Most are live, and whoever is live is not silent.
        is_told = broken is not None or self.freshness is LIVE
        mute = (
            None if is_told else silent(self.identity.kind, self.freshness, self.sampled_at, file=self.file)
        )
        others = self.also_from or self.twins or self.is_unrecorded
        if not (others or self.notes or self.clock_ahead or counted or broken or mute):
            return heaviest_first(told) if len(told) > 1 else told
        return heaviest_first(
            [
                *((mute,) if mute else ()),
                *told,
                *counted,
                *self.notes,
                *((broken,) if broken else ()),
                *((clock_problem(self.clock_ahead),) if self.clock_ahead else ()),
                *(duplicate_node(self.source, other) for other in sorted(self.also_from)),
                *((problem("gpus-unrecorded"),) if self.is_unrecorded else ()),
                *(duplicate_gpu(other) for other in sorted(self.twins)),
            ]
        )

    def _memory_errors(self, told: tuple[Problem, ...]) -> list[Problem]:
        """The errors of GPUs that only count them: not every format has problems."""
        if not any(map(_errors_of, self.shown)):
            if self.ecc_since:
                self.ecc_since = {}
            return []
        failing = [gpu for gpu in self.shown if gpu.ecc_uncorrected_errors]
        seen = self.sampled_at or 0.0
        self.ecc_since = {gpu.uuid: self.ecc_since.get(gpu.uuid, seen) for gpu in failing}
        said = {one.gpu_uuid for one in told if one.kind == "ecc-uncorrected"}
        return [memory_errors(gpu, self.ecc_since[gpu.uuid]) for gpu in failing if gpu.uuid not in said]

    def may_lack_gpus(self) -> bool:
        """Whether it says that GPUs are missing, or the board knows something to be wrong with them."""
        if self.notes or self.report is None or not self.report.problems:
            return bool(self.notes)
        return missing_gpus(self.report.problems) > 0

    def readings(self) -> tuple[GpuReading, ...]:
        """Its GPUs as they are shown, those that are missing too."""
        return self.shown

    def freshness_at(self, now: float) -> Freshness:
        """How much its newest sample can be trusted at a moment."""
        if self.left_at is not None:
            is_revoked = self.trouble is not None and self.trouble.reason.code == REVOKED_CODE
            return REVOKED if self.source == PUSH or is_revoked else LEFT
        if not self.is_age_known:
            return AGELESS
        age = None if self.sampled_at is None else max(0.0, now - self.sampled_at)
        return freshness(age, interval=self.interval, trouble=self.trouble)


def _about(problem: Problem, names: Mapping[str, str]) -> Problem:
    name = names.get(problem.gpu_uuid or "")
    return problem if name is None else replace(problem, gpu_uuid=name)
