"""Whose the memory of a shared GPU was: hour by hour, by what each held while they were there."""

import sqlite3
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from gpuboard.history.embedded import notes
from gpuboard.history.embedded.ran import spread
from gpuboard.history.embedded.schema import WINDOW_MS
from gpuboard.history.embedded.sums import Crowds, added_up
from gpuboard.history.embedded.usage import BEGIN, CROWD, MEMORY, SLOT, Cut, Longs
from gpuboard.history.figures import MIB

# GPU, person and hour since 1970 as one number.
_HOUR_BITS: Final = 20
_PERSON_BITS: Final = 22
_PERSON: Final = (1 << _PERSON_BITS) - 1
# More than an hour has milliseconds.
_APART: Final = 1 << 22
# What a program says to hold is believed so far, in MiB: no sum is too large for its number.
_MOST_MIB: Final = 1 << 24


class _Stays(NamedTuple):
    """What people ran on GPUs, each within one hour."""

    spot: Longs
    # From when to when, in milliseconds of the hour; and what it held at most, in MiB.
    begin: Longs
    end: Longs
    held: Longs


class MemoryShares:
    """The memory of entries that several people share; each is divided by itself, so that hours add up."""

    def __init__(self, crowds: Crowds, gpus: dict[int, str], cut: Cut) -> None:
        self._crowds = crowds
        self._gpus = gpus
        self._cut = cut
        self._tables: list[Longs] = []
        self._people: dict[str, int] = {}

    def add(self, table: Longs, place: Longs) -> None:
        """Take in entries whose memory is known, each with its place."""
        chosen = (table[SLOT], table[BEGIN] // WINDOW_MS, table[CROWD], table[MEMORY], place)
        self._tables.append(np.stack(chosen))

    def rows(self, connection: sqlite3.Connection) -> Iterator[tuple[int, str, int]]:
        """Place, person, and the MiB times seconds that are theirs."""
        gpu, hour, crowd, memory, place = np.concatenate([np.empty((5, 0), np.int64), *self._tables], axis=1)
        if not len(gpu):
            return
        entry, person = self._everybody(crowd)
        firsts = np.flatnonzero(np.diff(entry, prepend=-1))
        spots = (((gpu[entry] << _PERSON_BITS) | person) << _HOUR_BITS) | hour[entry]
        held = self._held(connection, spots)
        # Where it is not known of all, all have the same.
        held = np.where(np.minimum.reduceat(held, firsts)[entry] > 0, held, 1)
        parts = memory[entry] * held // np.add.reduceat(held, firsts)[entry]
        # What is left is the first one's by name.
        parts[firsts] += memory - np.add.reduceat(parts, firsts)
        keys, sums = added_up(np.stack(((place[entry] << _PERSON_BITS) | person, parts)))
        names = list(self._people)
        for key, part in zip(keys.tolist(), sums.tolist(), strict=True):
            yield key >> _PERSON_BITS, names[key & _PERSON], part

    def _everybody(self, numbers: Longs) -> tuple[Longs, Longs]:
        """Of these crowds one after the other, which it is, and each person by name."""
        crowds, which = self._crowds.of(numbers)
        counts = np.array([len(names) for names in crowds], np.int64)
        codes = [self._people.setdefault(name, len(self._people)) for names in crowds for name in names]
        entry, step = spread(counts[which])
        return entry, np.array(codes, np.int64)[(np.cumsum(counts) - counts)[which][entry] + step]

    def _held(self, connection: sqlite3.Connection, spots: Longs) -> Longs:
        """The MiB that somebody held on a GPU in an hour, on average while anything of theirs ran."""
        wanted, which = np.unique(spots, return_inverse=True)
        stays = self._stays(connection, wanted)
        begin, end = (one + stays.spot * _APART for one in (stays.begin, stays.end))
        # What ran at the same time is together as long as the longest of it.
        until = np.maximum.accumulate(np.append(-1, end))[:-1]
        there, sums = np.zeros_like(wanted), np.zeros_like(wanted)
        np.add.at(there, stays.spot, np.maximum(0, end - np.maximum(begin, until)))
        np.add.at(sums, stays.spot, (stays.end - stays.begin) * stays.held)
        found: Longs = (sums // np.maximum(1, there))[which]
        return found

    def _stays(self, connection: sqlite3.Connection, wanted: Longs) -> _Stays:
        """What is known of these spots, in their order and then by its begin."""
        start, end = self._cut.start_ms / 1000, self._cut.end_ms / 1000
        rows = [
            (number, self._people[person], since, end if until is None else until, held or 0)
            for number in np.unique(wanted >> (_PERSON_BITS + _HOUR_BITS)).tolist()
            for person, since, until, held in notes.read_held(connection, self._gpus[number], start, end)
            if person in self._people
        ]
        gpu, person, *_ = np.array([row[:2] for row in rows], np.int64).reshape(-1, 2).T
        times = np.rint(1000 * np.array([row[2:4] for row in rows], np.float64).reshape(-1, 2).T)
        since, until = np.clip(times.astype(np.int64), self._cut.start_ms, self._cut.end_ms)
        held = np.array([min(_MOST_MIB, -(-row[4] // MIB)) for row in rows], np.int64)
        first = since // WINDOW_MS
        row, step = spread(np.maximum(1, -(-until // WINDOW_MS) - first))
        hour = first[row] + step
        spots = (((gpu[row] << _PERSON_BITS) | person[row]) << _HOUR_BITS) | hour
        spot = np.searchsorted(wanted, spots)
        is_wanted = wanted[np.minimum(spot, len(wanted) - 1)] == spots
        spot, row, border = spot[is_wanted], row[is_wanted], hour[is_wanted] * WINDOW_MS
        begin = np.maximum(0, since[row] - border)
        # One that began and ended between two samples is not nothing.
        finish = np.maximum(begin + 1, np.minimum(WINDOW_MS, until[row] - border))
        order = np.lexsort((begin, spot))
        return _Stays(spot[order], begin[order], finish[order], held[row][order])
