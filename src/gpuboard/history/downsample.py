"""Cells into longer cells: minutes into hours, hours into points of a plot. Pure.

Means are weighted by how long each value held; the least and the most survive however long the cells become;
of a state the last one that was observed.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpuboard.history.blocks import Ints
from gpuboard.history.cells import Cells, Values, settle
from gpuboard.history.figures import LARGEST, NOTHING

Floats = NDArray[np.float64]


def fold(cells: Cells, factor: int, states: frozenset[int], *, with_extremes: bool = True) -> Cells:
    """Make one cell of every so many; there are as many as make whole ones.

    Without extremes, which nobody wants, least and most are the mean.
    """
    if factor == 1:
        return cells
    observed = _parts(cells.observed, factor)
    sums = observed.sum(axis=0, dtype=np.int32)
    values = {}
    for place, one in cells.values.items():
        if place in states:
            last = _last(_parts(one.mean, factor), observed)
            values[place] = Values(last, last, last)
        else:
            values[place] = _fold_values(one, observed, factor, with_extremes=with_extremes)
    return settle(Cells(cells.start_ms, cells.cell_ms * factor, sums, values))


def _parts(table: Ints, factor: int) -> Ints:
    """All first cells of the longer ones, then all second ones: numpy is quick along such, not across."""
    series, count = table.shape
    return np.ascontiguousarray(table.reshape(series, count // factor, factor).transpose(2, 0, 1))


def _fold_values(values: Values, observed: Ints, factor: int, *, with_extremes: bool) -> Values:
    mean = _parts(values.mean, factor)
    if mean.max(initial=NOTHING) == NOTHING:
        nothing = np.full(mean.shape[1:], NOTHING, np.int32)
        return Values(nothing, nothing, nothing)
    weights = observed if values.held is None else _parts(values.held, factor)
    is_whole = bool(mean.min() > NOTHING)
    is_told = mean != NOTHING
    if not is_whole:
        weights = np.where(is_told, weights, 0)
    held = weights.sum(axis=0, dtype=np.int64)
    if is_whole and weights.min() == weights.max():
        # Nearly always: every cell was observed from end to end.
        means = np.rint(mean.sum(axis=0, dtype=np.int64) / factor).astype(np.int32)
    else:
        sums = (mean * weights.astype(np.float64)).sum(axis=0)
        means = np.where(held > 0, np.rint(sums / np.maximum(held, 1)), NOTHING).astype(np.int32)
    if not with_extremes:
        return Values(means, means, means, held.astype(np.int32))
    most = mean if values.most is values.mean else _parts(values.most, factor)
    least = mean if values.least is values.mean else _parts(values.least, factor)
    if is_whole:
        return Values(means, least.min(axis=0), most.max(axis=0), held.astype(np.int32))
    lowest = np.where(is_told, least, LARGEST).min(axis=0)
    return Values(means, np.where(held > 0, lowest, NOTHING), most.max(axis=0), held.astype(np.int32))


def _last(states: Ints, observed: Ints) -> Ints:
    """The state in the last of the cells in which anything was observed."""
    found: Ints = states[-1]
    if observed[-1].min(initial=1) > 0:
        return found
    found = np.full(states.shape[1:], NOTHING, np.int32)
    for state, seen in zip(states, observed, strict=True):
        np.copyto(found, state, where=seen > 0)
    return found


@dataclass(slots=True, eq=False)
class Sum:
    """The mean over several series, point by point, while they are gathered."""

    weighted: Floats
    weights: Floats
    least: Floats
    most: Floats
    with_extremes: bool

    @classmethod
    def over(cls, points: int, *, with_extremes: bool = True) -> "Sum":
        """Nothing yet."""
        least, most = np.full(points, np.inf), np.full(points, -np.inf)
        return cls(np.zeros(points), np.zeros(points), least, most, with_extremes)

    def add(
        self,
        values: Values,
        observed: Ints,
        rows: NDArray[np.int64] | slice,
        points: slice,
        factor: int = 1,
    ) -> None:
        """Add some of the series of a block to some of the points, each of so many cells."""
        mean, seen = values.mean[rows], observed[rows]
        held = seen if values.held is None else values.held[rows]
        # Nearly always; and a table more of all cells takes as long as everything else here.
        is_whole = bool(mean.size) and mean.min() > NOTHING and held.min() > 0
        if not is_whole:
            held = np.where((mean != NOTHING) & (seen > 0), held, 0)
        # Added up by series, and only then by point.
        weighted = np.einsum("ij,ij->j", mean, held, dtype=np.float64)
        self.weighted[points] += weighted.reshape(-1, factor).sum(axis=1)
        self.weights[points] += held.sum(axis=0, dtype=np.float64).reshape(-1, factor).sum(axis=1)
        if not self.with_extremes:
            return
        lowest, highest = values.least[rows], values.most[rows]
        if not is_whole:
            lowest, highest = np.where(held > 0, lowest, np.inf), np.where(held > 0, highest, -np.inf)
        least, most = self.least[points], self.most[points]
        np.minimum(least, lowest.min(axis=0).reshape(-1, factor).min(axis=1), out=least)
        np.maximum(most, highest.max(axis=0).reshape(-1, factor).max(axis=1), out=most)

    def mean(self) -> Floats:
        """The mean where anything was told; NaN elsewhere."""
        return np.where(self.weights > 0, self.weighted / np.maximum(self.weights, 1), np.nan)
