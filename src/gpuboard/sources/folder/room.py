"""How much the nodes of one folder may tell about in all: whoever writes files fills no memory. Pure."""

from collections.abc import Collection
from typing import Final, NamedTuple

from gpuboard.model.report import NodeReport
from gpuboard.wire.report import encode_report

# Four thousand nodes of eight GPUs; each GPU has its last hour beside its figures: some kilobytes.
MAX_GPUS: Final = 32_768
# As long as all reports are as text: mostly some kilobytes a node, never more than 256.
MAX_BYTES: Final = 128 * 1024 * 1024
# What is said of the folder when there is more.
NO_ROOM: Final = (
    f"its files tell of more than {MAX_GPUS} GPUs or {MAX_BYTES >> 20} MiB, or those of one user "
    "of more than half of that; some are not shown"
)


class Weight(NamedTuple):
    """How much a node tells."""

    gpus: int = 0
    size: int = 0


NOTHING: Final = Weight()


def weight_of(report: NodeReport) -> Weight:
    """How much a report tells."""
    return Weight(len(report.gpus or ()), len(encode_report(report)))


class Room:
    """What the nodes of a folder take now, in all and of each user."""

    def __init__(self, trusted: Collection[int]) -> None:
        """Begin empty; users that are not trusted with the folder may fill half of it each."""
        self._trusted = trusted
        self._all = NOTHING
        self._of: dict[int, Weight] = {}

    def add(self, owner: int, weight: Weight) -> None:
        """Hear what a node takes."""
        self._all = _sum(self._all, weight)
        self._of[owner] = _sum(self._of.get(owner, NOTHING), weight)

    def admits(self, owner: int, weight: Weight) -> bool:
        """Whether there is room for a node of somebody."""
        theirs = _sum(self._of.get(owner, NOTHING), weight)
        share = 1 if owner in self._trusted else 2
        return _fits(_sum(self._all, weight)) and _fits(theirs, share=share)

    def take_out(self, owner: int, weight: Weight) -> None:
        """Hear what a node no longer takes."""
        self.add(owner, Weight(-weight.gpus, -weight.size))


def _sum(one: Weight, other: Weight) -> Weight:
    return Weight(one.gpus + other.gpus, one.size + other.size)


def _fits(weight: Weight, *, share: int = 1) -> bool:
    return weight.gpus * share <= MAX_GPUS and weight.size * share <= MAX_BYTES
