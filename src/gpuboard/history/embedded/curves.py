"""Figures over time, of GPUs, nodes and the fleet."""

from collections import defaultdict
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gpuboard.history.cells import Cells, without
from gpuboard.history.downsample import Floats, Sum, fold
from gpuboard.history.embedded.chunks import STATES, Wanted
from gpuboard.history.embedded.names import Names
from gpuboard.history.embedded.pieces import Piece, Points, points_of
from gpuboard.history.embedded.reading import Look
from gpuboard.history.embedded.schema import SERIES
from gpuboard.history.figures import FIGURES, place_of
from gpuboard.history.records import Curve, Curves, CurvesQuery

# The numbers of sets of people mean nothing to anybody.
_INNER: Final = "holders"
FEW_SERIES: Final = 8
# In milliseconds, from when to when a series belongs to its group.
_Limits = list[tuple[float, float]]
# Of one block: each of its series once, with its group. One that is in several groups is in several of these.
_Layer = dict[int, tuple[int, _Limits]]


def read_curves(look: Look, names: Names, query: CurvesQuery) -> Curves:
    """Read one curve per group and figure.

    Raises:
        KeyError: there is no such figure.
    """
    if _INNER in query.figures:
        raise KeyError(_INNER)
    places = {name: place_of(query.kind, name) for name in query.figures}
    tier = look.tier_for(query.start, (query.end - query.start) / max(1, query.points))
    points = points_of(query.start, query.end, query.points, look.cell_ms(tier))
    sums = [
        {name: Sum.over(points.number, with_extremes=query.with_extremes) for name in query.figures}
        for _ in query.groups
    ]
    layers = _layers(names, query)
    wanted = {
        block: _wanted(of_it, sorted(set(places.values())), with_extremes=query.with_extremes)
        for block, of_it in sorted(layers.items())
    }
    for block, piece, cells in look.blocks(tier, query.kind, wanted, points):
        for layer in layers[block]:
            rows = _by_row(layer, wanted[block].rows)
            _add(sums, without(cells, _outside(cells, rows)), places, rows, piece, query)
    return Curves(
        start=points.begin / 1000,
        end=points.finish / 1000,
        step_seconds=points.step / 1000,
        tier=tier,
        times=_times(points),
        curves=tuple(
            _curve(query, group, name, one) for group, of in enumerate(sums) for name, one in of.items()
        ),
    )


def _times(points: Points) -> list[float]:
    return [(points.begin + number * points.step) / 1000 for number in range(points.number)]


def _layers(names: Names, query: CurvesQuery) -> dict[int, list[_Layer]]:
    """Which series are wanted, by block; those that were never recorded are in none."""
    limits: dict[tuple[int, int], _Limits] = defaultdict(list)
    numbers = names.series[query.kind]
    for group, members in enumerate(query.groups):
        for member in members:
            number = numbers.get(member.name)
            if number is not None:
                _join(limits[number, group], member.start * 1000, member.end * 1000)
    found: dict[int, list[_Layer]] = defaultdict(list)
    for (number, group), own in limits.items():
        block, row = divmod(number, SERIES)
        layer = next((one for one in found[block] if row not in one), None)
        if layer is None:
            layer = {}
            found[block].append(layer)
        layer[row] = (group, own)
    return found


def _join(limits: _Limits, start: float, end: float) -> None:
    """One more span; as one with the last where they touch, as when a card was only called otherwise."""
    if limits and limits[-1][1] == start:
        limits[-1] = (limits[-1][0], end)
    else:
        limits.append((start, end))


def _wanted(layers: list[_Layer], places: list[int], *, with_extremes: bool) -> Wanted:
    """Of a few series only those are read; of many all, which is then quicker."""
    rows = sorted({row for layer in layers for row in layer})
    return Wanted(places, rows if len(rows) <= FEW_SERIES else None, with_extremes)


def _by_row(layer: _Layer, order: list[int] | None) -> _Layer:
    """The same, by where a series is in what is read."""
    return layer if order is None else {order.index(row): own for row, own in layer.items()}


def _outside(cells: Cells, rows: _Layer) -> NDArray[np.bool_]:
    """Where each series did not belong to its group."""
    moments = cells.start_ms + cells.cell_ms * np.arange(cells.count)
    first, last = cells.start_ms, cells.end_ms - cells.cell_ms
    outside = np.zeros(cells.observed.shape, np.bool_)
    for row, (_, limits) in rows.items():
        if limits[0][0] <= first and limits[0][1] > last:
            continue
        outside[row] = True
        for start, end in limits:
            outside[row, slice(*np.searchsorted(moments, (start, end)))] = False
    return outside


def _add(  # noqa: PLR0917 - by position: of every block
    sums: list[dict[str, Sum]],
    cells: Cells,
    places: dict[str, int],
    rows: _Layer,
    piece: Piece,
    query: CurvesQuery,
) -> None:
    groups: dict[int, list[int]] = defaultdict(list)
    for row, (group, _) in rows.items():
        groups[group].append(row)
    # Of several series only their sum is wanted: then that comes first, and little is left to be folded.
    is_any_alone = any(len(own) == 1 for own in groups.values())
    extremes = query.with_extremes
    folded = fold(cells, piece.factor, STATES[query.kind], with_extremes=extremes) if is_any_alone else cells
    for group, own in groups.items():
        found, factor = (folded, 1) if len(own) == 1 else (cells, piece.factor)
        chosen = _chosen(own, len(cells.observed))
        for name, place in places.items():
            sums[group][name].add(found.values[place], found.observed, chosen, piece.points, factor)


def _chosen(own: list[int], series: int) -> "slice | NDArray[np.int64]":
    """One row, or all of them, are looked at where they are; others are copied."""
    if len(own) == 1:
        return slice(own[0], own[0] + 1)
    return slice(None) if len(own) == series else np.array(own)


def _curve(query: CurvesQuery, group: int, name: str, found: Sum) -> Curve:
    figure = FIGURES[query.kind][place_of(query.kind, name)]
    is_told = found.weights > 0
    if figure.is_state and len(query.groups[group]) != 1:
        is_told = np.zeros_like(is_told)
    mean = _spell(found.mean(), is_told, figure.step)
    if not query.with_extremes:
        return Curve(group=group, figure=name, mean=mean, least=[], most=[])
    least, most = (_spell(one, is_told, figure.step) for one in (found.least, found.most))
    return Curve(group=group, figure=name, mean=mean, least=least, most=most)


def _spell(
    numbers: Floats, is_told: "np.ndarray[tuple[int], np.dtype[np.bool_]]", step: float
) -> list[float | None]:
    # A thousandth of a step is more than anybody knows, and half as long to write.
    values = np.round(np.where(is_told, numbers, 0.0) * step, 3).tolist()
    return [value if told else None for value, told in zip(values, is_told.tolist(), strict=True)]
