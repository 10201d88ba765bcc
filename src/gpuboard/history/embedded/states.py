"""What one GPU was over time: its verdicts and holders, each stretch as finely as it is still known."""

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import numpy as np

from gpuboard.history.cells import Cells
from gpuboard.history.embedded.chunks import HOLDERS, Wanted
from gpuboard.history.embedded.idling import IDLE_BACK_SECONDS, USE, VERDICT, Stretch, count_idle_back
from gpuboard.history.embedded.names import Names
from gpuboard.history.embedded.pieces import points_of
from gpuboard.history.embedded.reading import Look
from gpuboard.history.embedded.retention import forgotten_ms
from gpuboard.history.embedded.schema import SERIES, TIERS
from gpuboard.history.figures import VERDICTS
from gpuboard.history.records import StateSpan, Tier
from gpuboard.model.verdict import VerdictWord

# Spans for which states are read in full, and in minutes; longer ones in hours.
FULL_SECONDS: Final = 36 * 3600.0
MINUTES_SECONDS: Final = 60 * 86_400.0
_EVERY_CELL: Final = 1 << 40


def read_states(
    look: Look, names: Names, gpu: str, start: float, end: float, *, quiet_percent: float | None = None
) -> list[StateSpan]:
    """The verdicts and holders of one GPU, in order; idle from when its use fell to `quiet_percent`."""
    number = names.series["gpu"].get(gpu)
    if number is None or end <= start:
        return []
    # Whoever is found idle an hour later may have stopped working here.
    beyond = 0.0 if quiet_percent is None else IDLE_BACK_SECONDS
    found: list[StateSpan] = []
    for tier, (first, last) in _tiers(look, start, end):
        for stretch in _read(look, tier, number, (first, last + beyond)):
            if quiet_percent is not None:
                count_idle_back(stretch, quiet_percent)
            _join(found, _spans(stretch, names, (first, last)))
    return found


def _tiers(look: Look, start: float, end: float) -> list[tuple[Tier, tuple[float, float]]]:
    """Which tier tells of which part: the finest that is wanted, where that is no longer there a coarser."""
    wished = _fineness(end - start)
    tier, finest = look.tier_for(start, wished), look.tier_for(math.inf, wished)
    parts: list[tuple[Tier, tuple[float, float]]] = []
    for at in range(TIERS.index(tier), TIERS.index(finest) - 1, -1):
        last = end
        if at > TIERS.index(finest):
            hours = look.cell_ms(TIERS[at])
            border = forgotten_ms(look.connection, TIERS[at - 1])
            last = min(end, math.ceil(border / hours) * hours / 1000)
        if last > start:
            parts.append((TIERS[at], (start, last)))
            start = last
    return parts


def _read(look: Look, tier: Tier, number: int, span: tuple[float, float]) -> Iterator[Stretch]:
    """What is known of it, in stretches between which nothing is."""
    points = points_of(*span, _EVERY_CELL, look.cell_ms(tier))
    wanted = Wanted([USE, VERDICT, HOLDERS], [number % SERIES], with_extremes=False)
    pieces: list[Cells] = []
    for _, piece, cells in look.blocks(tier, "gpu", {number // SERIES: wanted}, points):
        if pieces and pieces[-1].end_ms < piece.start:
            yield _stretch(pieces)
            pieces = []
        pieces.append(cells)
    if pieces:
        yield _stretch(pieces)


def _stretch(pieces: list[Cells]) -> Stretch:
    verdicts, holders, use = (
        np.concatenate([cells.values[place].mean[0] for cells in pieces]) for place in (VERDICT, HOLDERS, USE)
    )
    is_seen = np.concatenate([cells.observed[0] > 0 for cells in pieces])
    return Stretch(pieces[0].start_ms, pieces[0].cell_ms, is_seen, verdicts, holders, use)


def _spans(stretch: Stretch, names: Names, limits: tuple[float, float]) -> list[StateSpan]:
    states = (stretch.is_seen, stretch.verdicts, stretch.holders)
    changes = np.logical_or.reduce([np.diff(state) != 0 for state in states])
    borders = [0, *(np.flatnonzero(changes) + 1).tolist(), len(stretch.verdicts)]
    spans = [
        StateSpan(
            start=max(limits[0], (stretch.start_ms + first * stretch.cell_ms) / 1000),
            end=min(limits[1], (stretch.start_ms + last * stretch.cell_ms) / 1000),
            verdict=word_of(int(stretch.verdicts[first])),
            holders=names.on_it(int(stretch.verdicts[first]), int(stretch.holders[first])),
        )
        for first, last in pairwise(borders)
        if stretch.is_seen[first]
    ]
    return [span for span in spans if span.end > span.start]


def _join(found: list[StateSpan], more: list[StateSpan]) -> None:
    """Add spans behind others; what goes on over the border is one."""
    if found and more:
        last, first = found[-1], more[0]
        is_same = (last.end, last.verdict, last.holders) == (first.start, first.verdict, first.holders)
        if is_same:
            found[-1] = StateSpan(start=last.start, end=first.end, verdict=last.verdict, holders=last.holders)
            more = more[1:]
    found += more


def word_of(code: int) -> VerdictWord | None:
    """The word for a verdict's code; None: cannot tell."""
    return VERDICTS[code] if 0 <= code < len(VERDICTS) else None


def _fineness(seconds: float) -> float:
    if seconds <= FULL_SECONDS:
        return 0.0
    return 60.0 if seconds <= MINUTES_SECONDS else 3600.0
