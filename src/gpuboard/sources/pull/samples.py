"""Whether an answer is a new sample: who answers with old data must not look alive. Pure."""

from typing import Final

from msgspec.structs import replace

from gpuboard.model.errors import SourceError
from gpuboard.model.report import NodeReport
from gpuboard.model.units import format_duration
from gpuboard.sources.pull.node_time import QUARTER

# The same patience that decides when a node is late.
_FROZEN_AFTER_INTERVALS: Final = 3


class Samples:
    """The last sample of one node, by which the next answer is judged."""

    def __init__(self) -> None:
        self._boot: str | None = None
        self._mark: int | str | None = None
        self._taken: float = 0.0
        self._heard: float = 0.0
        self._last: NodeReport | None = None
        # Whether what was returned last is a sample of its own, and not news about the one before.
        self.is_new = False
        # Since when the same sample comes of which nobody can tell how old it is.
        self._doubted: float | None = None

    def judge(
        self, report: NodeReport, *, mark: int | str | None, now: float, is_age_known: bool = True
    ) -> NodeReport | None:
        """Return the report if it says something new, with an honest age; None if it is the last one again.

        The mark identifies a sample: a rising sequence within a boot, or a text that differs each time.
        A report without a mark is always taken for new. One of unknown age is new when the mark has just
        changed; before that it may be of any age, and nothing is returned.

        Raises:
            SourceError: the sequence went back within a boot, so an older answer was replayed; or the age of
                what comes again and again cannot be told.
        """
        heard, self._heard = self._heard, now
        same_boot = self._last is not None and report.boot_id == self._boot
        if same_boot and isinstance(mark, int) and isinstance(self._mark, int) and mark < self._mark:
            text = f"an old report was sent again (number {mark} after {self._mark})"
            raise SourceError(text, code="replayed")
        if same_boot and mark is not None and mark == self._mark:
            return self._again(report, now)
        if not is_age_known:
            since = now - heard
            if mark is None or self._mark is None or mark == self._mark or since > QUARTER / 2:
                self._doubt(mark, now)
                return None
            report = replace(report, age_seconds=min(report.age_seconds, since))
        self._boot, self._mark, self._last, self._doubted = report.boot_id, mark, report, None
        self._taken, self.is_new = now - report.age_seconds, True
        return report

    def age(self, now: float) -> float:
        """How old the last sample is."""
        return now - self._taken

    def is_frozen(self, now: float, interval: float) -> bool:
        """Whether the last sample has stayed the last for too long."""
        if self._last is None:
            return False
        own = self._last.interval_seconds
        return self.age(now) > _FROZEN_AFTER_INTERVALS * max(interval, own or 0.0)

    def _doubt(self, mark: int | str | None, now: float) -> None:
        """Keep back what may be of any age, and say so if it stays."""
        again = mark == self._mark
        self._mark, self._last = mark, None
        if self._doubted is None or not again:
            self._doubted = now
        elif mark is None:
            raise SourceError(
                "it does not say when its data was taken: it may be of any age", code="age-unknown"
            )
        else:
            since = format_duration(now - self._doubted)
            text = f"its data has not changed since it was first asked, {since} ago: it may be of any age"
            raise SourceError(f"{text}; restart what collects it there", code="age-unknown")

    def _again(self, report: NodeReport, now: float) -> NodeReport | None:
        """The same sample may still bring news of trouble, but it never gets younger."""
        before, self._last, self.is_new = self._last, report, False
        if before is not None and report.problems == before.problems:
            return None
        return replace(report, age_seconds=max(report.age_seconds, now - self._taken))
