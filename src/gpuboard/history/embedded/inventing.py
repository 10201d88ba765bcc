"""A past that nobody lived through, put into the file as if it had been sealed long ago; for demos."""

import sqlite3
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpuboard.history.blocks import Ints, different
from gpuboard.history.cells import Cells, Values
from gpuboard.history.embedded.chunks import HOLDERS, write_cells
from gpuboard.history.embedded.names import Names
from gpuboard.history.embedded.schema import CELLS, HOUR_MS, SERIES, TIER_CODES, WINDOW_MS, Block
from gpuboard.history.embedded.usage import Cut, entries_of, places_in, put_usage
from gpuboard.history.figures import NOTHING, Kind
from gpuboard.history.records import Tier

Numbers = NDArray[np.int64]
DAY_MS: Final = 24 * HOUR_MS


class Invented(NamedTuple):
    """Figures of GPUs or hosts on the grid of one tier."""

    kind: Kind
    # None: it is only counted, as GPU-hours; so are minutes.
    tier: Tier | None
    # One for each row; GPUs have a place already.
    names: list[str]
    cells: Cells
    # The sets of people that the holders are numbers of, by their places here.
    crowds: tuple[tuple[str, ...], ...] = ()


def put_invented(
    connection: sqlite3.Connection, names: Names, past: Invented, *, now: float, quiet_percent: float
) -> None:
    """Write all of it, and note that nothing before it is known so finely."""
    for name in past.names if past.kind == "host" else ():
        names.give_series(connection, "host", name, name, now=now)
    cells = past.cells
    if past.crowds:
        numbers = [names.give_crowd(connection, crowd, past.names[0], now=now) for crowd in past.crowds]
        values = {**cells.values, HOLDERS: _numbered(cells.values[HOLDERS], numbers)}
        cells = Cells(cells.start_ms, cells.cell_ms, cells.observed, values)
    rows = np.array([names.series[past.kind][name] for name in past.names])
    for number in different(rows // SERIES):
        chosen = np.flatnonzero(rows // SERIES == number)
        block = _spread(cells, chosen, rows[chosen] % SERIES)
        if past.kind == "gpu" and past.tier in {None, "minutes"}:
            _count(connection, number, block, quiet_percent)
        if past.tier is not None:
            for window in _windows(block):
                write_cells(connection, past.tier, Block(past.kind, number), window)
    if past.tier is not None and TIER_CODES[past.tier] < max(TIER_CODES.values()):
        fact = (f"forgotten_{past.tier}_ms", str(cells.start_ms))
        connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", fact)


def _count(connection: sqlite3.Connection, number: int, cells: Cells, quiet_percent: float) -> None:
    """Count the whole hours of it."""
    first, last = -(-cells.start_ms // WINDOW_MS) * WINDOW_MS, cells.end_ms // WINDOW_MS * WINDOW_MS
    cut = Cut(first, max(first, last))
    found = entries_of(cells, places_in(connection, number, cut), cut, quiet_percent)
    for start_ms, entries in found.items():
        put_usage(connection, number, start_ms, entries)


def _numbered(values: Values, numbers: list[int]) -> Values:
    known = np.array([*numbers, NOTHING], np.int32)
    mean = known[np.where(values.mean == NOTHING, len(numbers), values.mean)]
    return Values(mean, mean, mean, values.held)


def _spread(cells: Cells, chosen: Numbers, slots: Numbers) -> Cells:
    """The chosen rows, each at its place among all of a block."""

    def spread(table: Ints, nothing: int) -> Ints:
        found = np.full((SERIES, cells.count), nothing, np.int32)
        found[slots] = table[chosen]
        return found

    values = {}
    for place, one in cells.values.items():
        mean = spread(one.mean, NOTHING)
        is_plain = one.least is one.mean
        least, most = (mean, mean) if is_plain else (spread(one.least, NOTHING), spread(one.most, NOTHING))
        values[place] = Values(mean, least, most)
    return Cells(cells.start_ms, cells.cell_ms, spread(cells.observed, 0), values)


def _windows(cells: Cells) -> Iterator[Cells]:
    """Chunk by chunk, as they would have been sealed and joined; what is no whole window, day by day."""
    window = CELLS * cells.cell_ms
    for start in range(cells.start_ms // window * window, cells.end_ms, window):
        first, last = max(start, cells.start_ms), min(start + window, cells.end_ms)
        days = range(first // DAY_MS * DAY_MS, last, DAY_MS) if last - first < window else [start]
        for day in days:
            end = last if len(days) == 1 else min(day + DAY_MS, last)
            part = cells.part(max(day, first), end)
            if part.count and part.observed.any():
                yield part
