"""The same as the grid and the folding, sample by sample in plain Python: slow, and easy to believe."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from gpuboard.history.cells import Cells
from gpuboard.history.figures import NOTHING
from gpuboard.history.grid import Samples
from gpuboard.history.usage import OWNED, UsageKind, kind_of
from gpuboard.model.verdict import VerdictWord

# Figure 0 has a mean, figure 1 is a state.
FIGURES = 2
STATES = frozenset({1})
START_MS = 1_700_000_000_000
CELL_MS = 10_000
HOUR_MS = 3_600_000


class Plain(NamedTuple):
    """One sample."""

    series: int
    at_ms: int
    holds_ms: int
    figures: tuple[int, int]


def samples_in(span_ms: int, *, series: int) -> st.SearchStrategy[list[Plain]]:
    """Samples around a span, some of them before it, none for the same moment of the same series."""
    figures = st.integers(-50, 100_000) | st.just(NOTHING)
    one = st.builds(
        Plain,
        series=st.integers(0, series - 1),
        at_ms=st.integers(START_MS - 20_000, START_MS + span_ms + 5_000),
        holds_ms=st.integers(0, 60_000),
        figures=st.tuples(figures, figures),
    )
    return st.lists(one, max_size=25, unique_by=lambda sample: (sample.series, sample.at_ms))


def table(samples: Iterable[Plain]) -> Samples:
    """Samples as columns."""
    rows = list(samples)
    return Samples(
        np.array([row.series for row in rows], np.int32),
        np.array([row.at_ms for row in rows], np.int64),
        np.array([row.holds_ms for row in rows], np.int32),
        {place: np.array([row.figures[place] for row in rows], np.int32) for place in range(FIGURES)},
    )


def held(samples: Iterable[Plain]) -> list[tuple[Plain, int, int]]:
    """Each sample with the moments between which it held."""
    rows = sorted(samples)
    found = []
    for place, row in enumerate(rows):
        end = row.at_ms + row.holds_ms
        if place + 1 < len(rows) and rows[place + 1].series == row.series:
            end = min(end, rows[place + 1].at_ms)
        found.append((row, row.at_ms, end))
    return found


class Said(NamedTuple):
    """What one GPU said at one moment, as far as GPU-hours go."""

    at_ms: int
    holds_ms: int
    verdict: VerdictWord
    people: tuple[str, ...] | None


def hours_of(said: Iterable[Said], begin_ms: int, end_ms: int) -> Counter[tuple[UsageKind, str]]:
    """Milliseconds by kind and person from one moment to another, cell by cell and hour by hour.

    What is nobody's has "" for a person. Nothing here is found idle only later.
    """
    cells: dict[int, tuple[int, Said]] = {}
    rows = sorted(said, key=lambda one: one.at_ms)
    for place, one in enumerate(rows):
        end = min([one.at_ms + one.holds_ms, *(following.at_ms for following in rows[place + 1 : place + 2])])
        for cell in range(one.at_ms // CELL_MS, -(-end // CELL_MS)):
            share = min(end, (cell + 1) * CELL_MS) - max(one.at_ms, cell * CELL_MS)
            if share > 0:
                # A cell is what was said in it last.
                cells[cell] = cells.get(cell, (0, one))[0] + share, one
    by_hour: Counter[tuple[int, UsageKind, tuple[str, ...]]] = Counter()
    for cell, (share, one) in cells.items():
        start = cell * CELL_MS
        held = min(share, min(start + CELL_MS, end_ms) - max(start, begin_ms))
        kind = kind_of(one.verdict)
        if held > 0 and kind is not None:
            people = (tuple(sorted(one.people or ())) or ("unknown",)) if kind in OWNED else ("",)
            by_hour[start // HOUR_MS, kind, people] += held
    told: Counter[tuple[UsageKind, str]] = Counter()
    for (_, kind, people), held in by_hour.items():
        for name in people:
            told[kind, name] += held // len(people)
        told[kind, people[0]] += held % len(people)
    return told


class PlainCell(NamedTuple):
    """What one series did in one cell."""

    observed: int
    mean: int
    mean_held: int
    state: int


def cell_of(samples: Iterable[Plain], series: int, start_ms: int, end_ms: int) -> PlainCell:
    """One cell, reckoned by itself."""
    observed = total = told = 0
    state = NOTHING
    for row, begin, end in held(samples):
        share = min(end, end_ms) - max(begin, start_ms)
        if row.series != series or share <= 0:
            continue
        observed += share
        state = row.figures[1]
        if row.figures[0] != NOTHING:
            total += share * row.figures[0]
            told += share
    mean = round(total / told) if told else NOTHING
    return PlainCell(observed, mean, told, state)


def cell_in(cells: Cells, series: int, place: int) -> PlainCell:
    """One cell as the grid has it."""
    values = cells.values[0]
    observed, mean = int(cells.observed[series, place]), int(values.mean[series, place])
    apart = observed if values.held is None else int(values.held[series, place])
    state = int(cells.values[1].mean[series, place])
    return PlainCell(observed, mean, 0 if mean == NOTHING else apart, state)
