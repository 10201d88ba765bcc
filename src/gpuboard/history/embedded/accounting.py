"""How much each GPU was used, and by whom: sealed hours, and what has come since, as one answer."""

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from gpuboard.history.blocks import Ints
from gpuboard.history.cells import Cells, empty_cells, fill
from gpuboard.history.embedded import notes
from gpuboard.history.embedded.names import Names
from gpuboard.history.embedded.reading import Look
from gpuboard.history.embedded.schema import SERIES, WINDOW_MS
from gpuboard.history.embedded.usage import (
    BEGIN,
    CROWD,
    FIGURES,
    HELD,
    KIND,
    MEMORY,
    SLOT,
    Cut,
    Longs,
    entries_of,
    places_in,
    read_usage,
    sealed_since_ms,
)
from gpuboard.history.questions import go_on
from gpuboard.history.records import Place
from gpuboard.history.usage import OWNED, USAGE_KINDS, HourUse, PlaceUsage, Times, Usage, shares

_STEP_ROWS: Final = 512
_MOMENT_BITS: Final = 43
# Those that somebody has.
_TAKEN: Final = [USAGE_KINDS.index("used"), USAGE_KINDS.index("idle")]


class Ledger(NamedTuple):
    """What was counted in a span: the places of GPUs that count, and entries of many hours."""

    cut: Cut
    # With the number of the GPU, and from when to when.
    places: list[tuple[Place, int, int, int]]
    # Entries side by side, each with its place: number of the GPU, moment, kind, people, time, memory.
    tables: Iterator[tuple[Longs, Longs]]

    def blank(self) -> list[PlaceUsage]:
        """The places, before anything is counted."""
        return [
            PlaceUsage(place=place, times=Times(span=stop - begin)) for place, _, begin, stop in self.places
        ]

    def answer(self, places: list[PlaceUsage]) -> Usage:
        """What was counted, as the answer."""
        for one in places:
            one.fit()
        return Usage(start=self.cut.start_ms / 1000, end=self.cut.end_ms / 1000, places=places)


def open_ledger(look: Look, names: Names, start: float, end: float, *, quiet_percent: float) -> Ledger:
    """Whole hours from the one that `start` is in, and the last as far as `end`."""
    first = math.floor(start * 1000 / WINDOW_MS) * WINDOW_MS
    last = math.ceil(end * 1000)
    unsealed = list(_unsealed(look, names, Cut(first, last), quiet_percent))
    known = [sealed_since_ms(look.connection), *(at for _, at, _ in unsealed)]
    # What was before anything was counted is not even "not observed".
    first = max(first, min((at for at in known if at is not None), default=last))
    cut = Cut(first, max(first, last))
    places = _places(look, names, cut)
    return Ledger(cut, places, _located(look, places, cut, unsealed))


def read_accounts(look: Look, names: Names, start: float, end: float, *, quiet_percent: float) -> Usage:
    """How long each GPU was what, and whose."""
    ledger, sums = open_ledger(look, names, start, end, quiet_percent=quiet_percent), _Sums()
    for table, place in ledger.tables:
        sums.add(table, place)
    answer = ledger.blank()
    sums.tell(answer, names)
    return ledger.answer(answer)


def read_hours(look: Look, names: Names, start: float, end: float, *, quiet_percent: float) -> list[HourUse]:
    """How full the GPUs that count were, hour by hour."""
    ledger = open_ledger(look, names, start, end, quiet_percent=quiet_percent)
    found: dict[int, list[int]] = {}
    for table, _ in ledger.tables:
        hours, which = np.unique(table[BEGIN] // WINDOW_MS, return_inverse=True)
        is_taken = np.isin(table[KIND], _TAKEN)
        taken = np.bincount(which, weights=np.where(is_taken, table[HELD], 0), minlength=len(hours))
        observed = np.bincount(which, weights=table[HELD], minlength=len(hours))
        for hour, one, all_of_it in zip(hours.tolist(), taken.tolist(), observed.tolist(), strict=True):
            sums = found.setdefault(hour, [0, 0])
            sums[0] += int(one)
            sums[1] += int(all_of_it)
    return [
        HourUse(start=hour * WINDOW_MS / 1000, taken=taken, observed=observed)
        for hour, (taken, observed) in sorted(found.items())
    ]


def _located(
    look: Look, places: list[tuple[Place, int, int, int]], cut: Cut, unsealed: list[tuple[int, int, Ints]]
) -> Iterator[tuple[Longs, Longs]]:
    """Entries of places that count: of sealed hours, and of those that are not."""
    keys = np.array([(number << _MOMENT_BITS) | begin for _, number, begin, _ in places], np.int64)
    stops = np.array([stop for *_, stop in places], np.int64)
    is_sealed: set[tuple[int, int]] = set()
    if not places:
        return
    for table in _tables(read_usage(look.connection, cut), is_sealed):
        yield _locate(table, keys, stops)
    for table in _tables(((b, at, e) for b, at, e in unsealed if (b, at) not in is_sealed), set()):
        yield _locate(table, keys, stops)


def _locate(table: Longs, keys: Longs, stops: Longs) -> tuple[Longs, Longs]:
    """Each entry with its place; those of none that counts are left out."""
    moments = (table[SLOT] << _MOMENT_BITS) | table[BEGIN]
    place = np.searchsorted(keys, moments, side="right") - 1
    is_there = (place >= 0) & (keys[place] >> _MOMENT_BITS == table[SLOT]) & (stops[place] > table[BEGIN])
    return table[:, is_there], place[is_there].astype(np.int64)


def _places(look: Look, names: Names, cut: Cut) -> list[tuple[Place, int, int, int]]:
    """Those that count, with the number of the GPU and from when to when, in order; none overlap."""
    found: list[tuple[Place, int, int, int]] = []
    numbers = names.series["gpu"]
    for place in notes.read_places(
        look.connection, cut.start_ms / 1000, cut.end_ms / 1000, node=None, gpu=None
    ):
        begin = max(cut.start_ms, round(place.start * 1000))
        stop = cut.end_ms if place.end is None else min(cut.end_ms, round(place.end * 1000))
        if place.counted and begin < stop and place.gpu in numbers:
            found.append((place, numbers[place.gpu], begin, stop))
    found.sort(key=lambda one: one[1:3])
    return found


def _tables(rows: Iterator[tuple[int, int, Ints]], seen: set[tuple[int, int]]) -> Iterator[Longs]:
    """Entries of many hours side by side: number of the GPU, moment, kind, people, milliseconds."""
    parts: list[Longs] = []
    for block, start_ms, entries in rows:
        seen.add((block, start_ms))
        table = entries.astype(np.int64)
        table[SLOT] += block * SERIES
        table[BEGIN] += start_ms
        parts.append(table)
        if len(parts) == _STEP_ROWS:
            go_on()
            yield np.concatenate(parts, axis=1)
            parts = []
    if parts:
        yield np.concatenate(parts, axis=1)


class _Sums:
    """Milliseconds by place, kind and people, hour by hour: each is divided by itself."""

    def __init__(self) -> None:
        # Place, kind, crowd → the milliseconds of each hour, and what is known of memory.
        self._found: dict[tuple[int, int, int], list[int]] = {}
        self._memory: dict[tuple[int, int, int], int] = {}

    def add(self, table: Longs, place: Longs) -> None:
        order = np.lexsort((table[CROWD], table[KIND], place))
        table, place = table[:, order], place[order]
        changes = (np.diff(place) != 0) | (np.diff(table[KIND]) != 0) | (np.diff(table[CROWD]) != 0)
        borders = [0, *(np.flatnonzero(changes) + 1).tolist(), len(place)] if len(place) else [0]
        for first, last in pairwise(borders):
            key = (int(place[first]), int(table[KIND, first]), int(table[CROWD, first]))
            self._found.setdefault(key, []).extend(table[HELD, first:last].tolist())
            memory = table[MEMORY, first:last]
            if memory.max() >= 0:
                self._memory[key] = self._memory.get(key, 0) + int(memory[memory >= 0].sum())

    def tell(self, answer: list[PlaceUsage], names: Names) -> None:
        """Count it all, divided among those who were there."""
        for key, held in self._found.items():
            place, kind, crowd = key
            word = USAGE_KINDS[kind] if 0 <= kind < len(USAGE_KINDS) else None
            if word is None:
                continue
            people = sorted(set(names.people(crowd) or ())) if word in OWNED else []
            parts = _divided(held, people) if word in OWNED else {}
            answer[place].count(word, parts, sum(held))
            answer[place].hold(self._memory.get(key), parts)


def _divided(held: list[int], people: list[str]) -> dict[str, int]:
    if len(people) <= 1:
        return shares(sum(held), people)
    each = sum(one // len(people) for one in held)
    return {
        name: each + (sum(held) - each * len(people) if not place else 0) for place, name in enumerate(people)
    }


def _unsealed(look: Look, names: Names, cut: Cut, quiet_percent: float) -> Iterator[tuple[int, int, Ints]]:
    """Block, hour and entries of what has not been sealed."""
    blocks = sorted({number // SERIES for number in names.series["gpu"].values()})
    # Whoever is found idle an hour later may have stopped working here.
    for block, cells in look.unsealed(blocks, FIGURES, (cut.start_ms, cut.end_ms + WINDOW_MS)):
        go_on()
        for window in _windows(cells):
            inside = Cut(max(cut.start_ms, window.start_ms), min(cut.end_ms, window.start_ms + WINDOW_MS))
            if inside.start_ms < inside.end_ms and inside.start_ms == window.start_ms:
                places = places_in(look.connection, block, inside)
                for start_ms, entries in entries_of(window, places, inside, quiet_percent).items():
                    yield block, start_ms, entries


def _windows(found: list[Cells]) -> Iterator[Cells]:
    """Window by window, each with the one behind it."""
    starts = {
        at for one in found for at in range(one.start_ms // WINDOW_MS * WINDOW_MS, one.end_ms, WINDOW_MS)
    }
    for start in sorted(starts):
        cell_ms = found[0].cell_ms
        window = empty_cells(FIGURES, start, cell_ms, series=SERIES, count=2 * WINDOW_MS // cell_ms)
        for one in found:
            if one.start_ms < window.end_ms and one.end_ms > start:
                fill(window, one)
        yield window
