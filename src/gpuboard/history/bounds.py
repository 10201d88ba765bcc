"""How much that is new one node may add to the history: names, programs and events are what nodes say.

An honest node adds a few a day. One that invents ever new ones fills no table: what is beyond is left out.
"""

from collections import OrderedDict
from typing import Final

# Sets of people on a GPU that were never seen before, of one node.
CROWDS_AT_ONCE: Final = 500
CROWDS_AN_HOUR: Final = 100
# Programs that somebody begins.
EPISODES_AT_ONCE: Final = 2000
EPISODES_AN_HOUR: Final = 500
# States and problems that begin.
EVENTS_AT_ONCE: Final = 300
EVENTS_AN_HOUR: Final = 60
# Nodes and sets of people that are remembered here: of more, the oldest are forgotten.
MAX_NODES: Final = 10_000
MAX_CROWDS: Final = 50_000


class Allowance:
    """So many of each node at once, and then so many an hour."""

    def __init__(self, at_once: float, an_hour: float) -> None:
        self._at_once = at_once
        self._per_second = an_hour / 3600
        # How many a node may add, and when that was so.
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def admits(self, node: str, now: float) -> bool:
        """Count one more of this node, unless it is too many."""
        left, at = self._left.pop(node, (self._at_once, now))
        left = min(self._at_once, left + max(0.0, now - at) * self._per_second)
        is_admitted = left >= 1
        self._left[node] = (left - 1 if is_admitted else left, now)
        if len(self._left) > MAX_NODES:
            self._left.popitem(last=False)
        return is_admitted


class KnownCrowds:
    """The sets of people that were seen lately; a node that brings ever new ones is not believed."""

    def __init__(self) -> None:
        self._allowance = Allowance(CROWDS_AT_ONCE, CROWDS_AN_HOUR)
        self._known: OrderedDict[tuple[str, ...], None] = OrderedDict()

    def admitted(self, node: str, names: tuple[str, ...] | None, now: float) -> tuple[str, ...] | None:
        """The same people; None, "cannot tell", where this node has named too many different ones."""
        if not names:
            return names
        if names in self._known:
            self._known.move_to_end(names)
        elif self._allowance.admits(node, now):
            self._known[names] = None
            if len(self._known) > MAX_CROWDS:
                self._known.popitem(last=False)
        else:
            return None
        return names
