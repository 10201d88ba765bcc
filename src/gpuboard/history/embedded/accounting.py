"""How much each GPU was used, and by whom: sealed hours, and what has come since, as one answer."""

import math
import sqlite3
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from gpuboard.history.blocks import Ints, different
from gpuboard.history.cells import Cells, empty_cells, fill
from gpuboard.history.embedded import notes
from gpuboard.history.embedded.memory_shares import MemoryShares
from gpuboard.history.embedded.names import Names
from gpuboard.history.embedded.reading import Look
from gpuboard.history.embedded.schema import SERIES, WINDOW_MS
from gpuboard.history.embedded.sums import Crowds, Sums
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
)
from gpuboard.history.embedded.usage_days import DAY_MS, counted_since_ms, read_days
from gpuboard.history.questions import go_on
from gpuboard.history.records import Place
from gpuboard.history.usage import OWNED, USAGE_KINDS, HourUse, PlaceUsage, Times, Usage, shares

# So many are added up at once.
_STEP_ENTRIES: Final = 50_000
_MOMENT_BITS: Final = 43
_SLOT_BITS: Final = 32
# Those that somebody has.
_TAKEN: Final = [USAGE_KINDS.index("used"), USAGE_KINDS.index("idle")]


# Block, the moment that its entries count from, and these.
_Row = tuple[int, int, Ints]


class Counting(NamedTuple):
    """How it is counted: below which use a GPU is idle, and whether memory is told too."""

    quiet_percent: float
    with_memory: bool = True


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
    known = [counted_since_ms(look.connection), *(at for _, at, _ in unsealed)]
    # What was before anything was counted is not even "not observed".
    first = max(first, min((at for at in known if at is not None), default=last))
    cut = Cut(first, max(first, last))
    places = _places(look, names, cut)
    return Ledger(cut, places, _located(look, places, cut, unsealed))


def read_accounts(look: Look, names: Names, start: float, end: float, how: Counting) -> Usage:
    """How long each GPU was what, and whose."""
    ledger = open_ledger(look, names, start, end, quiet_percent=how.quiet_percent)
    crowds, gpus = Crowds(names), {number: place.gpu for place, number, *_ in ledger.places}
    sums = _People(crowds, MemoryShares(crowds, gpus, ledger.cut) if how.with_memory else None)
    for table, place in ledger.tables:
        sums.add(table, place)
    answer = ledger.blank()
    sums.tell(answer, look.connection)
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
        seen = _longest(which, table[SLOT], table[HELD])
        for hour, *sums in zip(hours.tolist(), taken.tolist(), observed.tolist(), seen, strict=True):
            one = found.setdefault(hour, [0, 0, 0])
            one[:] = one[0] + int(sums[0]), one[1] + int(sums[1]), max(one[2], int(sums[2]))
    return [
        HourUse(start=hour * WINDOW_MS / 1000, taken=taken, observed=observed, seen=seen)
        for hour, (taken, observed, seen) in sorted(found.items())
    ]


def _longest(hours: Longs, slots: Longs, held: Longs) -> list[float]:
    """Of each hour, as they are numbered, for how long that GPU was observed that was so longest."""
    spots, which = np.unique((hours << _SLOT_BITS) | slots, return_inverse=True)
    sums = np.bincount(which, weights=held)
    firsts = np.flatnonzero(np.diff(spots >> _SLOT_BITS, prepend=-1))
    return np.maximum.reduceat(sums, firsts).tolist() if len(firsts) else []


def _located(
    look: Look, places: list[tuple[Place, int, int, int]], cut: Cut, unsealed: list[_Row]
) -> Iterator[tuple[Longs, Longs]]:
    """Entries of places that count: of sealed hours, and of those that are not."""
    if not places:
        return
    keys = np.array([(number << _MOMENT_BITS) | begin for _, number, begin, _ in places], np.int64)
    stops = np.array([stop for *_, stop in places], np.int64)
    for table in _tables(_each_hour_once(look, cut, unsealed)):
        yield _locate(table, keys, stops)


def _each_hour_once(look: Look, cut: Cut, unsealed: list[_Row]) -> Iterator[_Row]:
    """Sealed hours, days that are over, and what is in neither."""
    known: set[tuple[int, int]] = set()
    for block, start_ms, entries in read_usage(look.connection, cut):
        known.add((block, start_ms))
        yield block, start_ms, entries
    under_way = {(block, start_ms // DAY_MS * DAY_MS) for block, start_ms, _ in unsealed}
    # A copy: what is found there is known afterwards.
    for block, day, entries in read_days(look.connection, cut, frozenset(known)):
        if (block, day) in under_way:
            hours = different(entries[BEGIN] // WINDOW_MS)
            known.update((block, day + hour * WINDOW_MS) for hour in hours)
        yield block, day, entries
    yield from (row for row in unsealed if row[:2] not in known)


def _locate(table: Longs, keys: Longs, stops: Longs) -> tuple[Longs, Longs]:
    """Each entry with its place; those of none that counts are left out."""
    moments = (table[SLOT] << _MOMENT_BITS) | table[BEGIN]
    place = np.searchsorted(keys, moments, side="right") - 1
    is_there = (place >= 0) & (keys[place] >> _MOMENT_BITS == table[SLOT]) & (stops[place] > table[BEGIN])
    is_there &= (table[KIND] >= 0) & (table[KIND] < len(USAGE_KINDS))
    return (table, place) if is_there.all() else (table[:, is_there], place[is_there])


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


def _tables(rows: Iterator[_Row]) -> Iterator[Longs]:
    """Entries of many hours side by side: number of the GPU, moment, kind, people, time, memory."""
    parts: list[_Row] = []
    count = 0
    for row in rows:
        parts.append(row)
        count += row[2].shape[1]
        if count >= _STEP_ENTRIES:
            go_on()
            yield _side_by_side(parts)
            parts, count = [], 0
    if parts:
        yield _side_by_side(parts)


def _side_by_side(rows: list[_Row]) -> Longs:
    table = np.concatenate([entries for *_, entries in rows], axis=1, dtype=np.int64)
    counts = [entries.shape[1] for *_, entries in rows]
    table[SLOT] += np.repeat([block * SERIES for block, *_ in rows], counts)
    table[BEGIN] += np.repeat([start_ms for _, start_ms, _ in rows], counts)
    return table


class _People:
    """Milliseconds by place, kind and people; each hour is divided by itself."""

    def __init__(self, crowds: Crowds, shared: MemoryShares | None) -> None:
        self._crowds = crowds
        self._shared = shared
        # By crowd: milliseconds, what each person has of them; and perhaps memory, and whether any is known.
        self._sums = Sums()

    def add(self, table: Longs, place: Longs) -> None:
        people, which = self._crowds.of(table[CROWD])
        counts = np.array([max(1, len(names)) for names in people], np.int64)
        is_shared = (counts > 1)[which]
        each = table[HELD] // counts[which] if is_shared.any() else table[HELD]
        memory: tuple[Longs, ...] = ()
        if self._shared is not None:
            is_known = table[MEMORY] >= 0
            memory = np.where(is_known, table[MEMORY], 0), is_known.astype(np.int64)
            chosen = np.flatnonzero(is_known & is_shared)
            self._shared.add(table[:, chosen], place[chosen])
        self._sums.add(place, table[KIND], table[CROWD], table[HELD], each, *memory)

    def tell(self, answer: list[PlaceUsage], connection: sqlite3.Connection) -> None:
        """Count it all, divided among those who were there."""
        for place, kind, crowd, held, each, *told in self._sums.rows():
            one, word = answer[place], USAGE_KINDS[kind]
            parts = _divided(held, each, self._crowds.people(crowd)) if word in OWNED else {}
            one.count(word, parts, held)
            if told and told[1]:
                one.hold(told[0], parts)
        if self._shared is None:
            return
        for place, person, part in self._shared.rows(connection):
            answer[place].people[person].add_memory(part)


def _divided(held: int, each: int, people: list[str]) -> dict[str, int]:
    """Time of many hours, of which each person has so much; what is left is the first one's by name."""
    if len(people) == 1:
        return {people[0]: held}
    if not people:
        return shares(held, people)
    parts = dict.fromkeys(people, each)
    parts[people[0]] += held - each * len(people)
    return parts


def _unsealed(look: Look, names: Names, cut: Cut, quiet_percent: float) -> Iterator[_Row]:
    """Block, hour and entries of what has not been sealed."""
    blocks = sorted({number // SERIES for number in names.series["gpu"].values()})
    # Whoever is found idle an hour later may have stopped working here.
    for block, cells in look.unsealed(blocks, FIGURES, (cut.start_ms, cut.end_ms + WINDOW_MS)):
        go_on()
        for start, window in _windows(cells):
            inside = Cut(start, min(cut.end_ms, start + WINDOW_MS))
            if cut.start_ms <= start < cut.end_ms:
                places = places_in(look.connection, block, inside)
                for start_ms, entries in entries_of(window, places, inside, quiet_percent).items():
                    yield block, start_ms, entries


def _windows(found: list[Cells]) -> Iterator[tuple[int, Cells]]:
    """Window by window, each with the one behind it."""
    starts = {
        at for one in found for at in range(one.start_ms // WINDOW_MS * WINDOW_MS, one.end_ms, WINDOW_MS)
    }
    for start in sorted(starts):
        end, cell_ms = start + 2 * WINDOW_MS, found[0].cell_ms
        there = [one for one in found if one.start_ms < end and one.end_ms > start]
        if len(there) == 1:
            yield start, there[0].part(start, end)
            continue
        window = empty_cells(FIGURES, start, cell_ms, series=SERIES, count=2 * WINDOW_MS // cell_ms)
        for one in there:
            fill(window, one)
        yield start, window
