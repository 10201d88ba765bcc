"""Numbers of very many entries, added up before anything is made of them."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from gpuboard.history.embedded.names import Names
from gpuboard.history.embedded.usage import Longs

# Place, kind and a number more as one.
_PLACE_BITS: Final = 35
_KIND_BITS: Final = 32
_KINDS: Final = 7
_LOW: Final = (1 << _KIND_BITS) - 1


class Sums:
    """Columns added up by place, kind and one number more: a crowd, a program."""

    def __init__(self) -> None:
        self._parts: list[Longs] = []

    def add(self, places: Longs, kinds: Longs, others: Longs, *columns: Longs) -> None:
        """Add these, each a number for every entry."""
        keys = (places << _PLACE_BITS) | (kinds << _KIND_BITS) | (others & _LOW)
        self._parts.append(added_up(np.stack((keys, *columns))))

    def rows(self) -> Iterator[tuple[int, ...]]:
        """Place, kind, the other number, and the sum of each column, in order."""
        if not self._parts:
            return
        keys, *sums = added_up(np.concatenate(self._parts, axis=1))
        columns = (keys >> _PLACE_BITS, (keys >> _KIND_BITS) & _KINDS, keys & _LOW, *sums)
        yield from zip(*(column.tolist() for column in columns), strict=True)


class Crowds:
    """Who is meant by the number of a crowd, by name."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._people: dict[int, list[str]] = {}

    def people(self, crowd: int) -> list[str]:
        """Everybody of it; empty: nobody is known."""
        found = self._people.get(crowd)
        if found is None:
            found = self._people[crowd] = sorted(set(self._names.people(crowd) or ()))
        return found

    def of(self, numbers: Longs) -> tuple[list[list[str]], Longs]:
        """The people of each crowd that is among these, and which of them each is."""
        firsts = _firsts(numbers)
        crowds, which = np.unique(numbers[firsts], return_inverse=True)
        lengths = np.diff(firsts, append=len(numbers))
        return [self.people(crowd) for crowd in crowds.tolist()], np.repeat(which, lengths)


def added_up(rows: Longs) -> Longs:
    """Columns whose first number is the same as one, in order of it."""
    # Most hours of a GPU are as the one before: few are left to be put in order.
    rows = _joined(rows)
    return _joined(rows[:, np.argsort(rows[0], kind="stable")])


def _joined(rows: Longs) -> Longs:
    """Neighbours whose first number is the same as one."""
    firsts = _firsts(rows[0])
    sums = rows[:, firsts]
    if len(firsts):
        np.add.reduceat(rows[1:], firsts, axis=1, out=sums[1:])
    return sums


def _firsts(numbers: Longs) -> Longs:
    """Which are not as the one before."""
    is_first = np.ones(len(numbers), np.bool_)
    np.not_equal(numbers[1:], numbers[:-1], out=is_first[1:])
    return np.flatnonzero(is_first)
