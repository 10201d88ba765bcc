"""Forgetting: what is too old, what is too much, and names before figures; each step one transaction."""

import sqlite3
from typing import Final

import numpy as np

from gpuboard.history.base import Keep
from gpuboard.history.blocks import SMALL, BlockError, pack, unpack
from gpuboard.history.embedded.names import SOMEBODY, Names
from gpuboard.history.embedded.schema import TIER_CODES
from gpuboard.history.embedded.usage_days import forget_people, forget_usage
from gpuboard.history.records import Tier

# Rows that are deleted, and pages that are given back, in one step.
STEP_ROWS: Final = 200
STEP_PAGES: Final = 512
STEP_TOLD: Final = 1000
# Of a file that is too large, what ran and what befell nodes may each take a quarter: nodes say what ran, and
# one that invents programs must not take everybody's figures. With its indexes a row takes so much.
ENDED_SHARE: Final = 0.25
ENDED_ROW_BYTES: Final = 400
_NEVER_MS: Final = 2**62
# What nodes say has happened, with the columns by which a row is known.
_TOLD: Final = {"episodes": "gpu, start, person, program", "events": "node, start, kind, gpu"}
_ENDED: Final = (*_TOLD, "places")


def forget_old(connection: sqlite3.Connection, keep: Keep, *, now: float) -> bool:
    """Delete some of what is older than it is kept; whether there was any."""
    ages: tuple[tuple[Tier, float], ...] = (
        ("full", keep.full_seconds),
        ("minutes", keep.minutes_seconds),
        ("hours", keep.hours_seconds),
    )
    for tier, seconds in ages:
        if _delete_chunks(connection, tier, before_ms=int((now - seconds) * 1000)):
            return True
    before = now - keep.hours_seconds
    if forget_usage(connection, int(before * 1000)):
        return True
    return any(_delete_ended(connection, table, before) for table in _ENDED)


def forget_most(connection: sqlite3.Connection, keep: Keep) -> bool:
    """Delete some of the oldest while all together is too much: full first, then minutes, then hours.

    Before them what ran and befell nodes, as far as it is more than its share; and what is left of it last.
    """
    if keep.max_bytes is None or used_bytes(connection) <= keep.max_bytes:
        return False
    most_rows = int(keep.max_bytes * ENDED_SHARE / ENDED_ROW_BYTES)
    return (
        any(_has_more(connection, table, most_rows) and _delete_oldest(connection, table) for table in _TOLD)
        or any(_delete_chunks(connection, tier) for tier in TIER_CODES)
        or any(_delete_oldest(connection, table) for table in _TOLD)
    )


def forget_names(connection: sqlite3.Connection, keep: Keep, names: Names, *, now: float) -> bool:
    """Let people of long ago be somebody, and what they ran something; whether there was anybody left."""
    before = now - (keep.hours_seconds if keep.names_seconds is None else keep.names_seconds)
    rows = connection.execute(
        "SELECT id, blob FROM chunks WHERE named AND start_ms + cells * cell_ms <= ? "
        "ORDER BY start_ms LIMIT ?",
        (int(before * 1000), STEP_ROWS // 10),
    ).fetchall()
    connection.executemany(
        "UPDATE chunks SET named = 0, blob = ? WHERE id = ?", [(_nameless(blob), row) for row, blob in rows]
    )
    # What programs are called, and what nodes say of what befell them, may name people too.
    ended = sum(
        connection.execute(
            f"UPDATE OR REPLACE {change} AND stop < ? AND start < ?", (before, before)
        ).rowcount
        for change in (
            "episodes SET person = 'somebody', program = '' WHERE (person <> 'somebody' OR program <> '')",
            "events SET detail = NULL WHERE detail IS NOT NULL",
        )
    )
    hours = forget_people(connection, int(before * 1000), rows=STEP_ROWS)
    return names.forget(connection, before) or bool(rows) or ended > 0 or hours


def give_back(connection: sqlite3.Connection) -> bool:
    """Shrink the file by a few pages that nothing is on; whether there were any. Outside of a transaction."""
    free = connection.execute("PRAGMA freelist_count").fetchone()[0]
    # Some stay: the next hour needs them again.
    if free < STEP_PAGES * 2:
        return False
    # As a script: `execute` would stop at its first page.
    connection.executescript(f"PRAGMA incremental_vacuum({STEP_PAGES})")
    return True


def used_bytes(connection: sqlite3.Connection) -> int:
    """What is in the file, without pages that nothing is on."""
    pages, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def _delete_chunks(connection: sqlite3.Connection, tier: Tier, *, before_ms: int | None = None) -> bool:
    """Delete a few chunks of a tier, the oldest first; with a moment, only those that were over by then."""
    limit = _NEVER_MS if before_ms is None else before_ms
    rows = connection.execute(
        # The first condition on the time lets the index end the search; the second is exact.
        "SELECT id, start_ms + cells * cell_ms FROM chunks "
        "WHERE tier = ? AND start_ms < ? AND start_ms + cells * cell_ms <= ? ORDER BY start_ms LIMIT ?",
        (TIER_CODES[tier], limit, limit, STEP_ROWS),
    ).fetchall()
    if not rows:
        return False
    connection.executemany("DELETE FROM chunks WHERE id = ?", [(row,) for row, _ in rows])
    until = max(forgotten_ms(connection, tier), *(end for _, end in rows))
    connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (f"forgotten_{tier}_ms", str(until)))
    return True


def forgotten_ms(connection: sqlite3.Connection, tier: Tier) -> int:
    """Until when the past is no longer known so finely; 0: nothing has been forgotten."""
    found = connection.execute("SELECT value FROM facts WHERE name = ?", (f"forgotten_{tier}_ms",)).fetchone()
    return int(found[0]) if found else 0


def _delete_ended(connection: sqlite3.Connection, table: str, before: float) -> bool:
    found = connection.execute(f"DELETE FROM {table} WHERE stop < ? AND start < ?", (before, before))  # noqa: S608
    return found.rowcount > 0


def _has_more(connection: sqlite3.Connection, table: str, rows: int) -> bool:
    found = connection.execute(f"SELECT count(*) FROM (SELECT 1 FROM {table} LIMIT ?)", (rows + 1,))  # noqa: S608
    return int(found.fetchone()[0]) > rows


def _delete_oldest(connection: sqlite3.Connection, table: str) -> bool:
    key = _TOLD[table]
    found = connection.execute(
        f"DELETE FROM {table} WHERE ({key}) IN "  # noqa: S608
        f"(SELECT {key} FROM {table} WHERE stop IS NOT NULL ORDER BY start LIMIT ?)",
        (STEP_TOLD,),
    )
    return found.rowcount > 0


def _nameless(blob: bytes) -> bytes:
    try:
        numbers = unpack(blob)
    except BlockError:
        # What nobody can read is not kept for its names.
        return b""
    return pack(np.where(numbers > SOMEBODY, SOMEBODY, numbers).astype(np.int32), level=SMALL)
