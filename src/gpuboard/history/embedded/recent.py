"""What is not sealed yet: segments and the tail, laid on the grid when somebody asks."""

import sqlite3
import threading
from collections import OrderedDict
from typing import Final, NamedTuple

import numpy as np

from gpuboard.history.cells import Cells
from gpuboard.history.downsample import fold
from gpuboard.history.embedded.chunks import STATES, Wanted
from gpuboard.history.embedded.samples import read_tables
from gpuboard.history.embedded.schema import HOUR_MS, MINUTE_MS, SERIES, Block
from gpuboard.history.embedded.sealing import split
from gpuboard.history.embedded.tail import Tail
from gpuboard.history.figures import Kind
from gpuboard.history.grid import Samples, ends_of, in_order, join, to_cells

# For spans up to this only the segments are read that matter; for longer ones all, and the result is kept.
SHORT_MS: Final = 10 * MINUTE_MS
CACHE_BYTES: Final = 16 * 1024**2


class Settled(NamedTuple):
    """What segments say up to the first moment of the tail, and those samples that matter beyond it."""

    border_ms: int
    cells: list[Cells]
    rest: Samples


class RecentCache:
    """What was laid on the grid lately, by block and figures; segments change every few minutes only."""

    def __init__(self) -> None:
        self._found: OrderedDict[object, tuple[object, Settled, int]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: object, stamp: object) -> Settled | None:
        """What was found, if it is of the same segments."""
        with self._lock:
            found = self._found.get(key)
            if found is None or found[0] != stamp:
                return None
            self._found.move_to_end(key)
            return found[1]

    def put(self, key: object, stamp: object, settled: Settled) -> None:
        """Keep what was found, and let go of what was not asked for longest."""
        with self._lock:
            before = self._found.pop(key, None)
            self._bytes -= before[2] if before else 0
            size = _size(settled)
            self._found[key] = (stamp, settled, size)
            self._bytes += size
            while self._bytes > CACHE_BYTES:
                self._bytes -= self._found.popitem(last=False)[1][2]


class Recent:
    """The unsealed samples of one kind, as one look at the file found them; of figures only these."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        tail: Tail,
        cache: RecentCache,
        *,
        kind: Kind,
        places: list[int],
        grid_ms: int,
    ) -> None:
        self._connection = connection
        self._cache = cache
        self._kind: Kind = kind
        self._places = places
        self._grid_ms = grid_ms
        self._tail = split(join(tail.read(connection, kind, places), places))
        self._none = join([], places)

    def cells(self, block: int, span: tuple[int, int], cell_ms: int, wanted: Wanted) -> list[Cells]:
        """What was observed in a span whose borders are borders of such cells, and maybe around it."""
        tail = _only(self._tail.get(block, self._none), wanted)
        if span[1] - span[0] <= SHORT_MS:
            near = [_only(one, wanted) for one in self._near(block, span, tail)]
            return self._lay(in_order(join([*near, tail], self._places)), span, cell_ms, wanted)
        settled = self._settled(block, tail, cell_ms, wanted)
        after = in_order(join([settled.rest, tail], self._places))
        rest = (max(settled.border_ms, span[0]), span[1])
        return [*settled.cells, *self._lay(after, rest, cell_ms, wanted)]

    def _settled(self, block: int, tail: Samples, cell_ms: int, wanted: Wanted) -> Settled:
        """Segments up to where the tail begins: no sample that is not among them can change that."""
        rows = self._segments(block)
        border = int(tail.at_ms.min()) // cell_ms * cell_ms if len(tail) else None
        key, stamp = (self._kind, block, cell_ms, repr(wanted)), (border, [row.number for row in rows])
        found = self._cache.get(key, stamp)
        if found is None:
            tables = [_only(one, wanted) for one in self._read(rows)]
            found = self._settle(in_order(join(tables, self._places)), border, cell_ms, wanted)
            self._cache.put(key, stamp, found)
        return found

    def _settle(self, samples: Samples, border: int | None, cell_ms: int, wanted: Wanted) -> Settled:
        ends = ends_of(samples)
        if border is None:
            border = _up(int(ends.max()), cell_ms) if len(samples) else 0
        rest = samples.take(np.flatnonzero((samples.at_ms >= border) | (ends > border)))
        return Settled(border, self._lay(samples, (0, border), cell_ms, wanted), rest)

    def _near(self, block: int, span: tuple[int, int], tail: Samples) -> list[Samples]:
        """The segments that have to do with a span: what held then, and whatever may have ended that."""
        rows = [row for row in self._segments(block) if row.first_ms < span[1]]
        begins = [row.first_ms for row in rows if row.reach_ms > span[0]]
        begins += tail.at_ms[tail.at_ms + tail.holds_ms > span[0]].tolist()
        if not begins:
            return []
        return self._read([row for row in rows if row.last_ms >= min(begins)])

    def _lay(self, samples: Samples, span: tuple[int, int], cell_ms: int, wanted: Wanted) -> list[Cells]:
        """Samples that are in order as cells of a span, as far as there are any."""
        if not len(samples):
            return []
        laid = []
        for start, end in _stretches(samples):
            first, last = max(span[0], start // cell_ms * cell_ms), min(span[1], _up(end, cell_ms))
            if first < last:
                laid.append(self._stretch(samples, (first, last), cell_ms, wanted))
        return laid

    def _stretch(self, samples: Samples, span: tuple[int, int], cell_ms: int, wanted: Wanted) -> Cells:
        first, last = span
        states, count = STATES[self._kind], (last - first) // self._grid_ms
        cells = to_cells(
            samples,
            states,
            first,
            self._grid_ms,
            series=wanted.series,
            count=count,
            with_extremes=wanted.with_extremes and cell_ms >= MINUTE_MS,
        )
        # Over minutes, as it will be when it is sealed: so that nothing changes on that day.
        for step_ms in (min(cell_ms, MINUTE_MS), cell_ms):
            factor = step_ms // cells.cell_ms
            cells = fold(cells, factor, states, with_extremes=wanted.with_extremes)
        return cells

    def _segments(self, block: int) -> "list[_Row]":
        rows = self._connection.execute(
            "SELECT id, first_ms, last_ms, reach_ms FROM segments WHERE kind = ? AND block = ? ORDER BY id",
            Block(self._kind, block).codes,
        )
        return [_Row(*row) for row in rows]

    def _read(self, rows: "list[_Row]") -> list[Samples]:
        blobs = (
            self._connection.execute("SELECT blob FROM segments WHERE id = ?", (row.number,)).fetchone()[0]
            for row in rows
        )
        return read_tables(blobs, self._places)


class _Row(NamedTuple):
    """One segment: when its first and last sample are, and until when any of them held at most."""

    number: int
    first_ms: int
    last_ms: int
    reach_ms: int


def _only(samples: Samples, wanted: Wanted) -> Samples:
    """Those of the series that are wanted, numbered as they are asked for."""
    if wanted.rows is None:
        return samples
    places = np.full(SERIES, -1, np.int32)
    places[wanted.rows] = np.arange(len(wanted.rows), dtype=np.int32)
    found = places[samples.series]
    chosen = samples.take(np.flatnonzero(found >= 0))
    return Samples(places[chosen.series], chosen.at_ms, chosen.holds_ms, chosen.figures)


def _stretches(samples: Samples) -> list[tuple[int, int]]:
    """From when to when anything held; a clock that was set wrong for a while leaves years in between."""
    order = np.argsort(samples.at_ms, kind="stable")
    starts = samples.at_ms[order]
    reach = np.maximum.accumulate(ends_of(samples)[order])
    breaks = np.flatnonzero(starts[1:] - reach[:-1] > HOUR_MS)
    firsts, lasts = [0, *(breaks + 1).tolist()], [*breaks.tolist(), len(starts) - 1]
    return [(int(starts[first]), int(reach[last])) for first, last in zip(firsts, lasts, strict=True)]


def _up(moment_ms: int, cell_ms: int) -> int:
    """The next border between cells."""
    return -(-moment_ms // cell_ms) * cell_ms


def _size(settled: Settled) -> int:
    size = sum(column.nbytes for column in settled.rest.figures.values()) + 16 * len(settled.rest)
    for cells in settled.cells:
        tables = {id(cells.observed): cells.observed}
        for values in cells.values.values():
            tables |= {id(one): one for one in (values.mean, values.least, values.most)}
        size += sum(table.nbytes for table in tables.values())
    return size
