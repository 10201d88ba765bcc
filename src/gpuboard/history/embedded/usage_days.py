"""GPU-hours of days that are over: the hours of a block side by side, since rows cost more than entries.

An hour stands in `usage` until its day has long been over, then in `usage_days`. Where one is in both, since
a clock was set back and it was sealed again, the one in `usage` holds.
"""

import sqlite3
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Final

import numpy as np

from gpuboard.history.base import OLDEST_SAMPLE_SECONDS
from gpuboard.history.blocks import SMALL, Ints, pack
from gpuboard.history.embedded.names import SOMEBODY
from gpuboard.history.embedded.schema import HOUR_MS, WINDOW_MS
from gpuboard.history.embedded.usage import BEGIN, CROWD, Cut, entries_in, nameless, read_usage

DAY_MS: Final = 24 * HOUR_MS
# Two hours more than sealing takes.
JOIN_AFTER_MS: Final = int(OLDEST_SAMPLE_SECONDS * 1000) + 2 * HOUR_MS

# Block and begin of an hour.
Hour = tuple[int, int]


def join_usage(connection: sqlite3.Connection, *, now: float) -> bool:
    """Put the hours of one block of a day that is over side by side; whether there were any."""
    border = (int(now * 1000) - JOIN_AFTER_MS) // DAY_MS * DAY_MS
    due = connection.execute(
        "SELECT start_ms, block FROM usage WHERE start_ms < ? ORDER BY start_ms, block LIMIT 1", (border,)
    ).fetchone()
    if due is None:
        return False
    day, block = due[0] // DAY_MS * DAY_MS, due[1]
    hours = {(block, at): entries for _, at, entries in read_usage(connection, Cut(day, day + DAY_MS), block)}
    parts = [entries for _, _, entries in read_days(connection, Cut(day, day + DAY_MS), hours.keys(), block)]
    for (_, at), entries in hours.items():
        entries[BEGIN] += at - day
        parts.append(entries)
    if parts:
        _put(connection, day, block, np.concatenate(parts, axis=1))
    connection.execute(
        "DELETE FROM usage WHERE start_ms >= ? AND start_ms < ? AND block = ?", (day, day + DAY_MS, block)
    )
    return True


def _put(connection: sqlite3.Connection, day: int, block: int, entries: Ints) -> None:
    first = day + int(entries[BEGIN].min()) // WINDOW_MS * WINDOW_MS
    is_named = bool((entries[CROWD] > SOMEBODY).any())
    # GPU by GPU: then most are as they were the hour before.
    order = np.lexsort((entries[BEGIN], entries[0]))
    connection.execute(
        "INSERT OR REPLACE INTO usage_days VALUES (?, ?, ?, ?, ?)",
        (day, block, first, is_named, pack(np.ascontiguousarray(entries[:, order]), level=SMALL)),
    )


def read_days(
    connection: sqlite3.Connection,
    cut: Cut,
    but_not: AbstractSet[Hour] = frozenset(),
    block: int | None = None,
) -> Iterator[tuple[int, int, Ints]]:
    """Block, day and entries of the hours in a span, without those that are known already."""
    which, values = "day > ? AND day < ?", [cut.start_ms - DAY_MS, cut.end_ms]
    if block is not None:
        which, values = f"{which} AND block = ?", [*values, block]
    rows = connection.execute(f"SELECT block, day, blob FROM usage_days WHERE {which}", values)  # noqa: S608
    known_days = {(number, at // DAY_MS * DAY_MS) for number, at in but_not}
    for number, day, entries in entries_in(rows):
        is_known = (number, day) in known_days
        if not is_known and cut.start_ms <= day <= cut.end_ms - DAY_MS:
            yield number, day, entries
            continue
        hours = day + entries[BEGIN].astype(np.int64) // WINDOW_MS * WINDOW_MS
        chosen = (hours >= cut.start_ms) & (hours < cut.end_ms)
        if is_known:
            chosen &= [(number, hour) not in but_not for hour in hours.tolist()]
        yield number, day, entries if chosen.all() else entries[:, chosen]


def counted_since_ms(connection: sqlite3.Connection) -> int | None:
    """The first hour that was counted; None: none was."""
    found = connection.execute(
        "SELECT min(first) FROM (SELECT min(start_ms) AS first FROM usage "
        "UNION ALL SELECT first_ms FROM usage_days WHERE day = (SELECT min(day) FROM usage_days))"
    ).fetchone()
    return None if found[0] is None else int(found[0])


def forget_usage(connection: sqlite3.Connection, before_ms: int) -> bool:
    """Delete what was over by a moment; whether there was any."""
    hours = connection.execute("DELETE FROM usage WHERE start_ms < ?", (before_ms,)).rowcount
    days = connection.execute("DELETE FROM usage_days WHERE day <= ?", (before_ms - DAY_MS,)).rowcount
    return hours > 0 or days > 0


def forget_people(connection: sqlite3.Connection, before_ms: int, *, rows: int) -> bool:
    """Let people of what was over by a moment be somebody, so many rows at once; whether there was any."""
    hours = connection.execute(
        "SELECT start_ms, block, blob FROM usage WHERE named AND start_ms < ? LIMIT ?", (before_ms, rows)
    ).fetchall()
    connection.executemany(
        "UPDATE usage SET named = 0, blob = ? WHERE start_ms = ? AND block = ?", nameless(hours)
    )
    days = connection.execute(
        "SELECT day, block, blob FROM usage_days WHERE named AND day <= ? LIMIT ?",
        (before_ms - DAY_MS, rows // 10),
    ).fetchall()
    connection.executemany(
        "UPDATE usage_days SET named = 0, blob = ? WHERE day = ? AND block = ?", nameless(days)
    )
    return bool(hours or days)
