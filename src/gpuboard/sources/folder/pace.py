"""When a node's samples were taken and how often they come, as far as its files tell. Pure."""

from collections import deque
from typing import Final, Literal, NamedTuple

from gpuboard.model.report import LONGEST_INTERVAL_SECONDS

_GAPS: Final = 5
_ENOUGH: Final = 2

Place = Literal["new", "same", "older"]


class Mark(NamedTuple):
    """What a file says itself about when its sample was taken; only good to be compared with others of it."""

    # Which clock counts: a boot of the node, or "" for its wall clock.
    clock: str
    number: float
    # The node's wall clock at that moment, where it is known in UTC.
    wall: float | None = None


class Pace:
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

    def __init__(self) -> None:
        self.pace = Pace()
        self.sampled_at = 0.0
        # False: nobody can tell; it is made up, and too long ago to count as fresh.
        self.is_age_known = True
        self._mark: Mark | None = None
        # One that seemed older than what was seen: if the next one follows on it, the clock was set back.
        self._doubted: Mark | None = None
        self._is_begun = False

    def place(self, mark: Mark | None, *, written_at: float, age: float, is_age_known: bool = True) -> Place:
        """Put one sample into its place and note when it was taken; an old one leaves no trace.

        A file may be touched, copied or put back, so its time of writing says nothing about its sample at the
        first look: then the older of both counts. Later it does: what moves on was taken meanwhile.
        """
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
            self.pace.add(max(0.0, sampled_at - self.sampled_at))
            self.sampled_at = sampled_at
        self._is_begun, self._mark, self._doubted = True, mark, None
        return place

    def _place(self, mark: Mark | None) -> Place:
        before = self._mark
        if mark is None or before is None:
            return "new"
        if mark[:2] == before[:2]:
            return "same"
        return "new" if _is_later(mark, before) or self._follows_on_doubted(mark, before) else "older"

    def _follows_on_doubted(self, mark: Mark, before: Mark) -> bool:
        doubted = self._doubted
        # Within one boot the clock that counts cannot be set back.
        if doubted is None or (mark.clock and mark.clock == before.clock):
            return False
        return mark.clock == doubted.clock and mark.number > doubted.number


def _is_later(mark: Mark, before: Mark) -> bool:
    if mark.clock == before.clock:
        return mark.number > before.number
    # Another boot: it must not be one of before, put back.
    return mark.wall is None or before.wall is None or mark.wall >= before.wall
