"""Which moments of each node are known: nobody tells a past anew that was taken already. Pure."""

from collections.abc import Iterable, Mapping
from typing import Final

# A node with more gaps than this is taken to have been known between the oldest.
MAX_SPANS: Final = 64

# From when to when samples were taken, none further from the one before than it holds.
_Span = tuple[float, float]


class Covered:
    """Follows the moments of the samples that are taken, whatever boot or source they are of.

    A sample between two that were taken tells nothing that is missing: those hold until the next. So what was
    observed stands, what comes late fills only what nobody had, and dropping the rest leaves no gap.
    """

    def __init__(self) -> None:
        self._spans: dict[str, list[_Span]] = {}
        self._now = float("-inf")

    def restore(self, heard: Mapping[str, float], now: float) -> None:
        """Go on where an earlier run of the board ended: agents hand over in order, so nothing is missing."""
        for node, at in heard.items():
            self._spans[node] = [(float("-inf"), min(at, now))]

    def is_new(self, node: str, at: float, holds: float, now: float) -> bool:
        """Whether this moment of the node was not known before; from now on it is."""
        if now < self._now:
            self._set_back(now)
        self._now = now
        spans = self._spans.get(node)
        if spans is None:
            self._spans[node] = [(at, at)]
            return True
        first, last = spans[-1]
        # Nearly always.
        if at >= last and at - last <= holds:
            spans[-1] = (first, at)
            return True
        if any(start <= at < end for start, end in spans):
            return False
        self._spans[node] = _joined([*spans, (at, at)], holds)
        return True

    def forget(self, nodes: Iterable[str]) -> None:
        """Forget nodes that are gone."""
        for node in nodes:
            self._spans.pop(node, None)

    def _set_back(self, now: float) -> None:
        """The clock was wrong: nothing is known of what is to come."""
        for node, spans in self._spans.items():
            self._spans[node] = [(min(start, now), min(end, now)) for start, end in spans]


def _joined(spans: list[_Span], holds: float) -> list[_Span]:
    """Spans in order, without gaps through which a sample holds, and not too many."""
    found: list[_Span] = []
    for start, end in sorted(spans):
        if found and start - found[-1][1] <= holds:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    surplus = len(found) - MAX_SPANS
    return found if surplus <= 0 else [(found[0][0], found[surplus][1]), *found[surplus + 1 :]]
