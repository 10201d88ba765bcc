"""Samples on a grid of cells."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gpuboard.history.cells import Cells
from gpuboard.history.figures import NOTHING
from gpuboard.history.grid import carry, in_order, join, to_cells
from tests.history.naive import START_MS, STATES, Plain, cell_in, cell_of, held, samples_in, table

SERIES, CELL_MS, COUNT = 3, 10_000, 6
SPAN_MS = CELL_MS * COUNT
SAMPLES = samples_in(SPAN_MS, series=SERIES)


def grid(samples: list[Plain], *, start_ms: int = START_MS, count: int = COUNT) -> Cells:
    """Lay samples on the grid."""
    return to_cells(in_order(table(samples)), STATES, start_ms, CELL_MS, series=SERIES, count=count)


@given(samples=SAMPLES)
def test_every_cell_is_as_if_reckoned_by_itself(samples: list[Plain]) -> None:
    """Means by how long each held, the last state, and nothing where nothing held."""
    cells = grid(samples)
    for series in range(SERIES):
        for place in range(COUNT):
            start = START_MS + place * CELL_MS
            expected = cell_of(samples, series, start, start + CELL_MS)
            assert cell_in(cells, series, place) == expected


@given(samples=SAMPLES)
def test_extremes_are_those_of_the_samples_that_held(samples: list[Plain]) -> None:
    """A peak is not smeared over two cells; means are the same with them and without."""
    rows = in_order(table(samples))
    cells = to_cells(rows, STATES, START_MS, CELL_MS, series=SERIES, count=COUNT, with_extremes=True)
    plain, values = grid(samples).values[0], cells.values[0]
    assert np.array_equal(plain.mean, values.mean)
    for series in range(SERIES):
        for place in range(COUNT):
            start = START_MS + place * CELL_MS
            told = [
                row.figures[0]
                for row, begin, end in held(samples)
                if row.series == series
                and max(begin, start) < min(end, start + CELL_MS)
                and row.figures[0] != NOTHING
            ]
            found = int(values.least[series, place]), int(values.most[series, place])
            assert found == ((min(told), max(told)) if told else (NOTHING, NOTHING))


def test_a_node_that_says_much_is_reckoned_as_one_that_says_little() -> None:
    """Side by side or one after another: shares of a cell are the same."""
    samples = [Plain(0, START_MS + 700 * at, 700, (at * at % 97, at)) for at in range(3 * CELL_MS // 700)]
    cells = grid(samples)
    for place in range(COUNT):
        start = START_MS + place * CELL_MS
        assert cell_in(cells, 0, place) == cell_of(samples, 0, start, start + CELL_MS)


@given(samples=SAMPLES)
def test_the_times_add_up(samples: list[Plain]) -> None:
    """No millisecond is counted twice, and none is lost."""
    inside = [max(0, min(end, START_MS + SPAN_MS) - max(begin, START_MS)) for _, begin, end in held(samples)]
    assert int(grid(samples).observed.sum()) == sum(inside)


@given(samples=SAMPLES, data=st.data())
def test_samples_in_any_order_and_twice_give_the_same(samples: list[Plain], data: st.DataObject) -> None:
    """An hour that was sent late is in the past as if it had come in time."""
    shuffled = data.draw(st.permutations(samples + samples[:3]))
    expected, found = grid(samples), grid(shuffled)
    assert np.array_equal(found.observed, expected.observed)
    for place, values in expected.values.items():
        assert np.array_equal(found.values[place].mean, values.mean)


def test_two_samples_for_the_same_moment_are_one_whichever_came_first() -> None:
    """An honest node says one thing at a time; the past of another must not depend on chance."""
    one, other = (Plain(0, START_MS, 5_000, (figure, figure)) for figure in (10, 20))
    assert cell_in(grid([one, other]), 0, 0) == cell_in(grid([other, one]), 0, 0)


@given(samples=SAMPLES)
def test_what_held_at_a_border_goes_on_beyond_it(samples: list[Plain]) -> None:
    """Two windows, sealed one after the other, are the same as both at once."""
    border = START_MS + SPAN_MS // 2
    whole = grid(samples)
    before = in_order(table([sample for sample in samples if sample.at_ms < border]))
    later = join([carry(before, border), table([one for one in samples if one.at_ms >= border])], [0, 1])
    second = to_cells(in_order(later), STATES, border, CELL_MS, series=SERIES, count=COUNT // 2)
    first = to_cells(before, STATES, START_MS, CELL_MS, series=SERIES, count=COUNT // 2)
    for series in range(SERIES):
        for place in range(COUNT):
            half, at = (first, place) if place < COUNT // 2 else (second, place - COUNT // 2)
            assert cell_in(half, series, at) == cell_in(whole, series, place)


def test_a_gap_is_a_gap() -> None:
    """A node that was away for half a minute did nothing that anybody knows of."""
    cells = grid([Plain(0, START_MS, 10_000, (50, 1)), Plain(0, START_MS + 40_000, 10_000, (70, 1))])
    assert cells.observed[0].tolist() == [10_000, 0, 0, 0, 10_000, 0]


def test_a_gpu_that_is_missing_in_the_next_report_ends_there() -> None:
    """A sample that holds for no time ends the one before, and says nothing itself."""
    cells = grid([Plain(0, START_MS, 60_000, (50, 1)), Plain(0, START_MS + 15_000, 0, (0, 0))])
    assert cells.observed[0].tolist() == [10_000, 5_000, 0, 0, 0, 0]
    assert cell_in(cells, 0, 1).mean == 50
