"""Everything the fleet holds about one node."""

from typing import Final

from gpuboard.fleet.activity import GpuMemory
from gpuboard.fleet.freshness import LEFT, Trouble, freshness
from gpuboard.model.report import GpuReading, NodeReport, Problem
from gpuboard.model.source import SourceIdentity
from gpuboard.verdict import Freshness

DEFAULT_INTERVAL: Final = 5.0


class Node:
    """Everything the fleet holds about one node, as one source knows it."""

    def __init__(self, name: str, identity: SourceIdentity) -> None:
        self.name = name
        self.identity = identity
        # Where its source's list says it is.
        self.address: str | None = None
        self.report: NodeReport | None = None
        self.sampled_at: float | None = None
        self.received_at: float | None = None
        self.clock_offset: float | None = None
        self.interval = DEFAULT_INTERVAL
        self.freshness = Freshness(state="never")
        self.trouble: Trouble | None = None
        # Other sources that have a node of this name and are not shown.
        self.also_from: frozenset[str] = frozenset()
        # Other nodes that report GPUs of the same identity.
        self.twins: set[str] = set()
        # Since when its source no longer names it.
        self.left_at: float | None = None
        self.gpus: dict[str, GpuMemory] = {}

    @property
    def source(self) -> str:
        """The name of the source that it is shown from."""
        return self.identity.name

    def take(self, report: NodeReport, now: float) -> None:
        """Make this the newest report."""
        self.report = report
        self.received_at = now
        self.sampled_at = now - report.age_seconds
        self.interval = report.interval_seconds or self.interval
        self.clock_offset = None if report.taken_at is None else report.taken_at - self.sampled_at
        self.trouble = None

    def problems(self) -> tuple[Problem, ...]:
        """What the node says is wrong, and what the board knows to be wrong with it."""
        told = self.report.problems if self.report is not None else ()
        if not self.also_from and not self.twins:
            return told
        return (
            *told,
            *(_duplicate(self.source, other) for other in sorted(self.also_from)),
            *(_twin(other) for other in sorted(self.twins)),
        )

    def readings(self) -> tuple[GpuReading, ...]:
        """The GPUs of the newest report."""
        return (self.report.gpus or ()) if self.report is not None else ()

    def freshness_at(self, now: float) -> Freshness:
        """How much its newest sample can be trusted at a moment."""
        if self.left_at is not None:
            return LEFT
        age = None if self.sampled_at is None else max(0.0, now - self.sampled_at)
        return freshness(age, interval=self.interval, trouble=self.trouble)


def _duplicate(shown: str, other: str) -> Problem:
    return Problem(
        kind="duplicate-node",
        text=f"sources {shown} and {other} both have a node of this name; {shown} is shown",
        remedy="Remove the node from one of the two sources, or give the machines different names.",
    )


def _twin(other: str) -> Problem:
    return Problem(
        kind="duplicate-gpu",
        text=f"GPUs of this node have the same identity as GPUs of {other}; both are shown",
        remedy="If it is one machine under two names, remove one from its source; "
        "otherwise look which node lies.",
    )
