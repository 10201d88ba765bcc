"""Cells into longer cells."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gpuboard.history.cells import Cells, empty_cells, fill, settle, without
from gpuboard.history.downsample import Sum, fold
from gpuboard.history.figures import NOTHING
from gpuboard.history.grid import in_order, to_cells
from tests.history.naive import START_MS, STATES, samples_in, table

SERIES, CELL_MS, COUNT, FACTOR = 2, 10_000, 12, 4
CELLS = samples_in(CELL_MS * COUNT, series=SERIES).map(
    lambda samples: to_cells(in_order(table(samples)), STATES, START_MS, CELL_MS, series=SERIES, count=COUNT)
)


def told(cells: Cells, series: int, cut: slice) -> list[tuple[int, int, int, int]]:
    """How long, mean, least and most of the cells that say something."""
    values = cells.values[0]
    weights = cells.observed if values.held is None else values.held
    rows = zip(
        *(one[series, cut].tolist() for one in (weights, values.mean, values.least, values.most)), strict=True
    )
    return [row for row in rows if row[1] != NOTHING and row[0]]


@given(cells=CELLS)
def test_means_are_weighted_and_extremes_survive(cells: Cells) -> None:
    """A peak of ten seconds is in the hour's most; a gap weighs nothing in its mean."""
    folded = fold(cells, FACTOR, STATES)
    for series in range(SERIES):
        for place in range(COUNT // FACTOR):
            parts = told(cells, series, slice(place * FACTOR, (place + 1) * FACTOR))
            found = [int(one[series, place]) for one in _three(folded)]
            if not parts:
                assert found == [NOTHING] * 3
                continue
            mean = sum(weight * value for weight, value, _, _ in parts) / sum(part[0] for part in parts)
            assert abs(found[0] - mean) <= 0.5 + 1e-6
            assert found[1] == min(part[2] for part in parts)
            assert found[2] == max(part[3] for part in parts)


def _three(cells: Cells) -> tuple[np.ndarray[tuple[int, int], np.dtype[np.int32]], ...]:
    values = cells.values[0]
    return values.mean, values.least, values.most


@given(cells=CELLS)
def test_observed_time_adds_up(cells: Cells) -> None:
    """An hour was observed as long as its minutes together."""
    folded = fold(cells, FACTOR, STATES)
    expected = cells.observed.reshape(SERIES, -1, FACTOR).sum(axis=2)
    assert np.array_equal(folded.observed, expected)


@given(cells=CELLS)
def test_in_two_steps_extremes_are_those_of_one(cells: Cells) -> None:
    """Minutes are folded into hours, and hours into points: nothing gets lost on the way."""
    once, twice = fold(cells, FACTOR, STATES), fold(fold(cells, 2, STATES), 2, STATES)
    for one, other in zip(_three(once)[1:], _three(twice)[1:], strict=True):
        assert np.array_equal(one, other)
    assert np.array_equal(once.values[1].mean, twice.values[1].mean)


@given(cells=CELLS)
def test_the_state_is_the_last_that_was_observed(cells: Cells) -> None:
    """What a GPU was at the end of the minute, as far as anybody saw."""
    folded = fold(cells, FACTOR, STATES)
    for series in range(SERIES):
        for place in range(COUNT // FACTOR):
            cut = slice(place * FACTOR, (place + 1) * FACTOR)
            seen = [
                state
                for state, observed in zip(
                    cells.values[1].mean[series, cut].tolist(),
                    cells.observed[series, cut].tolist(),
                    strict=True,
                )
                if observed
            ]
            assert int(folded.values[1].mean[series, place]) == (seen[-1] if seen else NOTHING)


@given(cells=CELLS, start=st.integers(0, COUNT), end=st.integers(0, COUNT))
def test_outside_of_its_limits_nothing_was_observed(cells: Cells, start: int, end: int) -> None:
    """A card that came from another node brings nothing of that with it."""
    places = np.arange(COUNT)
    is_inside = (places >= start) & (places < end)
    found = without(cells, np.broadcast_to(~is_inside, cells.observed.shape))
    assert np.array_equal(found.observed, np.where(is_inside, cells.observed, 0))
    assert (found.values[0].most[:, ~is_inside] == NOTHING).all()


@given(cells=CELLS)
def test_the_mean_over_several_series_is_by_how_long_each_was_observed(cells: Cells) -> None:
    """A GPU that was seen for a second weighs less than one that was seen for ten."""
    found = Sum.over(COUNT)
    found.add(cells.values[0], cells.observed, np.arange(SERIES), slice(0, COUNT))
    for place in range(COUNT):
        parts = [part for series in range(SERIES) for part in told(cells, series, slice(place, place + 1))]
        if not parts:
            assert np.isnan(found.mean()[place])
            continue
        expected = sum(part[0] * part[1] for part in parts) / sum(part[0] for part in parts)
        assert abs(found.mean()[place] - expected) < 1e-6


@given(cells=CELLS, data=st.data())
def test_a_sum_over_several_series_is_the_same_before_they_are_folded(
    cells: Cells, data: st.DataObject
) -> None:
    """Of a fleet the sum comes first, of a single GPU its points: both are told in one plot."""
    factor = data.draw(st.sampled_from([one for one in range(1, COUNT + 1) if COUNT % one == 0]))
    points, rows = slice(0, COUNT // factor), slice(None)
    folded = fold(cells, factor, frozenset())
    before, after = Sum.over(COUNT // factor), Sum.over(COUNT // factor)
    before.add(cells.values[0], cells.observed, rows, points, factor)
    after.add(folded.values[0], folded.observed, rows, points)
    assert np.array_equal(before.weights, after.weights)
    assert np.array_equal(before.least, after.least)
    assert np.array_equal(before.most, after.most)
    # What is folded is in whole steps.
    assert np.allclose(before.mean(), after.mean(), rtol=0, atol=0.5, equal_nan=True)


@given(cells=CELLS, cut=st.integers(0, COUNT))
def test_what_is_there_stays_when_the_same_comes_again(cells: Cells, cut: int) -> None:
    """Pieces that are joined are what they were as one."""
    border = START_MS + cut * CELL_MS
    into = one_after_the_other(cells.part(START_MS, border), cells.part(border, cells.end_ms), cells)
    assert np.array_equal(into.observed, cells.observed)
    for place, values in cells.values.items():
        assert np.array_equal(into.values[place].mean, values.mean)
        assert (into.values[place].held is None) == (values.held is None)


def one_after_the_other(first: Cells, second: Cells, third: Cells) -> Cells:
    """Three stretches as one."""
    into = empty_cells([0, 1], START_MS, CELL_MS, series=SERIES, count=COUNT)
    for part in (first, second, third):
        fill(into, part)
    return settle(into)
