"""Which nodes belong together: racks, rooms, clusters."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from gpuboard.model.ranges import expand


class NodeGroups:
    """The groups that the admin has made; a node may be in several, or in none."""

    def __init__(self, nodes: Mapping[str, Sequence[str]] | None = None) -> None:
        """Take the nodes of each group as people write them: `gpu[01-16]`, `nlp-*`."""
        self._listed: dict[str, set[str]] = {}
        self._patterns: list[tuple[str, str, re.Pattern[str]]] = []
        self._order = {group: place for place, group in enumerate(nodes or {})}
        for group, patterns in (nodes or {}).items():
            for name in (name.lower() for pattern in patterns for name in expand(pattern)):
                if "*" in name:
                    self._patterns.append((group, name, _pattern(name)))
                else:
                    self._listed.setdefault(name, set()).add(group)

    @property
    def names(self) -> Collection[str]:
        """All groups there are."""
        return self._order.keys()

    def matching_none(self, names: Collection[str]) -> Iterator[tuple[str, str]]:
        """Each group with those of its entries that match none of these names, ranges written out."""
        known = {name.lower() for name in names}
        for entry, groups in self._listed.items():
            if entry not in known:
                yield from ((group, entry) for group in sorted(groups, key=self._order.__getitem__))
        for group, entry, pattern in self._patterns:
            if not any(map(pattern.fullmatch, known)):
                yield group, entry

    def of(self, node: str, called: str | None = None) -> tuple[str, ...]:
        """The groups of a node, by its name or by what people call it, in the order of the settings."""
        if not self._order:
            return ()
        found = self._listed.get(node, set())
        if called is not None:
            found = found | self._listed.get(called.lower(), set())
        if self._patterns:
            names = [node] if called is None else [node, called.lower()]
            found = found | {
                group for group, _, pattern in self._patterns for name in names if pattern.fullmatch(name)
            }
        return tuple(sorted(found, key=self._order.__getitem__)) if found else ()


def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, name.split("*"))))
