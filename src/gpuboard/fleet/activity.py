"""The short memory of one GPU: three samples, how long it has been quiet, and an hour by the minute."""

from array import array
from math import isnan, nan
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gpuboard.model.codes import plain_reason
from gpuboard.model.node import LATE_AFTER_INTERVALS
from gpuboard.model.report import GpuReading, moved
from gpuboard.model.verdict import Claim, Verdict, VerdictWord
from gpuboard.verdict import Activity, Holder
from gpuboard.verdict.holders import is_worked_on
from gpuboard.wire.views import HolderView

MINUTES: Final = 60
RECENT: Final = 3
_EARLIER: Final = slice(1 - RECENT, None)
# So long nobody may have looked for what lasted before to last on; of a slow node, three of its intervals.
LONGEST_GAP_SECONDS: Final = 600.0
# How often it is written down when a node was heard last: by so much that may be longer ago than it was.
HEARD_SECONDS: Final = 120.0


class Remembered(Struct, frozen=True, gc=False, array_like=True):
    """What of a GPU's memory another sitting goes on with: the board after a restart, say."""

    recent: tuple[float, ...] = ()
    quiet_since: float | None = None
    empty_since: float | None = None
    seen_empty_since: float | None = None
    # Whether somebody computed on it; None: unknown.
    is_taken: bool | None = None
    # The word that was said of it last, and since when.
    word: VerdictWord | None = None
    word_since: float | None = None


class NodeMemory(Struct, frozen=True, kw_only=True):
    """What is remembered of a node's GPUs over a restart of the board."""

    # When it was heard last.
    at: float
    # By the names under which they are shown.
    gpus: dict[str, Remembered]
    # Since when they count memory errors.
    errors_since: dict[str, float] = {}
    # When those were heard last that its newest sample did not mention.
    seen: dict[str, float] = {}

    def lasts(self, at: float, interval: float) -> bool:
        """Whether what was so then may be said to have lasted until a sample of this moment."""
        limit = max(LATE_AFTER_INTERVALS * interval, LONGEST_GAP_SECONDS)
        return at - self.at <= limit + HEARD_SECONDS

    def looked_away(self, at: float, interval: float) -> bool:
        """Whether a sample may have been missed since."""
        return at - self.at > LATE_AFTER_INTERVALS * interval


class GpuMemory:
    """What the board remembers of one GPU between samples."""

    __slots__ = (
        "_at",
        "_count",
        "_count_before",
        "_filled",
        "_minute",
        "_ring",
        "_sum",
        "_sum_before",
        "_taken",
        "claim",
        "empty_since",
        "ended_claim",
        "people",
        "quiet_since",
        "recent",
        "seen_empty_since",
        "shown",
        "uuid",
        "verdict",
    )

    def __init__(self) -> None:
        # The name under which it is shown. Every report brings a text of its own that says the same: to keep
        # and to compare one for all takes less.
        self.uuid = ""
        self.recent: tuple[float, ...] = ()
        self.quiet_since: float | None = None
        self.empty_since: float | None = None
        self.seen_empty_since: float | None = None
        self.verdict: Verdict | None = None
        # The claim that held when that was said.
        self.claim: Claim | None = None
        # The one that ended last before.
        self.ended_claim: Claim | None = None
        # Who was on it when that was said; None: unknown.
        self.people: tuple[Holder, ...] | None = None
        # The same for viewers; None: not written yet.
        self.shown: tuple[HolderView, ...] | None = None
        # Whether somebody computed on it in the newest sample; None: unknown, or there was none.
        self._taken: bool | None = None
        self._ring = array("f", [nan]) * MINUTES
        self._minute: int | None = None
        # When the newest sample was taken that knew its utilisation.
        self._at = 0.0
        self._sum = 0.0
        self._count = 0
        # The same of the minute before, if something was heard in it.
        self._sum_before = 0.0
        self._count_before = 0
        # Minutes without a sample of their own, and how many missed ones have filled each.
        self._filled: dict[int, int] = {}

    def observe(self, reading: GpuReading, at: float, idle_line: float) -> None:
        """Take in one sample; an unknown one breaks the quiet, for nobody can tell."""
        if at // 60 != self._minute:
            self._advance(int(at // 60))
        taken = is_worked_on(reading)
        if taken is not self._taken:
            self._come_or_leave(taken, at)
        percent = reading.utilization_percent
        if percent is None:
            self.recent = ()
            self.quiet_since = None
            return
        self.recent = (*self.recent[_EARLIER], percent)
        if percent > idle_line:
            self.quiet_since = None
        elif self.quiet_since is None:
            self.quiet_since = at
        self._at = at
        self._sum += percent
        self._count += 1

    def fill(self, percent: float, at: float) -> None:
        """Put a sample that was missed into the last hour, where nothing was heard; no verdict knows it."""
        minute, newest = int(at // 60), self._minute
        if newest is None or not newest - MINUTES < minute < newest:
            return
        place = minute % MINUTES
        count = self._filled.get(minute, 0)
        if not count and not isnan(self._ring[place]):
            return
        before = self._ring[place] * count if count else 0.0
        self._ring[place] = (before + percent) / (count + 1)
        self._filled = {m: n for m, n in self._filled.items() if m > newest - MINUTES}
        self._filled[minute] = count + 1

    def remembered(self) -> Remembered:
        """What another sitting needs to go on."""
        verdict = self.verdict
        # By position: asked of every GPU of every sample.
        return Remembered(
            self.recent,
            self.quiet_since,
            self.empty_since,
            self.seen_empty_since,
            self._taken,
            None if verdict is None else verdict.word,
            None if verdict is None else verdict.since,
        )

    def resume(self, past: Remembered, *, looked_away: bool) -> None:
        """Go on where another sitting ended; whoever leaves while nobody looks is not seen to leave."""
        self.recent = () if looked_away else past.recent
        self.quiet_since = past.quiet_since
        self.empty_since = past.empty_since
        self.seen_empty_since = past.seen_empty_since
        # Then somebody may have come and left as well: what is empty now was not just freed.
        self._taken = None if looked_away and past.is_taken else past.is_taken
        if past.word is not None:
            self.verdict = Verdict(word=past.word, reason=plain_reason(code="new"), since=past.word_since)

    def interrupt(self) -> None:
        """Hear that nothing is known of it now; what lasted until here does not last on."""
        self.recent = ()
        self.quiet_since = None
        self.empty_since = None
        self.seen_empty_since = None
        self.people = None
        self._taken = None

    def shift(self, seconds: float) -> None:
        """Hear that the clock was set: what was seen is as long ago as before."""
        self.quiet_since = moved(self.quiet_since, seconds)
        self.empty_since = moved(self.empty_since, seconds)
        self.seen_empty_since = moved(self.seen_empty_since, seconds)
        if self.verdict is not None:
            self.verdict = replace(self.verdict, since=moved(self.verdict.since, seconds))
        if self._minute is None:
            return
        # By whole minutes, rounded down: none that is written down lies in the future.
        minutes = int(seconds // 60)
        self._minute += minutes
        self._at += seconds
        self._filled = {minute + minutes: count for minute, count in self._filled.items()}
        turn = -minutes % MINUTES
        self._ring = self._ring[turn:] + self._ring[:turn]

    def _come_or_leave(self, taken: bool | None, at: float) -> None:  # noqa: FBT001 - None: nobody can tell
        """Note when the last one leaves; where none was ever seen, nobody knows since when it is empty."""
        if taken is False and self._taken:
            self.empty_since = at
        elif taken is False and self._taken is None:
            self.seen_empty_since = at
        elif taken is not False:
            self.empty_since = self.seen_empty_since = None
            if self._taken is False:
                # Who comes to a quiet GPU has not been idle since before.
                self.quiet_since = None
        self._taken = taken

    def _advance(self, minute: int) -> None:
        """Write down the minute that is over, unless this sample is older than it."""
        before = minute if self._minute is None else self._minute
        if minute < before:
            return
        self._ring[before % MINUTES] = self._average()
        for skipped in range(before + 1, min(minute, before + MINUTES) + 1):
            self._ring[skipped % MINUTES] = nan
        follows = minute == before + 1
        self._sum_before = self._sum if follows else 0.0
        self._count_before = self._count if follows else 0
        self._minute = minute
        self._sum = 0.0
        self._count = 0

    def _average(self) -> float:
        return self._sum / self._count if self._count else nan

    def last_minute(self) -> float | None:
        """Mean utilisation of the minute that ended with the newest sample; None before the first.

        Of the calendar minute before, the part counts that lies within: no sample has to be kept.
        """
        if not self._count:
            return None
        share = 1 - self._at % 60 / 60
        count = self._count + share * self._count_before
        return (self._sum + share * self._sum_before) / count

    def activity(self) -> Activity:
        """The memory as the verdict wants it."""
        return Activity(self.recent, self.quiet_since, self.empty_since, self.seen_empty_since, self._at)

    def last_hour(self, now: float) -> list[float | None]:
        """Utilisation per minute, oldest first; None where nothing was heard."""
        if self._minute is None:
            return [None] * MINUTES
        current = int(now // 60)
        hour: list[float | None] = []
        for minute in range(current - MINUTES + 1, current + 1):
            known = self._minute - MINUTES < minute < self._minute
            value = self._ring[minute % MINUTES] if known else nan
            if minute == self._minute:
                value = self._average()
            hour.append(None if isnan(value) else round(value, 1))
        return hour
