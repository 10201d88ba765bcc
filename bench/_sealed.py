"""Copies of the file of a day: sealed to its end, tier by tier, a week of it, and one that may not grow."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

import numpy as np
from msgspec import Struct

from bench._past import START
from gpuboard.history.base import Keep
from gpuboard.history.blocks import Ints, unpack
from gpuboard.history.embedded import EmbeddedHistory
from gpuboard.history.embedded.schema import OBSERVED, SERIES, TIERS
from gpuboard.history.figures import GPU_FIGURES, NOTHING

DAY: Final = 86_400.0
WEEK_DAYS: Final = 7
# Of the week, counted from its end: the day on which nothing was heard from 06:00 to 12:00.
OUTAGE_DAYS_BACK: Final = 3
OUTAGE_HOURS: Final = (6, 12)
# All that was sampled can be sealed and joined by then.
_LATER_SECONDS: Final = 2 * DAY
_FOR_EVER: Final = 10 * 365 * DAY
_LAZY: Final = Keep(full_seconds=_FOR_EVER, minutes_seconds=_FOR_EVER, hours_seconds=_FOR_EVER)


class Sizes(Struct, frozen=True, kw_only=True):
    """What a sealed day takes; bytes are of files that hold nothing else, with their indexes."""

    # Not `NOTHING`, of the full tier.
    values: int
    # The least that differences in time could take, each written by itself.
    entropy_bytes: float
    # By tier; and who used what.
    tiers: dict[str, int]
    usage: int


def seal_all(day: Path, sealed: Path, end: float) -> None:
    """A copy in which nothing waits to be sealed or joined."""
    _copy(day, sealed)
    history = EmbeddedHistory(sealed, _LAZY)
    history.open()
    while history.tidy(now=end + _LATER_SECONDS):
        pass
    history.close()


def sizes_of(sealed: Path) -> Sizes:
    """Weigh a sealed day, tier by tier."""
    with closing(sqlite3.connect(sealed)) as connection:
        values, bits = 0, 0.0
        for place in range(len(GPU_FIGURES)):
            counts: dict[int, int] = {}
            for mean in _means(connection, place):
                values += int((mean != NOTHING).sum())
                _count(counts, mean)
            bits += _entropy(counts)
    return Sizes(
        values=values,
        entropy_bytes=bits / 8,
        tiers={tier: _weigh(sealed, {"chunks": f"tier = {code}"}) for code, tier in enumerate(TIERS)},
        usage=_weigh(sealed, {"usage": "TRUE", "usage_days": "TRUE"}),
    )


def make_week(day: Path, sealed: Path, week: Path) -> None:
    """The day as it is, and before it as many copies of it, sealed, as make a week.

    On one of them nothing was heard for some hours.
    """
    _copy(day, week)
    with closing(sqlite3.connect(week)) as connection:
        connection.execute("ATTACH ? AS sealed", (str(sealed),))
        for back in range(1, WEEK_DAYS):
            shift = int(back * DAY * 1000)
            connection.execute(
                "INSERT INTO chunks SELECT NULL, tier, kind, block, figure, start_ms - ?, cell_ms, cells, "
                "named, blob FROM sealed.chunks WHERE start_ms >= ? AND start_ms < ?",
                (shift, START * 1000, int((START + DAY) * 1000)),
            )
        silent = [outage() + (hour - OUTAGE_HOURS[0]) * 3600 for hour in OUTAGE_HOURS]
        connection.execute(
            "DELETE FROM chunks WHERE tier < 2 AND start_ms >= ? AND start_ms < ?",
            [int(moment * 1000) for moment in silent],
        )
        connection.execute("UPDATE places SET start = start - ?", ((WEEK_DAYS - 1) * DAY,))
        connection.commit()


def outage() -> float:
    """When the silence of the week begins."""
    return START - OUTAGE_DAYS_BACK * DAY + OUTAGE_HOURS[0] * 3600


def bounded(week: Path, copy: Path, end: float) -> tuple[int, int]:
    """Let a copy be no larger than a half of what it is; that half, and what it takes then."""
    _copy(week, copy)
    history = EmbeddedHistory(copy, _LAZY)
    history.open()
    most = history.size_bytes() // 2
    history.close()
    history = EmbeddedHistory(copy, Keep(max_bytes=most))
    history.open()
    while history.tidy(now=end):
        pass
    found = history.size_bytes()
    history.close()
    return most, found


def _copy(source: Path, target: Path) -> None:
    with closing(sqlite3.connect(source)) as connection:
        connection.execute("VACUUM INTO ?", (str(target),))
    with closing(sqlite3.connect(target)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")


def _weigh(sealed: Path, wanted: Mapping[str, str]) -> int:
    """What some rows of some tables take, with their indexes."""
    return _size_with(sealed, wanted) - _size_with(sealed, {})


def _size_with(sealed: Path, wanted: Mapping[str, str]) -> int:
    copy = sealed.with_name("weighed.sqlite")
    _copy(sealed, copy)
    with closing(sqlite3.connect(copy)) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
            if not name.startswith("sqlite_"):
                connection.execute(f"DELETE FROM {name} WHERE NOT ({wanted.get(name, 'FALSE')})")
        connection.commit()
        connection.execute("VACUUM")
    # Closed, it is one file again.
    size = copy.stat().st_size
    copy.unlink()
    return size


def _means(connection: sqlite3.Connection, place: int) -> Iterator[Ints]:
    rows = connection.execute(
        "SELECT blob FROM chunks WHERE tier = 0 AND kind = 0 AND figure = ? AND figure <> ?",
        (place, OBSERVED),
    )
    return (unpack(blob)[:SERIES] for (blob,) in rows)


def _count(counts: dict[int, int], mean: Ints) -> None:
    told = mean[(mean != NOTHING).any(axis=1)]
    for value, number in zip(*np.unique(np.diff(told, axis=1), return_counts=True), strict=True):
        counts[int(value)] = counts.get(int(value), 0) + int(number)


def _entropy(counts: dict[int, int]) -> float:
    """How many bits all differences of a figure take at least, if each is written by itself."""
    numbers = np.array(list(counts.values()), np.float64)
    return float((numbers * -np.log2(numbers / numbers.sum())).sum()) if len(numbers) else 0.0
