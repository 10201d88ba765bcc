"""What befalls the record itself, as events: when nothing was written, and what was learnt only later."""

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from gpuboard.history.bounds import EVENTS_AN_HOUR, EVENTS_AT_ONCE, Allowance
from gpuboard.history.records import Event

# The node of what befell the board itself.
BOARD: Final = ""
PAUSED: Final = "history-paused"
LEARNT_LATER: Final = "learnt-later"
# What is said of each. They are no problems of a node, and no node can claim them.
OF_THE_RECORD: Final = {
    PAUSED: "The history was paused: the disk was full",
    LEARNT_LATER: "What was on the node then was learnt later, when its agent was heard again",
}


class Hindsight:
    """Follows how the record came about; what is to be told of it waits here to be written."""

    def __init__(self) -> None:
        self._paused_at: float | None = None
        # By node, the last span that was learnt later.
        self._learnt: dict[str, Event] = {}
        self._allowance = Allowance(EVENTS_AT_ONCE, EVENTS_AN_HOUR)
        self._news: list[Event] = []
        self._grown: set[str] = set()

    def note_pause(self, at: float, *, is_paused: bool) -> None:
        """Follow whether anything is written; a pause is told when it is over: nobody can write before."""
        if is_paused:
            self._paused_at = at if self._paused_at is None else min(self._paused_at, at)
        elif self._paused_at is not None:
            start, self._paused_at = min(self._paused_at, at), None
            self._news.append(Event(node=BOARD, kind=PAUSED, start=start, end=at))

    def learn(self, node: str, at: float, interval: float, holds: float, *, now: float) -> None:
        """Take note of a sample that was back-filled; until the one before ends to hold none is late."""
        known = self._learnt.get(node)
        if known is not None and known.end is not None and known.start <= at <= known.end + holds - interval:
            self._learnt[node] = replace(known, end=max(known.end, at + interval))
        elif now - at <= holds or not self._allowance.admits(node, now):
            return
        else:
            self._tell(node)
            self._learnt[node] = Event(node=node, kind=LEARNT_LATER, start=at, end=at + interval)
        self._grown.add(node)

    def forget(self, nodes: Iterable[str]) -> None:
        """Nothing follows what was learnt of these."""
        for node in nodes:
            self._tell(node)
            self._learnt.pop(node, None)

    def take_news(self) -> list[Event]:
        """What is to be written; a span that has grown is told again."""
        for node in list(self._grown):
            self._tell(node)
        news, self._news = self._news, []
        return news

    def _tell(self, node: str) -> None:
        if node in self._grown:
            self._grown.remove(node)
            self._news.append(self._learnt[node])
