"""The fleet of the past: all of it at one moment, and how many GPUs had which verdict over time."""

from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from gpuboard.history.blocks import Ints
from gpuboard.history.cells import Cells
from gpuboard.history.downsample import fold
from gpuboard.history.embedded.chunks import HOLDERS, PLACES, STATES, Wanted
from gpuboard.history.embedded.idling import VERDICT
from gpuboard.history.embedded.names import Names
from gpuboard.history.embedded.notes import read_events, read_places
from gpuboard.history.embedded.pieces import Piece, Points, points_of
from gpuboard.history.embedded.reading import Look
from gpuboard.history.embedded.schema import SERIES
from gpuboard.history.embedded.states import word_of
from gpuboard.history.figures import FIGURES, LARGEST, NOTHING, VERDICTS, Kind
from gpuboard.history.records import GpuMoment, Moment, Place, Tier, Track

MOST_EVENTS = 10_000
# How far back it is looked, and how finely, for who was on a GPU that says nothing: as long as a node that is
# away is remembered by default.
_LOOKS_BACK = ((3600.0, 0.0), (86_400.0, 60.0))
# No code of a verdict, nor what stands for none.
_UNSEEN = LARGEST
_NOTHING_KNOWN = (NOTHING, NOTHING)


def read_moment(look: Look, names: Names, at: float) -> Moment:
    """The whole fleet as it was."""
    tier = look.tier_for(at, 0.0)
    places = read_places(look.connection, at, at, node=None, gpu=None)
    numbers = [names.series["gpu"].get(one.gpu, -1) for one in places]
    of_gpus = _cells_at(look, tier, "gpu", [number for number in numbers if number >= 0], at)
    last = _last_holders(look, {number for number in numbers if number >= 0} - of_gpus.keys(), at)
    # A copy: others come while this is read.
    hosts = dict(names.series["host"])
    of_hosts = _cells_at(look, tier, "host", list(hosts.values()), at)
    return Moment(
        at=at,
        step_seconds=look.cell_ms(tier) / 1000,
        gpus=tuple(
            _gpu(names, place, of_gpus.get(number), last.get(number, _NOTHING_KNOWN))
            for place, number in zip(places, numbers, strict=True)
        ),
        hosts={
            node: _numbers("host", of_hosts[number]) for node, number in hosts.items() if number in of_hosts
        },
        events=tuple(read_events(look.connection, at, at, limit=MOST_EVENTS)),
    )


def read_track(look: Look, names: Names, start: float, end: float, points: int) -> Track:
    """How many GPUs had which verdict, point by point."""
    tier = look.tier_for(start, (end - start) / max(1, points))
    whole = points_of(start, end, points, look.cell_ms(tier))
    times = (whole.begin + whole.step * np.arange(whole.number)) / 1000
    places = read_places(look.connection, whole.begin / 1000, whole.finish / 1000, node=None, gpu=None)
    belongs = _belongs(names, places, times, whole.step / 1000)
    counts = np.zeros((len(VERDICTS), len(times)), np.int64)
    observed = np.zeros(len(times), np.int64)
    wanted = dict.fromkeys(sorted(belongs), Wanted([VERDICT], with_extremes=False))
    pieces = look.blocks(tier, "gpu", wanted, whole)
    for block, of_it in groupby(pieces, key=itemgetter(0)):
        codes = _last_codes(of_it, whole)
        counted = belongs[block] & (codes != _UNSEEN)
        observed += counted.sum(axis=0)
        for code in range(len(VERDICTS)):
            counts[code] += (counted & (codes == code)).sum(axis=0)
    seen = (observed > 0).tolist()
    return Track(
        step_seconds=whole.step / 1000,
        times=times.tolist(),
        observed=_where(observed.tolist(), seen),
        verdicts={word: _where(counts[code].tolist(), seen) for code, word in enumerate(VERDICTS)},
    )


def _last_codes(pieces: Iterable[tuple[int, Piece, Cells]], points: Points) -> Ints:
    """The last verdict of each series of a block in every point; `_UNSEEN` where it was not observed."""
    codes = np.full((SERIES, points.number), _UNSEEN, np.int32)
    for _, piece, cells in pieces:
        folded = fold(cells, piece.factor, STATES["gpu"])
        np.copyto(codes[:, piece.points], folded.values[VERDICT].mean, where=folded.observed > 0)
    return codes


def _cells_at(look: Look, tier: Tier, kind: Kind, numbers: list[int], at: float) -> dict[int, dict[int, int]]:
    """Series → its figures in the cell of a moment; those that were not observed then are missing."""
    cell_ms = look.cell_ms(tier)
    begin = int(at * 1000) // cell_ms * cell_ms
    known = set(numbers)
    found = {}
    blocks = sorted({number // SERIES for number in known})
    wanted = dict.fromkeys(blocks, Wanted(PLACES[kind], with_extremes=False))
    for block, _, cells in look.blocks(tier, kind, wanted, Points(begin, begin + cell_ms, cell_ms)):
        for row in np.flatnonzero(cells.observed[:, 0]).tolist():
            if block * SERIES + row in known:
                found[block * SERIES + row] = _column(cells, row)
    return found


def _column(cells: Cells, row: int) -> dict[int, int]:
    return {place: int(values.mean[row, 0]) for place, values in cells.values.items()}


def _numbers(kind: Kind, figures: dict[int, int]) -> dict[str, float | None]:
    """Figures in their own units, without those that are told in words."""
    return {
        figure.name: None if figures[place] == NOTHING else round(figures[place] * figure.step, 3)
        for place, figure in enumerate(FIGURES[kind])
        if kind == "host" or place not in (VERDICT, HOLDERS)
    }


def _last_holders(look: Look, numbers: set[int], at: float) -> dict[int, tuple[int, int]]:
    """Series that were not observed → verdict and holders when they last were, in the day before."""
    found: dict[int, tuple[int, int]] = {}
    for seconds, cell_seconds in _LOOKS_BACK:
        left = numbers - found.keys()
        tier = look.tier_for(at - seconds, cell_seconds)
        cell_ms = look.cell_ms(tier)
        end = int(at * 1000) // cell_ms * cell_ms
        points = Points(end - int(seconds * 1000) // cell_ms * cell_ms, end, cell_ms)
        blocks = sorted({number // SERIES for number in left})
        wanted = dict.fromkeys(blocks, Wanted([VERDICT, HOLDERS], with_extremes=False))
        for block, _, cells in look.blocks(tier, "gpu", wanted, points):
            for row in {number % SERIES for number in left if number // SERIES == block}:
                seen = np.flatnonzero(cells.observed[row])
                if len(seen):
                    verdict, holders = (
                        int(cells.values[place].mean[row, seen[-1]]) for place in (VERDICT, HOLDERS)
                    )
                    found[block * SERIES + row] = (verdict, holders)
    return found


def _gpu(names: Names, place: Place, figures: dict[int, int] | None, last: tuple[int, int]) -> GpuMoment:
    if figures is None:
        return GpuMoment(place=place, numbers={}, verdict=None, holders=names.on_it(*last))
    return GpuMoment(
        place=place,
        numbers=_numbers("gpu", figures),
        verdict=word_of(figures[VERDICT]),
        holders=names.on_it(figures[VERDICT], figures[HOLDERS]),
        claimant=names.claimant(figures[VERDICT], figures[HOLDERS]),
    )


def _belongs(
    names: Names, places: list[Place], times: NDArray[np.float64], step: float
) -> dict[int, NDArray[np.bool_]]:
    """Block → whether each of its series counted, point by point."""
    found: dict[int, NDArray[np.bool_]] = {}
    for place in places:
        number = names.series["gpu"].get(place.gpu)
        if number is None or not place.counted:
            continue
        rows = found.setdefault(number // SERIES, np.zeros((SERIES, len(times)), np.bool_))
        # The point in which it came counts: it was observed there.
        first = int(np.searchsorted(times, place.start - step, side="right"))
        last = len(times) if place.end is None else int(np.searchsorted(times, place.end))
        rows[number % SERIES, first:last] = True
    return found


def _where(counts: list[int], seen: list[bool]) -> list[int | None]:
    return [count if is_seen else None for count, is_seen in zip(counts, seen, strict=True)]
