"""Who takes samples for good: every sample of a node once, in order, back-filled ones included."""

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

from gpuboard.model.report import NodeReport
from gpuboard.model.source import PUSH, SourceIdentity


class Position(Struct, frozen=True, kw_only=True, gc=False):
    """How far a node has come in its boot; it outlives the board, so that nothing old is taken for new."""

    boot_id: str
    earlier_boots: tuple[str, ...] = ()
    shown: int | None = None
    taken: int | None = None


class Ledger(Protocol):
    """Takes samples for good. What it has not taken yet, agents send again after a restart.

    Only agents that push have something to send again: how far a node has come is told by what they sent,
    never by the numbers of another source. Sources that read what lies somewhere (a file, an agent that is
    asked) hand over the newest once more when the board starts; boot and sequence tell that it is the same.
    """

    def take(self, node: str, report: NodeReport, *, source: SourceIdentity, is_backfill: bool) -> bool:
        """Take one sample; those of a source come in order, and each once.

        May put it aside to write it later with others: `taken` says when it is safe. Until then it is kept,
        for it does not come again while the board runs. Must not block. False means "not now" (the disk is
        full, say): this one and all after it come again later, from agents that push.

        Raises:
            SampleRefused: it was back-filled, and is too old to be taken ever. It counts as taken.
        """

    def pass_over(self, node: str, report: NodeReport, *, source: SourceIdentity) -> None:
        """Let one sample go: the node is shown from another source. It counts as taken all the same.

        But never before those that were put aside: these would be forgotten with it.
        """

    def taken(self, node: str, boot_id: str) -> int | None:
        """The sequence through which every sample that this boot has pushed is safe; None: there is none."""


class CountingLedger:
    """Keeps no samples, only how far each node has come; the board without a history.

    So "taken" means acknowledged here. The positions of an earlier run may lag behind what agents were told
    then: they come again with what they still have, and whatever they let go of is missed by nobody.
    """

    def __init__(self) -> None:
        self.live: dict[str, int] = {}
        self.backfilled: dict[str, int] = {}
        self._taken: dict[str, tuple[str | None, int]] = {}

    def restore(self, positions: Mapping[str, Position]) -> None:
        """Go on where an earlier run of the board ended."""
        for node, position in positions.items():
            if position.taken is not None:
                self._taken[node] = (position.boot_id, position.taken)

    def take(self, node: str, report: NodeReport, *, source: SourceIdentity, is_backfill: bool) -> bool:
        """Count one sample."""
        counts = self.backfilled if is_backfill else self.live
        counts[node] = counts.get(node, 0) + 1
        self.pass_over(node, report, source=source)
        return True

    def pass_over(self, node: str, report: NodeReport, *, source: SourceIdentity) -> None:
        """Note how far the node has come."""
        if source.name == PUSH and report.sequence is not None:
            self._taken[node] = (report.boot_id, report.sequence)

    def taken(self, node: str, boot_id: str) -> int | None:
        """How far this boot of the node has come."""
        boot, sequence = self._taken.get(node, (None, 0))
        return sequence if boot == boot_id else None
