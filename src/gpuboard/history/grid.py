"""Samples, as they came, on a grid of cells. Pure.

A sample holds from its moment until the next of its series begins, or as long as it said, whichever is less.
A cell has the mean of what held in it, weighted by how long; of states the last. In which order the samples
came makes no difference.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpuboard.history.blocks import Ints
from gpuboard.history.cells import Cells, Values, settle
from gpuboard.history.figures import LARGEST, NOTHING

Longs = NDArray[np.int64]
# A moment takes less than this many bits, in milliseconds, until the year 2200.
_MOMENT_BITS = 43
# Shares of a cell that are kept side by side.
_MOST_SIDE_BY_SIDE = 4


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """Samples as columns: of which series, from when, for how long at most, and every figure."""

    series: Ints
    at_ms: Longs
    holds_ms: Ints
    # By place of the figure.
    figures: dict[int, Ints]

    def __len__(self) -> int:
        return len(self.series)

    def take(self, which: NDArray[np.int64] | NDArray[np.bool_] | slice) -> "Samples":
        """Some of them, or all in another order."""
        figures = {place: column[which] for place, column in self.figures.items()}
        return Samples(self.series[which], self.at_ms[which], self.holds_ms[which], figures)


@dataclass(frozen=True, slots=True, eq=False)
class _Shares:
    """Which part of a sample fell into which cell, by series and time.

    Where no cell has many they are a table: the first share of every cell, the second, and so on; numpy is
    much quicker along whole rows than from cell to cell. Of a cell that has fewer the last comes again, and
    weighs nothing. Otherwise they are a line, and `first` is where each cell begins in it.
    """

    sample: Longs
    weight: Longs
    first: Longs | None
    # Which cell that is, the sample that held last in it, and how much of it all shares are.
    cell: Longs
    last_sample: Longs
    total: Longs

    def gather(self, how: np.ufunc, told: NDArray[np.signedinteger]) -> NDArray[np.signedinteger]:
        """One number for each cell, of those of its shares."""
        found: NDArray[np.signedinteger] = (
            how.reduce(told, axis=0) if self.first is None else how.reduceat(told, self.first)
        )
        return found


def join(tables: list[Samples], places: list[int]) -> Samples:
    """Several tables as one, with these figures."""
    if not tables:
        nothing = np.empty(0, np.int32)
        return Samples(nothing, np.empty(0, np.int64), nothing, dict.fromkeys(places, nothing))
    return Samples(
        np.concatenate([table.series for table in tables]),
        np.concatenate([table.at_ms for table in tables]),
        np.concatenate([table.holds_ms for table in tables]),
        {place: np.concatenate([table.figures[place] for table in tables]) for place in places},
    )


def in_order(samples: Samples) -> Samples:
    """By series and time, and of two for the same moment one."""
    keys = (samples.series.astype(np.int64) << _MOMENT_BITS) | samples.at_ms
    order = np.argsort(keys, kind="stable")
    sorted_keys = keys[order]
    is_twice = sorted_keys[1:] == sorted_keys[:-1]
    if is_twice.any():
        # Which of them comes last must not depend on which came first: the figures themselves decide.
        order = np.lexsort((*samples.figures.values(), samples.holds_ms, keys))
        order = order[np.append(~is_twice, True)]
    return samples.take(order)


def ends_of(ordered: Samples) -> Longs:
    """When each sample no longer held."""
    ends = ordered.at_ms + ordered.holds_ms
    is_followed = ordered.series[1:] == ordered.series[:-1]
    ends[:-1] = np.where(is_followed, np.minimum(ends[:-1], ordered.at_ms[1:]), ends[:-1])
    return ends


def carry(ordered: Samples, moment_ms: int) -> Samples:
    """What still held at a moment, of each series, as samples that begin there."""
    ends = ends_of(ordered)
    which = np.flatnonzero((ordered.at_ms < moment_ms) & (ends > moment_ms))
    held = ordered.take(which)
    moments = np.full(len(which), moment_ms, np.int64)
    return Samples(held.series, moments, (ends[which] - moment_ms).astype(np.int32), held.figures)


def to_cells(
    ordered: Samples,
    states: frozenset[int],
    start_ms: int,
    cell_ms: int,
    *,
    series: int,
    count: int,
    with_extremes: bool = False,
) -> Cells:
    """Lay samples that are in order on a grid; `states` are the places of the figures that are states.

    With extremes a cell has the least and the most of the samples that held in it; without, least and most
    are the mean.
    """
    shares = _shares(ordered, start_ms, cell_ms, count)
    observed = _spread(shares.total, shares, (series, count), nothing=0)
    values = {}
    for place, column in ordered.figures.items():
        # What does not change has no mean to reckon: half of all figures, most of the time.
        if place in states or not len(column) or column.min() == column.max():
            last = _spread(np.take(column, shares.last_sample), shares, (series, count))
            values[place] = Values(last, last, last)
        else:
            told = np.take(column, shares.sample)
            is_whole = bool(column.min() > NOTHING)
            mean, held = _mean(told, shares, is_whole=is_whole)
            spread = _spread(mean, shares, (series, count))
            apart = None if held is None else _spread(held, shares, (series, count), nothing=0)
            least = most = spread
            if with_extremes:
                extremes = _extremes(told, shares, is_whole=is_whole)
                least, most = (_spread(one, shares, (series, count)) for one in extremes)
            values[place] = Values(spread, least, most, apart)
    return settle(Cells(start_ms, cell_ms, observed, values))


def _shares(ordered: Samples, start_ms: int, cell_ms: int, count: int) -> _Shares:
    begins = np.maximum(ordered.at_ms, start_ms) - start_ms
    ends = np.minimum(ends_of(ordered), start_ms + count * cell_ms) - start_ms
    kept = np.flatnonzero(begins < ends)
    begins, ends = begins[kept], ends[kept]
    first_cells = begins // cell_ms
    spans = (ends - 1) // cell_ms - first_cells + 1
    source = np.repeat(np.arange(len(kept)), spans)
    steps = np.arange(len(source)) - np.repeat(np.cumsum(spans) - spans, spans)
    cells = first_cells[source] + steps
    weights = np.minimum(ends[source], (cells + 1) * cell_ms) - np.maximum(begins[source], cells * cell_ms)
    sample = kept[source]
    keys = ordered.series[sample] * np.int64(count) + cells
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    last = np.append(first[1:], len(keys)) - 1 if len(first) else first
    cell, last_sample, total = keys[first], sample[last], np.add.reduceat(weights, first)
    depth = int((last - first).max(initial=0)) + 1
    if depth > _MOST_SIDE_BY_SIDE:
        return _Shares(sample, weights, first, cell, last_sample, total)
    place = first + np.arange(depth)[:, None]
    table = np.minimum(place, last)
    return _Shares(sample[table], np.where(place <= last, weights[table], 0), None, cell, last_sample, total)


def _mean(told: Ints, shares: _Shares, *, is_whole: bool) -> tuple[Ints, Longs | None]:
    """The mean in each cell, and for how long it could be told where that is not always."""
    if is_whole:
        sums = shares.gather(np.add, told * shares.weight)
        return np.rint(sums / shares.total).astype(np.int32), None
    weights = np.where(told != NOTHING, shares.weight, 0)
    held = shares.gather(np.add, weights).astype(np.int64, copy=False)
    means = np.rint(shares.gather(np.add, told * weights) / np.maximum(held, 1))
    return np.where(held > 0, means, NOTHING).astype(np.int32), held


def _extremes(told: Ints, shares: _Shares, *, is_whole: bool) -> tuple[Ints, Ints]:
    """The least and the most of what held in each cell, and could be told."""
    most = shares.gather(np.maximum, told).astype(np.int32, copy=False)
    if not is_whole:
        told = np.where(told == NOTHING, LARGEST, told).astype(np.int32)
    least = shares.gather(np.minimum, told)
    return np.where(most == NOTHING, NOTHING, least).astype(np.int32), most


def _spread(found: Longs | Ints, shares: _Shares, shape: tuple[int, int], *, nothing: int = NOTHING) -> Ints:
    """What was found for some cells, in its place among all."""
    if len(found) == shape[0] * shape[1]:
        return found.astype(np.int32, copy=False).reshape(shape)
    spread = np.full(shape[0] * shape[1], nothing, np.int32)
    spread[shares.cell] = found
    return spread.reshape(shape)
