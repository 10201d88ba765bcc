"""What was thought of one GPU at one moment, by the fleet or later."""

from typing import NamedTuple

from gpuboard.fleet.activity import Remembered
from gpuboard.fleet.counting import GpuTag
from gpuboard.model.report import GpuReading
from gpuboard.model.verdict import Verdict
from gpuboard.verdict import Holder


class Judged(NamedTuple):
    """One GPU at one moment, under the name that it has on this board."""

    reading: GpuReading
    # None: it came after the last tick.
    verdict: Verdict | None
    people: tuple[Holder, ...] | None
    # What people call it and whether it counts; None: as its row says.
    tag: GpuTag | None = None
    # What another sitting goes on with; None: the fleet itself knows it.
    past: Remembered | None = None
    # Who has claimed it, if anybody.
    claimant: str | None = None
