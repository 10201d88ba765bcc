"""The tables of history.sqlite.

`tail` has one row per batch, as it came. Every few minutes its rows become `segments`: the samples of one
block of series in one window of time. A window that has long been over is sealed into `chunks`: a figure of a
block on the grid, and the same in minutes and in hours.
"""

import sqlite3
from typing import Final, NamedTuple

from gpuboard.history.figures import Kind
from gpuboard.history.records import Tier

VERSION: Final = 1
# Series that are kept side by side; a series has its place among them for ever.
SERIES: Final = 32
# A whole chunk of minutes or of hours has so many cells; one on the grid is an hour.
CELLS: Final = 360
# In place of a figure: for how long a series was observed.
OBSERVED: Final = -1
MINUTE_MS: Final = 60_000
HOUR_MS: Final = 3_600_000
# What is sealed at once, whatever the grid.
WINDOW_MS: Final = HOUR_MS

KINDS: Final[tuple[Kind, ...]] = ("gpu", "host")
TIERS: Final[tuple[Tier, ...]] = ("full", "minutes", "hours")
KIND_CODES: Final = {kind: code for code, kind in enumerate(KINDS)}
# No chunk of a tier is longer.
SPANS_MS: Final[dict[Tier, int]] = {"full": WINDOW_MS, "minutes": CELLS * MINUTE_MS, "hours": CELLS * HOUR_MS}
TIER_CODES: Final = {tier: code for code, tier in enumerate(TIERS)}


class Block(NamedTuple):
    """Some series that are kept side by side."""

    kind: Kind
    number: int

    @property
    def codes(self) -> tuple[int, int]:
        """As it stands in the file."""
        return KIND_CODES[self.kind], self.number


_TABLES: Final = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE series (
    kind INTEGER NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL, node TEXT NOT NULL,
    seen_at REAL NOT NULL, PRIMARY KEY (kind, number)
) WITHOUT ROWID;
CREATE UNIQUE INDEX series_names ON series (kind, name);
CREATE TABLE places (
    gpu TEXT NOT NULL, start REAL NOT NULL, stop REAL, node TEXT NOT NULL, number INTEGER NOT NULL,
    label TEXT NOT NULL, parent TEXT, model TEXT, memory_total_bytes INTEGER, counted INTEGER NOT NULL,
    PRIMARY KEY (gpu, start)
) WITHOUT ROWID;
CREATE INDEX places_of_nodes ON places (node);
CREATE TABLE crowds (
    number INTEGER PRIMARY KEY AUTOINCREMENT, people TEXT NOT NULL UNIQUE, node TEXT NOT NULL,
    seen_at REAL NOT NULL
);
CREATE TABLE positions (
    node TEXT PRIMARY KEY, boot_id TEXT NOT NULL, sequence INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE memories (node TEXT PRIMARY KEY, memory BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE tail (
    id INTEGER PRIMARY KEY AUTOINCREMENT, written_at REAL NOT NULL, first_ms INTEGER NOT NULL,
    samples INTEGER NOT NULL, gpu BLOB, host BLOB
);
CREATE TABLE segments (
    id INTEGER PRIMARY KEY AUTOINCREMENT, kind INTEGER NOT NULL, block INTEGER NOT NULL,
    start_ms INTEGER NOT NULL, first_ms INTEGER NOT NULL, last_ms INTEGER NOT NULL,
    reach_ms INTEGER NOT NULL, blob BLOB NOT NULL
);
CREATE INDEX segments_of_blocks ON segments (kind, block, start_ms);
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY, tier INTEGER NOT NULL, kind INTEGER NOT NULL, block INTEGER NOT NULL,
    figure INTEGER NOT NULL, start_ms INTEGER NOT NULL, cell_ms INTEGER NOT NULL, cells INTEGER NOT NULL,
    named INTEGER NOT NULL, blob BLOB NOT NULL
);
CREATE UNIQUE INDEX chunks_of_blocks ON chunks (tier, kind, block, figure, start_ms);
CREATE INDEX chunks_by_age ON chunks (tier, start_ms);
CREATE INDEX chunks_in_pieces ON chunks (tier, start_ms) WHERE figure = -1 AND tier > 0 AND cells < 360;
CREATE INDEX chunks_named ON chunks (start_ms) WHERE named;
CREATE TABLE episodes (
    gpu TEXT NOT NULL, person TEXT NOT NULL, program TEXT NOT NULL, start REAL NOT NULL, stop REAL,
    node TEXT NOT NULL, label TEXT NOT NULL, memory_peak_bytes INTEGER, utilization_mean_percent REAL,
    PRIMARY KEY (gpu, start, person, program)
) WITHOUT ROWID;
CREATE INDEX episodes_of_nodes ON episodes (node, start);
CREATE INDEX episodes_of_people ON episodes (person, start);
CREATE INDEX episodes_by_time ON episodes (start);
CREATE INDEX episodes_open ON episodes (gpu) WHERE stop IS NULL;
CREATE TABLE events (
    node TEXT NOT NULL, start REAL NOT NULL, kind TEXT NOT NULL, gpu TEXT NOT NULL, stop REAL, detail TEXT,
    PRIMARY KEY (node, start, kind, gpu)
) WITHOUT ROWID;
CREATE INDEX events_by_time ON events (start);
CREATE INDEX events_open ON events (node) WHERE stop IS NULL;
"""
# Came later: a file from before gets it when it is opened.
LATER_TABLES: Final = (
    """
CREATE TABLE IF NOT EXISTS usage (
    start_ms INTEGER NOT NULL, block INTEGER NOT NULL, named INTEGER NOT NULL, blob BLOB NOT NULL,
    PRIMARY KEY (start_ms, block)
) WITHOUT ROWID
""",
    """
CREATE TABLE IF NOT EXISTS usage_days (
    day INTEGER NOT NULL, block INTEGER NOT NULL, first_ms INTEGER NOT NULL, named INTEGER NOT NULL,
    blob BLOB NOT NULL, PRIMARY KEY (day, block)
) WITHOUT ROWID
""",
    "CREATE INDEX IF NOT EXISTS episodes_by_end ON episodes (stop)",
)


def make_tables(connection: sqlite3.Connection) -> None:
    """Make all tables in a new file, in one transaction."""
    # Both only before the first table: pages that are given up go back to the disk in small steps.
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.executescript(f"BEGIN IMMEDIATE; {_TABLES} PRAGMA user_version = {VERSION}; COMMIT;")
