"""Nodes that vanish from a list are kept for a while: a list is wrong more often than a node is gone."""

from collections.abc import Sequence

from gpuboard.discovery.base import Target


class Grace:
    """Remembers when each node was last named, and keeps it on the list for some seconds after that."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._named: dict[str, tuple[Target, float]] = {}
        self._last = 0.0

    def update(self, targets: Sequence[Target], now: float) -> tuple[Target, ...]:
        """Take in a new list; return it with the nodes that are still within their grace, by name."""
        self._last = now
        named = self._named | {target.node: (target, now) for target in targets}
        self._named = {
            node: (target, at) for node, (target, at) in named.items() if now - at <= self._seconds
        }
        return self._targets()

    def hold(self, now: float) -> tuple[Target, ...]:
        """The list itself cannot be had: return the old one; nobody's grace runs meanwhile."""
        passed, self._last = now - self._last, now
        self._named = {node: (target, at + passed) for node, (target, at) in self._named.items()}
        return self._targets()

    def _targets(self) -> tuple[Target, ...]:
        return tuple(target for _, (target, _) in sorted(self._named.items()))
