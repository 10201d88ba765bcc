"""A long span in pieces that fit into little memory, without those of which nothing is known. Pure."""

import math
from collections.abc import Iterator
from typing import Final, NamedTuple

# Cells of one block that are laid out at once: some megabytes for each figure, whatever span is asked for.
PIECE_CELLS: Final = 2048
# What is folded into one cell at once: how long it was observed must fit into 32 bits.
_LONGEST_MS: Final = 2**31 - 1

Span = tuple[int, int]


class Points(NamedTuple):
    """The points of an answer, in milliseconds; each is whole cells of the tier that is read."""

    begin: int
    finish: int
    step: int

    @property
    def number(self) -> int:
        """How many there are."""
        return (self.finish - self.begin) // self.step


class Piece(NamedTuple):
    """A part of the span: of some whole points, or a part of one that is too long."""

    start: int
    end: int
    # Which points these are, and how many cells go into each.
    points: slice
    factor: int


def pieces_of(points: Points, cell_ms: int, known: list[Span]) -> Iterator[Piece]:
    """The pieces, in order, in which anything is known."""
    if not known:
        return
    step = points.step
    most = min(PIECE_CELLS, _LONGEST_MS // cell_ms) * cell_ms
    first = max(points.begin, min(start for start, _ in known))
    last = min(points.finish, max(end for _, end in known))
    # Several points to a piece, or several pieces to a point.
    several = max(1, most // step)
    at = points.begin + (first - points.begin) // (several * step) * several * step
    if step > most:
        at += (first - at) // most * most
    while at < last:
        number = (at - points.begin) // step
        if step > most:
            border = points.begin + (number + 1) * step
            end, count = min(at + most, border), 1
        else:
            end = min(at + several * step, points.finish)
            count = (end - at) // step
        if any(start < end and at < stop for start, stop in known):
            yield Piece(at, end, slice(number, number + count), (end - at) // cell_ms // count)
        at = end


def joined(spans: list[Span]) -> list[Span]:
    """The same, with those as one that touch, in order."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def points_of(start: float, end: float, points: int, cell_ms: int) -> Points:
    """Where points begin and end, and how long each is: whole cells, no more than were asked for."""
    points = max(1, points)
    first, last = start * 1000, max(end * 1000, start * 1000 + 1)
    step = max(1, math.ceil((last - first) / points / cell_ms)) * cell_ms
    while True:
        begin, finish = math.floor(first / step) * step, math.ceil(last / step) * step
        if (finish - begin) // step <= max(points, 2):
            return Points(begin, finish, step)
        step += cell_ms
