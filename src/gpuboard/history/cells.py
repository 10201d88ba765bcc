"""A stretch of the past on a grid: series by series, cell by cell."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gpuboard.history.blocks import Ints
from gpuboard.history.figures import NOTHING


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """One figure in every cell: its mean, least and most, `NOTHING` where there is none.

    Of a state all three are the last one, and where cells are the finest that are kept, the mean.
    """

    mean: Ints
    least: Ints
    most: Ints
    # For how many milliseconds of each cell it could be told; None: as long as anything was observed at all.
    held: Ints | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Figures of some series over some cells of equal length, from a moment on."""

    start_ms: int
    cell_ms: int
    # For how many milliseconds of each cell the series was observed.
    observed: Ints
    # By place of the figure.
    values: dict[int, Values] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many cells there are."""
        return int(self.observed.shape[1])

    @property
    def end_ms(self) -> int:
        """Where the last cell ends."""
        return self.start_ms + self.count * self.cell_ms

    def part(self, start_ms: int, end_ms: int) -> "Cells":
        """The cells from a moment to a moment, as far as there are any; both at a border between cells."""
        first = max(0, (start_ms - self.start_ms) // self.cell_ms)
        last = min(self.count, (end_ms - self.start_ms) // self.cell_ms)
        cut = slice(first, max(first, last))
        values = {place: cut_values(one, cut) for place, one in self.values.items()}
        return Cells(self.start_ms + first * self.cell_ms, self.cell_ms, self.observed[:, cut], values)


def cut_values(values: Values, cut: slice) -> Values:
    """Some cells of a figure."""
    held = None if values.held is None else values.held[:, cut]
    if values.least is values.mean:
        mean = values.mean[:, cut]
        return Values(mean, mean, mean, held)
    return Values(values.mean[:, cut], values.least[:, cut], values.most[:, cut], held)


def empty_cells(
    places: list[int],
    start_ms: int,
    cell_ms: int,
    *,
    series: int,
    count: int,
    with_extremes: bool = True,
) -> Cells:
    """Cells in which nothing was observed, to be filled; without extremes all three are the mean."""
    values = {}
    for place in places:
        tables = [np.full((series, count), NOTHING, np.int32) for _ in range(3 if with_extremes else 1)]
        mean, least, most = tables if with_extremes else tables * 3
        values[place] = Values(mean, least, most)
    return Cells(start_ms, cell_ms, np.zeros((series, count), np.int32), values)


def fill(into: Cells, found: Cells) -> None:
    """Put cells where they belong, unless something was observed there already: what is there stays."""
    found = found.part(into.start_ms, into.end_ms)
    first = (found.start_ms - into.start_ms) // into.cell_ms
    cut = slice(first, first + found.count)
    is_new = True if not into.observed[:, cut].any() else into.observed[:, cut] == 0
    for place, source in found.values.items():
        target = into.values.get(place)
        if target is None:
            continue
        if source.held is not None and target.held is None:
            # Nearly never: what is there so far could be told as long as it was observed.
            target = into.values[place] = Values(target.mean, target.least, target.most, into.observed.copy())
        np.copyto(target.mean[:, cut], source.mean, where=is_new)
        if target.least is not target.mean:
            np.copyto(target.least[:, cut], source.least, where=is_new)
            np.copyto(target.most[:, cut], source.most, where=is_new)
        if target.held is not None:
            held = found.observed if source.held is None else source.held
            np.copyto(target.held[:, cut], held, where=is_new)
    np.copyto(into.observed[:, cut], found.observed, where=is_new)


def settle(cells: Cells) -> Cells:
    """The same, with how long each figure held told apart only where that says more."""
    values = {}
    for place, one in cells.values.items():
        held = one.held
        if held is not None and not ((held != cells.observed) & (one.mean != NOTHING)).any():
            held = None
        values[place] = Values(one.mean, one.least, one.most, held)
    return Cells(cells.start_ms, cells.cell_ms, cells.observed, values)


def means_of(cells: Cells) -> Cells:
    """The same without extremes."""
    values = {place: Values(one.mean, one.mean, one.mean, one.held) for place, one in cells.values.items()}
    return Cells(cells.start_ms, cells.cell_ms, cells.observed, values)


def without(cells: Cells, outside: NDArray[np.bool_]) -> Cells:
    """The same, as if nothing had been observed in some cells of each series."""
    if not outside.any():
        return cells

    def blank(numbers: Ints, nothing: int) -> Ints:
        return np.where(outside, nothing, numbers).astype(np.int32)

    values = {}
    for place, one in cells.values.items():
        mean = blank(one.mean, NOTHING)
        is_same = one.least is one.mean
        least, most = (mean if is_same else blank(numbers, NOTHING) for numbers in (one.least, one.most))
        values[place] = Values(mean, least, most, None if one.held is None else blank(one.held, 0))
    return Cells(cells.start_ms, cells.cell_ms, blank(cells.observed, 0), values)
