"""One look at the past: which tier, which blocks, and all of it brought to one grid."""

import sqlite3
from collections.abc import Iterator, Mapping

from gpuboard.history.cells import Cells, empty_cells, fill, settle
from gpuboard.history.downsample import fold
from gpuboard.history.embedded.chunks import STATES, Wanted, known_spans, read_cells
from gpuboard.history.embedded.pieces import Piece, Points, joined, pieces_of
from gpuboard.history.embedded.recent import Recent, RecentCache
from gpuboard.history.embedded.retention import forgotten_ms
from gpuboard.history.embedded.schema import HOUR_MS, MINUTE_MS, TIERS, Block
from gpuboard.history.embedded.tail import Tail
from gpuboard.history.figures import Kind
from gpuboard.history.questions import go_on
from gpuboard.history.records import Tier


class Look:
    """One consistent look at the file."""

    def __init__(self, connection: sqlite3.Connection, tail: Tail, cache: RecentCache, grid_ms: int) -> None:
        self.connection = connection
        self._tail = tail
        self._cache = cache
        self._grid_ms = grid_ms
        self._cells_ms: dict[Tier, int] = {"full": grid_ms, "minutes": MINUTE_MS, "hours": HOUR_MS}

    def cell_ms(self, tier: Tier) -> int:
        """How long a cell of a tier is."""
        return self._cells_ms[tier]

    def tier_for(self, start: float, seconds_per_point: float) -> Tier:
        """The coarsest tier that is fine enough, or a coarser one where that is no longer there."""
        fitting = [tier for tier in TIERS if self._cells_ms[tier] <= seconds_per_point * 1000]
        chosen = fitting[-1] if fitting else TIERS[0]
        for coarser in TIERS[TIERS.index(chosen) + 1 :]:
            if start * 1000 >= forgotten_ms(self.connection, chosen):
                break
            chosen = coarser
        return chosen

    def blocks(
        self, tier: Tier, kind: Kind, wanted: Mapping[int, Wanted], points: Points
    ) -> Iterator[tuple[int, Piece, Cells]]:
        """Block by block, and piece by piece in the order of time, what is known of a span.

        What is looked at is what is known, however long the span is; pieces of which nothing is are left out.
        """
        places = next((one.places for one in wanted.values()), [])
        recent = Recent(
            self.connection, self._tail, self._cache, kind=kind, places=places, grid_ms=self._grid_ms
        )
        cell_ms, span = self._cells_ms[tier], (points.begin, points.finish)
        for number, of_it in wanted.items():
            go_on()
            block, fresh = Block(kind, number), recent.cells(number, span, cell_ms, of_it)
            known = known_spans(self.connection, tier, block, span=span)
            known += [(cells.start_ms, cells.end_ms) for cells in fresh]
            for piece in pieces_of(points, cell_ms, joined(known)):
                go_on()
                yield number, piece, self._piece(tier, block, of_it, piece, fresh)

    def unsealed(
        self, blocks: list[int], places: list[int], span: tuple[int, int]
    ) -> Iterator[tuple[int, list[Cells]]]:
        """Of GPUs, block by block, what is in no chunk yet, on the grid."""
        wanted = Wanted(places, with_extremes=False)
        recent = Recent(
            self.connection, self._tail, self._cache, kind="gpu", places=places, grid_ms=self._grid_ms
        )
        for number in blocks:
            found = recent.cells(number, span, self._grid_ms, wanted)
            if found:
                yield number, found

    def _piece(self, tier: Tier, block: Block, wanted: Wanted, piece: Piece, fresh: list[Cells]) -> Cells:
        cell_ms, span = self._cells_ms[tier], (piece.start, piece.end)
        cells = empty_cells(
            *(wanted.places, piece.start, cell_ms),
            series=wanted.series,
            count=(piece.end - piece.start) // cell_ms,
            with_extremes=wanted.with_extremes,
        )
        for found in read_cells(self.connection, tier, block, wanted, span=span):
            fill(cells, self._on_grid(found, cell_ms, block.kind))
        for found in fresh:
            fill(cells, found)
        return settle(cells)

    def _on_grid(self, found: Cells, cell_ms: int, kind: Kind) -> Cells:
        """A chunk of a finer grid as one of that which all are read on."""
        return fold(found, max(1, cell_ms // found.cell_ms), STATES[kind])
