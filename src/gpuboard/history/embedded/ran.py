"""What ran on GPUs, and for how long of each hour: episodes as columns."""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

import numpy as np

from gpuboard.history.embedded.schema import WINDOW_MS
from gpuboard.history.embedded.usage import Cut, Longs
from gpuboard.history.records import Episode

# It cannot be told which, or none runs.
UNKNOWN: Final = ""


class Spots(NamedTuple):
    """Hours of people on GPUs: number of the GPU, hour since 1970, number of the person."""

    gpus: Longs
    hours: Longs
    people: Longs


class Shares(NamedTuple):
    """Which programs ran at spots, spot by spot, and there by name."""

    spot: Longs
    program: Longs
    # For how many milliseconds, of how many that all of the spot ran together.
    held: Longs
    whole: Longs


class Ran:
    """The episodes of a span; people and programs have numbers of their own here."""

    def __init__(self, episodes: Iterable[Episode], number_of: Callable[[str], int | None], cut: Cut) -> None:
        told = [(number, one) for one in episodes if (number := number_of(one.gpu)) is not None]
        # By name: the first has the lowest number.
        self.programs = sorted({UNKNOWN, *(one.program or UNKNOWN for _, one in told)})
        codes = {name: code for code, name in enumerate(self.programs)}
        self._people = {name: code for code, name in enumerate({one.person: None for _, one in told})}
        starts = [max(cut.start_ms, round(1000 * one.start)) for _, one in told]
        ends = [cut.end_ms if one.end is None else min(cut.end_ms, round(1000 * one.end)) for _, one in told]
        self._starts, self._ends = np.array(starts, np.int64), np.array(ends, np.int64)
        self._gpus = np.array([number for number, _ in told], np.int64)
        self._person = np.array([self._people[one.person] for _, one in told], np.int64)
        self._program = np.array([codes[one.program or UNKNOWN] for _, one in told], np.int64)

    def person(self, name: str) -> int:
        """The number of somebody; less than nothing: they ran nothing."""
        return self._people.get(name, -1)

    def shares(self, spots: Spots) -> Shares:
        """What ran at these spots; those of which nothing is known are left out."""
        if not len(spots.hours):
            return Shares(*[np.empty(0, np.int64)] * 4)
        span = int(spots.hours.min()), int(spots.hours.max()) + 1
        keys, programs, held = self._by_hour(span)
        wanted = self._keys(spots, span)
        firsts = np.searchsorted(keys, wanted, side="left")
        lasts = np.searchsorted(keys, wanted, side="right")
        counts = np.where(spots.people >= 0, lasts - firsts, 0)
        spot, step = spread(counts)
        which = firsts[spot] + step
        sums = np.append(0, np.cumsum(held))
        return Shares(spot, programs[which], held[which], (sums[lasts] - sums[firsts])[spot])

    def _by_hour(self, span: tuple[int, int]) -> tuple[Longs, Longs, Longs]:
        """Key, program and milliseconds of each hour from one to another, in order."""
        begins = np.maximum(self._starts // WINDOW_MS, span[0])
        finishes = np.minimum(-(-self._ends // WINDOW_MS), span[1])
        which, step = spread(np.where(self._starts <= self._ends, np.maximum(0, finishes - begins), 0))
        hours = begins[which] + step
        border = hours * WINDOW_MS
        held = np.minimum(self._ends[which], border + WINDOW_MS) - np.maximum(self._starts[which], border)
        keys = self._keys(Spots(self._gpus[which], hours, self._person[which]), span)
        order = np.lexsort((self._program[which], keys))
        keys, programs = keys[order], self._program[which][order]
        firsts = np.flatnonzero((np.diff(keys, prepend=-1) != 0) | (np.diff(programs, prepend=-1) != 0))
        # One that began and ended between two samples is not nothing.
        sums = np.add.reduceat(np.maximum(1, held)[order], firsts) if len(firsts) else held
        return keys[firsts], programs[firsts], sums

    def _keys(self, spots: Spots, span: tuple[int, int]) -> Longs:
        places = spots.gpus * (span[1] - span[0]) + spots.hours - span[0]
        keys: Longs = places * max(1, len(self._people)) + spots.people
        return keys


def spread(counts: Longs) -> tuple[Longs, Longs]:
    """As many rows for each as it counts: which it is, and the how manieth of it."""
    which = np.repeat(np.arange(len(counts)), counts)
    return which, np.arange(len(which)) - (np.cumsum(counts) - counts)[which]
