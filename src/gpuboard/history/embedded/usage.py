"""GPU-hours in the file: for each block and hour, which GPU was what, whose, and for how many milliseconds.

A row is made when its hour is sealed, in the same transaction and from the same cells; what is not sealed
yet is reckoned from the samples when somebody asks. So nothing is counted twice, and nothing that is safe is
missing.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpuboard.history.blocks import SMALL, BlockError, Ints, different, pack, unpack, unpack_each
from gpuboard.history.cells import Cells
from gpuboard.history.embedded.chunks import HOLDERS
from gpuboard.history.embedded.idling import USE, VERDICT, Stretch, count_idle_back
from gpuboard.history.embedded.names import NOBODY, SOMEBODY, UNKNOWN
from gpuboard.history.embedded.schema import KIND_CODES, SERIES, WINDOW_MS
from gpuboard.history.figures import LARGEST, NOTHING, VERDICT_CODES, VERDICTS, place_of
from gpuboard.history.usage import OWNED, USAGE_KINDS, kind_of

MEMORY_USED: Final = place_of("gpu", "memory_used_bytes")
# The figures that usage follows from.
FIGURES: Final = [USE, VERDICT, HOLDERS, MEMORY_USED]
# Of an entry: which series of the block, where in the hour its place begins, kind, people, milliseconds, and
# MiB times seconds that were held, less than nothing where that is not known.
SLOT, BEGIN, KIND, CROWD, HELD, MEMORY = range(6)
ENTRY_ROWS: Final = 6
# Those of files from before memory was counted.
_ROWS_BEFORE: Final = 5
_ROWS_AT_ONCE: Final = 64
_NONE: Final = -1
# Of used and idle time: nobody holds anything otherwise.
_HOLDING: Final = 2
_KIND_BITS: Final = 32
_HOUR_BITS: Final = 35
# Hours since 1970 have room until 2089.
_HOURS: Final = (1 << 20) - 1
_ROW_BITS: Final = 55
_IDLE: Final = VERDICT_CODES["idle"]
_kinds: Final = [kind_of(word) for word in VERDICTS]
# By the code of a verdict; one that cannot be told is the last.
_KIND_OF: Final = np.array([*(_NONE if kind is None else USAGE_KINDS.index(kind) for kind in _kinds), _NONE])

Longs = NDArray[np.int64]
# Series of a block → from when to when it was somewhere, in order.
PlacesOf = dict[int, list[tuple[int, int]]]


class Cut(NamedTuple):
    """From when to when something is counted, in milliseconds."""

    start_ms: int
    end_ms: int


def entries_of(cells: Cells, places: PlacesOf, cut: Cut, quiet_percent: float) -> dict[int, Ints]:
    """What the GPUs of a block were, by the hour's begin: an entry a column.

    Cells beyond the cut only tell who was idle.
    """
    slots = [slot for slot in sorted(places) if cells.observed[slot].any()]
    if not slots:
        return {}
    inside = cells.part(cut.start_ms, cells.start_ms + _up(cut.end_ms - cells.start_ms, cells.cell_ms))
    first = (inside.start_ms - cells.start_ms) // cells.cell_ms
    verdicts, crowds = _verdicts_and_crowds(cells, slots, quiet_percent)
    states = _kinds_and_crowds(*(one[:, first : first + inside.count] for one in (verdicts, crowds)))
    found: list[Longs] = []
    # Nearly always each was in one place.
    for layer in range(max(len(places[slot]) for slot in slots)):
        rows = [row for row, slot in enumerate(slots) if len(places[slot]) > layer]
        spans = np.clip([places[slots[row]][layer] for row in rows], cut.start_ms, cut.end_ms)
        found.append(_tally(inside, np.array(slots)[rows], (states[0][rows], states[1][rows]), spans))
    table = np.concatenate(found, axis=1)
    hours = table[ENTRY_ROWS]
    return {hour * WINDOW_MS: table[:ENTRY_ROWS, hours == hour].astype(np.int32) for hour in different(hours)}


def _up(milliseconds: int, cell_ms: int) -> int:
    return -(-milliseconds // cell_ms) * cell_ms


def _verdicts_and_crowds(cells: Cells, slots: list[int], quiet_percent: float) -> tuple[Ints, Ints]:
    """As they were said, and idle from when work stopped."""
    verdicts, crowds = (cells.values[place].mean[slots] for place in (VERDICT, HOLDERS))
    for row in np.flatnonzero((verdicts == _IDLE).any(axis=1)).tolist():
        is_seen, use = cells.observed[slots[row]] > 0, cells.values[USE].mean[slots[row]]
        stretch = Stretch(cells.start_ms, cells.cell_ms, is_seen, verdicts[row], crowds[row], use)
        # In place.
        count_idle_back(stretch, quiet_percent)
    return verdicts, crowds


def _kinds_and_crowds(verdicts: Ints, crowds: Ints) -> tuple[Ints, Ints]:
    is_known = (verdicts >= 0) & (verdicts < len(VERDICTS))
    kinds = _KIND_OF[np.where(is_known, verdicts, len(VERDICTS))].astype(np.int32)
    # Whoever it is: somebody used it. What is nobody's has nobody.
    crowds = np.where((crowds == NOTHING) | (crowds == NOBODY), UNKNOWN, crowds)
    return kinds, np.where(kinds < len(OWNED), crowds, NOBODY).astype(np.int32)


def _tally(cells: Cells, slots: Longs, states: tuple[Ints, Ints], spans: Longs) -> Longs:
    """How long each was what, and whose, no longer than it was there; the last row is the hour."""
    begins = cells.start_ms + cells.cell_ms * np.arange(cells.count)
    room = np.minimum(begins + cells.cell_ms, spans[:, 1:]) - np.maximum(begins, spans[:, :1])
    held = np.minimum(cells.observed[slots], room)
    found = np.flatnonzero((held > 0) & (states[0] != _NONE))
    row, column = np.divmod(found, cells.count)
    kinds, crowds = (one.ravel()[found].astype(np.int64) for one in states)
    hours = (begins // WINDOW_MS)[column]
    keys = (row << _ROW_BITS) | (hours << _HOUR_BITS) | (kinds << _KIND_BITS) | crowds
    entries = _Entries(keys)
    keys = entries.keys
    table = np.empty((ENTRY_ROWS + 1, len(keys)), np.int64)
    rows, hours = keys >> _ROW_BITS, (keys >> _HOUR_BITS) & _HOURS
    table[SLOT] = slots[rows]
    table[BEGIN] = np.maximum(0, spans[rows, 0] - hours * WINDOW_MS)
    table[KIND] = (keys >> _KIND_BITS) & 7
    table[CROWD] = keys & 0xFFFFFFFF
    told = held.ravel()[found]
    table[HELD] = entries.sums(told)
    memory = cells.values[MEMORY_USED].mean[slots].ravel()[found]
    table[MEMORY] = _held_memory(memory, told, entries)
    table[MEMORY] = np.where(table[KIND] < _HOLDING, table[MEMORY], _NONE)
    table[ENTRY_ROWS] = hours
    return table


class _Entries:
    """Cells of the same key as one entry, by key."""

    def __init__(self, keys: Longs) -> None:
        # Most cells are as the one before: few keys are left to be put in order.
        self._firsts = np.flatnonzero(np.diff(keys, prepend=-1))
        self.keys, self._which = np.unique(keys[self._firsts], return_inverse=True)

    def sums(self, numbers: NDArray[np.signedinteger]) -> Longs:
        """What the cells of each entry have together."""
        sums = np.zeros(len(self.keys), np.int64)
        if len(sums):
            np.add.at(sums, self._which, np.add.reduceat(numbers, self._firsts, dtype=np.int64))
        return sums


def _held_memory(memory: Ints, held: NDArray[np.signedinteger], entries: _Entries) -> Longs:
    """MiB times seconds of each entry; less than nothing where no cell tells."""
    is_told = memory != NOTHING
    sums = entries.sums(np.where(is_told, memory.astype(np.int64) * held, 0)) / 1000
    told = entries.sums(is_told.astype(np.int64)) > 0
    return np.where(told, np.minimum(np.rint(sums), LARGEST), _NONE).astype(np.int64)


def put_usage(connection: sqlite3.Connection, block: int, start_ms: int, entries: Ints) -> None:
    """Note what an hour of a block was, in place of what stands there."""
    if entries.shape[1]:
        connection.execute(
            "INSERT OR REPLACE INTO usage VALUES (?, ?, ?, ?)",
            (start_ms, block, bool((entries[CROWD] > SOMEBODY).any()), pack(entries, level=SMALL)),
        )


def seal_usage(connection: sqlite3.Connection, block: int, cells: Cells, quiet_percent: float) -> None:
    """Note the window that these cells begin with; they may go on beyond it."""
    cut = Cut(cells.start_ms, cells.start_ms + WINDOW_MS)
    places = places_in(connection, block, cut)
    for start_ms, entries in entries_of(cells, places, cut, quiet_percent).items():
        put_usage(connection, block, start_ms, entries)


def places_in(connection: sqlite3.Connection, block: int, cut: Cut) -> PlacesOf:
    """Where the GPUs of a block were."""
    rows = connection.execute(
        "SELECT series.number, places.start, places.stop FROM series JOIN places ON places.gpu = series.name "
        "WHERE series.kind = ? AND series.number >= ? AND series.number < ? "
        "AND places.start < ? AND (places.stop IS NULL OR places.stop > ?) ORDER BY 1, 2",
        (KIND_CODES["gpu"], block * SERIES, (block + 1) * SERIES, cut.end_ms / 1000, cut.start_ms / 1000),
    )
    found: PlacesOf = {}
    for number, start, stop in rows:
        end = cut.end_ms if stop is None else min(cut.end_ms, round(stop * 1000))
        found.setdefault(number % SERIES, []).append((max(cut.start_ms, round(start * 1000)), end))
    return found


def read_usage(
    connection: sqlite3.Connection, cut: Cut, block: int | None = None
) -> Iterator[tuple[int, int, Ints]]:
    """Block, hour and entries of the hours in a span that stand by themselves, of one block or of all."""
    which, values = "start_ms >= ? AND start_ms < ?", list(cut)
    if block is not None:
        which, values = f"{which} AND block = ?", [*values, block]
    return entries_in(
        connection.execute(f"SELECT block, start_ms, blob FROM usage WHERE {which}", values)  # noqa: S608
    )


def entries_in(rows: sqlite3.Cursor) -> Iterator[tuple[int, int, Ints]]:
    """Block, moment and entries of rows; those that cannot be read are left out: not observed is honest."""
    while some := rows.fetchmany(_ROWS_AT_ONCE):
        for (block, moment, _), entries in zip(some, unpack_each([row[2] for row in some]), strict=True):
            if entries is not None and entries.shape[0] == _ROWS_BEFORE:
                yield block, moment, np.pad(entries, ((0, 1), (0, 0)), constant_values=_NONE)
            elif entries is not None and entries.shape[0] == ENTRY_ROWS:
                yield block, moment, entries


def nameless(rows: Iterable[tuple[int, int, bytes]]) -> Iterator[tuple[bytes, int, int]]:
    """Rows whose people are somebody, to be put in place of these."""
    for start_ms, block, blob in rows:
        try:
            entries = unpack(blob)
        except BlockError:
            yield b"", start_ms, block
            continue
        entries[CROWD] = np.where(entries[CROWD] > SOMEBODY, SOMEBODY, entries[CROWD])
        yield pack(entries, level=SMALL), start_ms, block
