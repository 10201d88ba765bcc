"""Cells of one block of series as rows of a table: one per figure, and one for how long it was observed."""

import logging
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import numpy as np

from gpuboard.history.blocks import SMALL, BlockError, Ints, pack, shape_of, unpack
from gpuboard.history.cells import Cells, Values, empty_cells, fill, settle
from gpuboard.history.embedded.schema import OBSERVED, SERIES, SPANS_MS, TIER_CODES, Block
from gpuboard.history.figures import FIGURES, NOTHING, Kind
from gpuboard.history.records import Tier

log = logging.getLogger(__name__)

STATES: Final = {
    kind: frozenset(place for place, figure in enumerate(figures) if figure.is_state)
    for kind, figures in FIGURES.items()
}
PLACES: Final = {kind: list(range(len(figures))) for kind, figures in FIGURES.items()}
HOLDERS: Final = len(FIGURES["gpu"]) - 1

_READ: Final = """
SELECT figure, start_ms, cell_ms, blob FROM chunks
WHERE tier = ? AND kind = ? AND block = ? AND figure = ? AND start_ms > ? AND start_ms < ?
"""
_WRITE: Final = "INSERT OR REPLACE INTO chunks VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


class Wanted(NamedTuple):
    """What is to be read of a block: which figures, of which of its series, and whether with extremes."""

    places: list[int]
    # None: of all.
    rows: list[int] | None = None
    with_extremes: bool = True

    @property
    def series(self) -> int:
        """How many series are read."""
        return SERIES if self.rows is None else len(self.rows)


EVERYTHING: Final = {kind: Wanted(places) for kind, places in PLACES.items()}


def write_cells(connection: sqlite3.Connection, tier: Tier, block: Block, cells: Cells) -> None:
    """Write cells down as one chunk; figures that say nothing anywhere take no room."""
    rows = [(OBSERVED, cells.observed)]
    for place, values in cells.values.items():
        parts = _parts(values)
        if (parts[0] != NOTHING).any():
            rows.append((place, parts[0] if len(parts) == 1 else np.concatenate(parts)))
    codes = (TIER_CODES[tier], *block.codes)
    shape = (cells.start_ms, cells.cell_ms, cells.count)
    connection.executemany(
        _WRITE,
        [
            (*codes, place, *shape, block.kind == "gpu" and place == HOLDERS, pack(row, level=SMALL))
            for place, row in rows
        ],
    )


def read_cells(
    connection: sqlite3.Connection,
    tier: Tier,
    block: Block,
    wanted: Wanted,
    *,
    span: tuple[int, int],
) -> Iterator[Cells]:
    """All chunks of a block that touch a span, each turned back only when it is its turn."""
    start_ms, end_ms = span
    limits = (start_ms - SPANS_MS[tier], end_ms)
    found: dict[tuple[int, int], list[tuple[int, bytes]]] = defaultdict(list)
    for place in (OBSERVED, *wanted.places):
        key = (TIER_CODES[tier], *block.codes, place, *limits)
        for figure, start, cell, blob in connection.execute(_READ, key):
            found[start, cell].append((figure, blob))
    for (start, cell), rows in found.items():
        read = {}
        for figure, blob in rows:
            try:
                read[figure] = _read(blob, wanted)
            except BlockError as error:
                # A gap is honest; no answer at all for a month because of one bad hour is not.
                log.warning(
                    "chunk cannot be read: tier=%s block=%s start=%d reason=%s", tier, block, start, error
                )
        observed = read.pop(OBSERVED, None)
        if observed is not None and start + cell * observed.mean.shape[1] > start_ms:
            yield Cells(start, cell, observed.mean, read)


def known_spans(
    connection: sqlite3.Connection, tier: Tier, block: Block, *, span: tuple[int, int]
) -> list[tuple[int, int]]:
    """From when to when there are chunks of a block that touch a span."""
    return connection.execute(
        "SELECT start_ms, start_ms + cells * cell_ms FROM chunks WHERE tier = ? AND kind = ? AND block = ? "
        "AND figure = ? AND start_ms > ? AND start_ms < ?",
        (TIER_CODES[tier], *block.codes, OBSERVED, span[0] - SPANS_MS[tier], span[1]),
    ).fetchall()


def put_cells(connection: sqlite3.Connection, tier: Tier, block: Block, cells: Cells, *, wins: bool) -> Cells:
    """Write cells where there may be some already, as when a clock was set back; return what is there now.

    Where both have something, what was there stays, unless the new one wins.
    """
    span = (cells.start_ms, cells.end_ms)
    if not _is_anything(connection, tier, block, span):
        write_cells(connection, tier, block, cells)
        return cells
    there = list(read_cells(connection, tier, block, EVERYTHING[block.kind], span=span))
    if any(one.cell_ms != cells.cell_ms for one in there):
        # On another grid, which was changed since: what is there stays.
        return there[0]
    merged = merge([cells, *there] if wins else [*there, cells], block.kind)
    delete_cells(connection, tier, block, there)
    write_cells(connection, tier, block, merged)
    return merged.part(*span)


def _is_anything(connection: sqlite3.Connection, tier: Tier, block: Block, span: tuple[int, int]) -> bool:
    found = connection.execute(
        "SELECT 1 FROM chunks WHERE tier = ? AND kind = ? AND block = ? AND figure = ? "
        "AND start_ms > ? AND start_ms < ? AND start_ms + cells * cell_ms > ?",
        (TIER_CODES[tier], *block.codes, OBSERVED, span[0] - SPANS_MS[tier], span[1], span[0]),
    )
    return found.fetchone() is not None


def delete_cells(connection: sqlite3.Connection, tier: Tier, block: Block, cells: Iterable[Cells]) -> None:
    """Delete whole chunks."""
    connection.executemany(
        "DELETE FROM chunks WHERE tier = ? AND kind = ? AND block = ? AND start_ms = ? AND cell_ms = ?",
        [(TIER_CODES[tier], *block.codes, one.start_ms, one.cell_ms) for one in cells],
    )


def merge(parts: list[Cells], kind: Kind, *, span: tuple[int, int] | None = None) -> Cells:
    """Several stretches of one grid as one; where two have something, the first one's counts."""
    start, end = span or (min(one.start_ms for one in parts), max(one.end_ms for one in parts))
    cell = parts[0].cell_ms
    merged = empty_cells(PLACES[kind], start, cell, series=SERIES, count=(end - start) // cell)
    for part in parts:
        fill(merged, part)
    return settle(merged)


def _parts(values: Values) -> list[Ints]:
    parts = [values.mean]
    if values.least is not values.mean and not _same(values):
        parts += [values.least, values.most]
    return parts if values.held is None else [*parts, values.held]


def _same(values: Values) -> bool:
    return np.array_equal(values.least, values.mean) and np.array_equal(values.most, values.mean)


def _read(blob: bytes, wanted: Wanted) -> Values:
    """What stands in a row: the mean, or mean, least and most; and how long it held, if told apart.

    Raises:
        BlockError: the bytes are damaged.
    """
    parts = shape_of(blob)[0] // SERIES
    has_extremes, has_held = parts > 2, parts in (2, 4)  # noqa: PLR2004 - mean; least and most; held
    chosen = [
        0,
        *((1, 2) if has_extremes and wanted.with_extremes else ()),
        *((parts - 1,) if has_held else ()),
    ]
    if len(chosen) == parts and wanted.rows is None:
        table = unpack(blob)
    else:
        rows = range(SERIES) if wanted.rows is None else wanted.rows
        table = unpack(blob, [part * SERIES + row for part in chosen for row in rows])
    tables = [table[place * wanted.series : (place + 1) * wanted.series] for place in range(len(chosen))]
    held = tables.pop() if has_held else None
    mean, least, most = tables if len(tables) > 1 else tables * 3
    return Values(mean, least, most, held)
