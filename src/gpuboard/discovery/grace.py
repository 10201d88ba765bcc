"""Nodes that vanish from a list are kept for a while: a list is wrong more often than a node is gone."""

from collections.abc import Sequence
from itertools import islice

from gpuboard.discovery.base import Target


class Grace:
    """Remembers when each node was last named, and keeps it on the list for some seconds after that."""

    def __init__(self, seconds: float, *, limit: int) -> None:
        self._seconds = seconds
        self._limit = limit
        self._named: dict[str, tuple[Target, float]] = {}
        self._last = 0.0
        # How many of the last list there was no room for.
        self.left_out = 0

    def update(self, targets: Sequence[Target], now: float) -> tuple[Target, ...]:
        """Take in a new list; return it with the nodes that are still within their grace, by name.

        Of too many, those that were known before stay, and of the others as many as there is room for.
        """
        self._last = now
        listed = {target.node: target for target in targets}
        stay = {
            node: (listed.pop(node), now) if node in listed else (target, at)
            for node, (target, at) in self._named.items()
            if node in listed or now - at <= self._seconds
        }
        room = max(0, self._limit - len(stay))
        self.left_out = max(0, len(listed) - room)
        self._named = stay | {node: (target, now) for node, target in islice(listed.items(), room)}
        return self._targets()

    def hold(self, now: float) -> tuple[Target, ...]:
        """The list itself cannot be had: return the old one; nobody's grace runs meanwhile."""
        passed, self._last = now - self._last, now
        self._named = {node: (target, at + passed) for node, (target, at) in self._named.items()}
        return self._targets()

    def _targets(self) -> tuple[Target, ...]:
        return tuple(target for _, (target, _) in sorted(self._named.items()))
