"""From batches to what is kept: tail → segments → chunks, in steps that each are one transaction."""

import sqlite3
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from gpuboard.history.base import OLDEST_SAMPLE_SECONDS, Keep
from gpuboard.history.blocks import Ints, different
from gpuboard.history.cells import Cells, empty_cells, fill, means_of
from gpuboard.history.downsample import fold
from gpuboard.history.embedded.chunks import (
    EVERYTHING,
    PLACES,
    STATES,
    delete_cells,
    merge,
    put_cells,
    read_cells,
    write_cells,
)
from gpuboard.history.embedded.idling import is_quiet_at_end
from gpuboard.history.embedded.samples import read_tables, to_bytes
from gpuboard.history.embedded.schema import (
    CELLS,
    HOUR_MS,
    KINDS,
    MINUTE_MS,
    SERIES,
    TIER_CODES,
    WINDOW_MS,
    Block,
)
from gpuboard.history.embedded.tail import Tail
from gpuboard.history.embedded.usage import FIGURES as USAGE_FIGURES
from gpuboard.history.embedded.usage import seal_usage
from gpuboard.history.grid import Samples, carry, in_order, join, to_cells
from gpuboard.history.records import Tier

# The tail becomes segments when it has so many rows, or its oldest is so old.
TAIL_ROWS: Final = 90
TAIL_SECONDS: Final = 900.0
# Samples that are turned into segments in one step.
STEP_SAMPLES: Final = 200_000
SEAL_AFTER_MS: Final = int(OLDEST_SAMPLE_SECONDS * 1000)
# Pieces of minutes and hours become longer ones when so many cells are over.
JOINED_CELLS: Final[tuple[tuple[Tier, int, int], ...]] = (
    ("minutes", MINUTE_MS, CELLS),
    ("hours", HOUR_MS, 24),
    ("hours", HOUR_MS, CELLS),
)


class _Window(NamedTuple):
    """A block in one window of time: what is sealed at once."""

    block: Block
    start_ms: int

    @property
    def end_ms(self) -> int:
        return self.start_ms + WINDOW_MS


def gather_tail(connection: sqlite3.Connection, tail: Tail, *, now: float, is_urgent: bool = False) -> bool:
    """Turn the oldest batches into segments; whether there was anything to do."""
    count, oldest = connection.execute("SELECT count(*), min(written_at) FROM tail").fetchone()
    # A clock that was set back makes all batches young: then the number of them decides.
    if not count or not (is_urgent or count >= TAIL_ROWS or now - oldest >= TAIL_SECONDS):
        return False
    numbers = _oldest_batches(connection)
    for kind in KINDS:
        samples = join(tail.read(connection, kind, PLACES[kind], last=numbers[-1]), PLACES[kind])
        for number, of_block in split(samples).items():
            for start_ms, part in _by_window(of_block):
                _write_segment(connection, _Window(Block(kind, number), start_ms), part)
    tail.delete(connection, numbers[-1])
    return True


def seal(connection: sqlite3.Connection, tail: Tail, keep: Keep, *, now: float) -> bool:
    """Seal one block in the oldest window that has been over for long enough; whether there was one."""
    due = connection.execute(
        "SELECT start_ms, kind, block FROM segments WHERE start_ms <= ? "
        "ORDER BY start_ms, kind, block LIMIT 1",
        (int(now * 1000) - SEAL_AFTER_MS - WINDOW_MS,),
    ).fetchone()
    if due is None:
        return False
    start_ms, code, number = due
    window = _Window(Block(KINDS[code], number), start_ms)
    if _has_batch_until(connection, window.end_ms):
        return gather_tail(connection, tail, now=now, is_urgent=True)
    _seal_window(connection, window, keep)
    return True


def join_pieces(connection: sqlite3.Connection, *, now: float) -> bool:
    """Make one longer chunk of the pieces of one block in a window that is over; whether there was one."""
    for tier, cell_ms, cells in JOINED_CELLS:
        window = cell_ms * cells
        # An hour more than sealing takes: so that no piece comes afterwards.
        over_ms = int(now * 1000) - SEAL_AFTER_MS - HOUR_MS
        due = connection.execute(
            # The first three conditions are those of the index.
            "SELECT start_ms, kind, block FROM chunks WHERE figure = -1 AND tier > 0 AND cells < 360 "
            "AND tier = ? AND cells < ? AND start_ms < ? ORDER BY start_ms LIMIT 1",
            (TIER_CODES[tier], cells, over_ms // window * window),
        ).fetchone()
        if due is not None:
            start_ms, code, number = due
            first = start_ms // window * window
            _join(connection, tier, Block(KINDS[code], number), span=(first, first + window))
            return True
    return False


def split(samples: Samples) -> dict[int, Samples]:
    """Samples by block, their series numbered within it, in the order in which they came."""
    blocks = samples.series // SERIES
    if blocks.max(initial=0) < 1 << 16:
        # Numbers of 16 bits are sorted without comparing any.
        blocks = blocks.astype(np.uint16)
    order = np.argsort(blocks, kind="stable")
    ordered, blocks = samples.take(order), blocks[order]
    borders = [0, *(np.flatnonzero(np.diff(blocks)) + 1).tolist(), len(samples)]
    found = {}
    for first, last in pairwise(borders):
        if first < last:
            part = ordered.take(slice(first, last))
            slots = part.series % SERIES
            found[int(blocks[first])] = Samples(slots, part.at_ms, part.holds_ms, part.figures)
    return found


def _by_window(samples: Samples) -> Iterator[tuple[int, Samples]]:
    """Samples of one block by window, each by series and time."""
    windows = samples.at_ms // WINDOW_MS
    if windows.min() == windows.max():
        yield int(windows[0]) * WINDOW_MS, in_order(samples)
        return
    for window in different(windows):
        yield window * WINDOW_MS, in_order(samples.take(np.flatnonzero(windows == window)))


def _oldest_batches(connection: sqlite3.Connection) -> list[int]:
    """The oldest batches that together have as many samples as one step takes."""
    numbers, room = [], STEP_SAMPLES
    for number, samples in connection.execute("SELECT id, samples FROM tail ORDER BY id"):
        numbers.append(number)
        room -= samples
        if room <= 0:
            break
    return numbers


def _write_segment(connection: sqlite3.Connection, window: _Window, samples: Samples) -> None:
    times = (samples.at_ms.min(), samples.at_ms.max(), (samples.at_ms + samples.holds_ms).max())
    connection.execute(
        "INSERT INTO segments VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)",
        (*window.block.codes, window.start_ms, *map(int, times), to_bytes(samples)),
    )


def _has_batch_until(connection: sqlite3.Connection, moment_ms: int) -> bool:
    earliest = connection.execute("SELECT min(first_ms) FROM tail").fetchone()[0]
    return earliest is not None and earliest <= moment_ms


def _seal_window(connection: sqlite3.Connection, window: _Window, keep: Keep) -> None:
    """Samples → cells → minutes → hours; what still held at the end goes on into the next window."""
    key = (*window.block.codes, window.start_ms)
    chosen = "kind = ? AND block = ? AND start_ms = ?"
    blobs = [row[0] for row in connection.execute(f"SELECT blob FROM segments WHERE {chosen}", key)]  # noqa: S608
    places = PLACES[window.block.kind]
    samples = in_order(join(read_tables(blobs, places), places))
    states, grid_ms = STATES[window.block.kind], keep.grid_seconds * 1000
    count = WINDOW_MS // grid_ms
    cells = to_cells(
        samples, states, window.start_ms, grid_ms, series=SERIES, count=count, with_extremes=True
    )
    full = _write_tiers(connection, window.block, cells)
    connection.execute(f"DELETE FROM segments WHERE {chosen}", key)  # noqa: S608
    held = carry(samples, window.end_ms)
    held = held.take(~np.isin(held.series, _said_at_end(connection, window)))
    if len(held):
        _write_segment(connection, window._replace(start_ms=window.end_ms), held)
    if window.block.kind == "gpu":
        _seal_usage(connection, window, full, keep.quiet_percent)


def _said_at_end(connection: sqlite3.Connection, window: _Window) -> Ints:
    """The series of which there is a sample for the very moment in which the window ends."""
    blobs = connection.execute(
        "SELECT blob FROM segments WHERE kind = ? AND block = ? AND start_ms = ? AND first_ms = ?",
        (*window.block.codes, window.end_ms, window.end_ms),
    )
    said = join(read_tables((row[0] for row in blobs), []), [])
    return said.take(said.at_ms == window.end_ms).series


def _seal_usage(connection: sqlite3.Connection, window: _Window, full: Cells, quiet_percent: float) -> None:
    """Count the window, knowing who was found idle in the one behind it."""
    cells = _for_usage([full], window)
    if is_quiet_at_end(cells, quiet_percent):
        cells = _for_usage([full, _behind(connection, window, full.cell_ms)], window)
    seal_usage(connection, window.block.number, cells, quiet_percent)


def _for_usage(parts: list[Cells], window: _Window) -> Cells:
    """Windows that follow each other, with the figures that usage follows from."""
    cell_ms = parts[0].cell_ms
    count = len(parts) * WINDOW_MS // cell_ms
    cells = empty_cells(
        USAGE_FIGURES, window.start_ms, cell_ms, series=SERIES, count=count, with_extremes=False
    )
    for part in parts:
        fill(cells, part)
    return cells


def _behind(connection: sqlite3.Connection, window: _Window, cell_ms: int) -> Cells:
    """What is known so far of the window behind one."""
    blobs = connection.execute(
        "SELECT blob FROM segments WHERE kind = ? AND block = ? AND start_ms = ?",
        (*window.block.codes, window.end_ms),
    )
    samples = in_order(join(read_tables((row[0] for row in blobs), USAGE_FIGURES), USAGE_FIGURES))
    count = WINDOW_MS // cell_ms
    return to_cells(samples, STATES["gpu"], window.end_ms, cell_ms, series=SERIES, count=count)


def _write_tiers(connection: sqlite3.Connection, block: Block, cells: Cells) -> Cells:
    # What was sealed once stays; only a clock that was set back brings the same window again.
    finest = means_of(cells)
    full = put_cells(connection, "full", block, finest, wins=False)
    # A minute has the peaks of its samples, however short: on the grid they are means already. Of what was
    # merged no more is known.
    minutes = fold(cells if full is finest else full, MINUTE_MS // full.cell_ms, STATES[block.kind])
    put_cells(connection, "minutes", block, minutes, wins=True)
    hours = fold(minutes, HOUR_MS // MINUTE_MS, STATES[block.kind])
    put_cells(connection, "hours", block, hours, wins=True)
    return full


def _join(connection: sqlite3.Connection, tier: Tier, block: Block, *, span: tuple[int, int]) -> None:
    found = read_cells(connection, tier, block, EVERYTHING[block.kind], span=span)
    parts = [part for part in found if part.start_ms >= span[0] and part.end_ms <= span[1]]
    delete_cells(connection, tier, block, parts)
    write_cells(connection, tier, block, merge(parts, block.kind, span=span))
