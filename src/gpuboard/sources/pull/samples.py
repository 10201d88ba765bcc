"""Whether an answer is a new sample: who answers with old data must not look alive. Pure."""

from typing import Final

from msgspec.structs import replace

from gpuboard.model.errors import SourceError
from gpuboard.model.report import NodeReport

# The same patience that decides when a node is late.
_FROZEN_AFTER_INTERVALS: Final = 3


class Samples:
    """The last sample of one node, by which the next answer is judged."""

    def __init__(self) -> None:
        self._boot: str | None = None
        self._mark: int | str | None = None
        self._taken: float = 0.0
        self._last: NodeReport | None = None

    def judge(self, report: NodeReport, *, mark: int | str | None, now: float) -> NodeReport | None:
        """Return the report if it says something new, with an honest age; None if it is the last one again.

        The mark identifies a sample: a rising sequence within a boot, or a text that differs each time.
        A report without a mark is always taken for new.

        Raises:
            SourceError: the sequence went back within a boot: an older answer was replayed.
        """
        same_boot = self._last is not None and report.boot_id == self._boot
        if same_boot and isinstance(mark, int) and isinstance(self._mark, int) and mark < self._mark:
            text = f"an old report was sent again (number {mark} after {self._mark})"
            raise SourceError(text, code="replayed")
        if same_boot and mark is not None and mark == self._mark:
            return self._again(report, now)
        self._boot, self._mark, self._last = report.boot_id, mark, report
        self._taken = now - report.age_seconds
        return report

    def age(self, now: float) -> float:
        """How old the last sample is."""
        return now - self._taken

    def is_frozen(self, now: float, interval: float) -> bool:
        """Whether the last sample has stayed the last for too long."""
        own = self._last.interval_seconds if self._last is not None else None
        return self.age(now) > _FROZEN_AFTER_INTERVALS * max(interval, own or 0.0)

    def _again(self, report: NodeReport, now: float) -> NodeReport | None:
        """The same sample may still bring news of trouble, but it never gets younger."""
        before, self._last = self._last, report
        if before is not None and report.problems == before.problems:
            return None
        return replace(report, age_seconds=max(report.age_seconds, now - self._taken))
