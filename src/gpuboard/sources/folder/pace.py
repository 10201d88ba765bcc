"""When a node's samples were taken and how often they come, as far as its files tell. Pure."""

from collections import deque
from typing import Final, Literal, NamedTuple

from msgspec import Struct

from gpuboard.model.report import LONGEST_INTERVAL_SECONDS
from gpuboard.sources.formats.local_time import EAST_SECONDS

_GAPS: Final = 5
_ENOUGH: Final = 2
_BOOTS: Final = 16
# So many of a node's boots are remembered over a restart of the board.
KEPT_BOOTS: Final = 8
# So far a clock may be ahead of ours; what says a later time is no measure for what comes after it.
AHEAD_SECONDS: Final = 60.0

Newness = Literal["new", "same", "older"]


class Mark(NamedTuple):
    """What a file says itself about when its sample was taken; only good to be compared with others of it."""

    # Which clock counts: a boot of the node, or "" for its wall clock.
    clock: str
    number: float
    # The node's wall clock at that moment by UTC, where that is known; of a local time the latest it can be.
    wall: float | None = None

    @property
    def earliest(self) -> float | None:
        """The same, of a local time the earliest that it can be."""
        if self.clock or self.wall == self.number:
            return self.wall
        return self.number - EAST_SECONDS


class Marks(Struct, frozen=True, array_like=True):
    """What of a node's samples must outlive the board, so that nothing old is taken for new."""

    newest: Mark
    # How far each of its last clocks has come, the newest last.
    highest: tuple[tuple[str, float], ...]
    latest: float | None = None


class FilePace:
    """How often a node writes, learned from the gaps between its samples."""

    def __init__(self) -> None:
        self._gaps: deque[float] = deque(maxlen=_GAPS)

    def add(self, gap: float) -> None:
        """Take one gap into account."""
        self._gaps.append(gap)

    def seconds(self) -> float:
        """The usual gap, within bounds; 0 while too few were seen."""
        if len(self._gaps) < _ENOUGH:
            return 0.0
        # The lower one in the middle: a single outage must not make a dead node look punctual.
        usual = sorted(self._gaps)[(len(self._gaps) - 1) // 2]
        return min(usual, LONGEST_INTERVAL_SECONDS)


class Track:
    """The samples of one node, in order."""

    def __init__(self, marks: Marks | None = None) -> None:
        """Begin anew, or with what an earlier run of the board has read."""
        self.pace = FilePace()
        self.sampled_at = 0.0
        # False: nobody can tell; it is made up, and too long ago to count as fresh.
        self.is_age_known = True
        self._mark: Mark | None = None if marks is None else marks.newest
        # How far each clock has come: what was read of a boot once is never new again.
        self._highest: dict[str, float] = {} if marks is None else dict(marks.highest[-KEPT_BOOTS:])
        # One that seemed older than what was seen: if the next one follows on it, the clock was set back.
        self._doubted: Mark | None = None
        # The latest that the node's wall clock has said, and a boot that is behind that: it may well be an
        # old one whose drops are put back one after the other, so its samples are as old as they say.
        self._latest: float | None = None if marks is None else marks.latest
        self._behind: str | None = None
        self._is_begun = False
        # The last one, if it said a time that is yet to come; and how far that was ahead, at least.
        self._ahead: Mark | None = None
        self.ahead_seconds = 0.0

    def marks(self) -> Marks | None:
        """What must outlive the board; None: no file has said when it is of."""
        if self._mark is None:
            return None
        return Marks(self._mark, tuple(self._highest.items())[-KEPT_BOOTS:], self._latest)

    def place(
        self,
        mark: Mark | None,
        *,
        written_at: float,
        age: float,
        is_age_known: bool = True,
        now: float = float("inf"),
    ) -> Newness:
        """Put one sample into its place and note when it was taken; an old one leaves no trace.

        A file may be touched, copied or put back, so its time of writing says nothing about its sample at the
        first look: then the older of both counts. Later it does: what moves on was taken meanwhile.
        """
        if mark is not None and self._ahead is not None and mark[:2] == self._ahead[:2]:
            return "same"
        self._ahead = mark if self._is_ahead(mark, now) else None
        if self._ahead is not None:
            # As if it said nothing: all that come after it would be older.
            mark, is_age_known = None, False
        place = self._place(mark)
        if place == "older":
            self._doubted = mark
        if place != "new":
            return place
        if not self._is_begun:
            wall = mark.wall if mark is not None else None
            self.sampled_at = min(written_at - age, written_at if wall is None else wall)
            self.is_age_known = is_age_known
        else:
            self.is_age_known = True
            sampled_at = written_at - (age if is_age_known else 0.0)
            if mark is not None and mark.wall is not None and self._is_behind(mark):
                sampled_at = min(sampled_at, mark.wall)
            self.pace.add(max(0.0, sampled_at - self.sampled_at))
            self.sampled_at = sampled_at
        self._is_begun, self._doubted = True, None
        if mark is not None:
            self._note(mark)
        return place

    def _is_ahead(self, mark: Mark | None, now: float) -> bool:
        """Whether a wall clock alone counts, and says a time that is yet to come, whatever its zone."""
        said = None if mark is None or mark.clock else mark.earliest
        self.ahead_seconds = 0.0 if said is None or said - now <= AHEAD_SECONDS else said - now
        return self.ahead_seconds > 0

    def _is_behind(self, mark: Mark) -> bool:
        """Whether a sample is of another boot than the latest, and of before that by the node's own clock."""
        if not mark.clock or mark.wall is None or self._latest is None or mark.wall >= self._latest:
            self._behind = None
        elif mark.clock not in self._highest:
            self._behind = mark.clock
        return self._behind is not None and self._behind == mark.clock

    def _note(self, mark: Mark) -> None:
        self._mark = mark
        said = mark.earliest
        if said is not None and (mark.clock != self._behind or not mark.clock):
            self._latest = said if self._latest is None else max(self._latest, said)
        self._highest.pop(mark.clock, None)
        self._highest[mark.clock] = mark.number
        if len(self._highest) > _BOOTS:
            del self._highest[next(iter(self._highest))]

    def _place(self, mark: Mark | None) -> Newness:
        # A file of another kind says nothing about when; the marks of before still count after it.
        if mark is None or self._mark is None:
            return "new"
        if mark[:2] == self._mark[:2]:
            # What an earlier run of the board has read is news to this one; how old it is, it says itself.
            return "same" if self._is_begun else "new"
        return "new" if self._is_later(mark, self._mark) or self._follows_on_doubted(mark) else "older"

    def _is_later(self, mark: Mark, before: Mark) -> bool:
        highest = self._highest.get(mark.clock)
        if highest is not None:
            return mark.number > highest
        # A boot that was not seen yet: it must not be one of before, put back.
        latest = self._latest if mark.clock else before.wall
        return mark.wall is None or latest is None or mark.wall >= latest

    def _follows_on_doubted(self, mark: Mark) -> bool:
        """Whether the node's clock was set back, and goes on from there; within one boot that cannot be."""
        doubted = self._doubted
        if doubted is None or (mark.clock and mark.clock in self._highest):
            return False
        return mark.clock == doubted.clock and mark.number > doubted.number
