"""The batches of the last minutes: in the file, to be safe, and in memory, since everybody asks for them."""

import sqlite3
from typing import Final

from gpuboard.history.embedded.chunks import PLACES
from gpuboard.history.embedded.samples import read_tables, to_bytes
from gpuboard.history.embedded.schema import KINDS
from gpuboard.history.figures import Kind
from gpuboard.history.grid import Samples

# What a large fleet says in a quarter of an hour; the rest is read from the file.
MOST_SAMPLES: Final = 500_000
_WRITE: Final = "INSERT INTO tail VALUES (NULL, ?, ?, ?, ?, ?)"


class Tail:
    """The table of batches, and what is in it by their numbers.

    Readers come at any time: which batches there are is told by the file as they see it, never by the memory.
    """

    def __init__(self) -> None:
        self._kept: dict[int, dict[Kind, Samples]] = {}
        self._samples = 0
        # What a transaction under way has done: a batch more, and all up to one fewer.
        self._pending: tuple[int, dict[Kind, Samples]] | None = None
        self._gone: int | None = None

    def load(self, connection: sqlite3.Connection) -> None:
        """Take into memory what an earlier run has left."""
        for number, *blobs in connection.execute("SELECT id, gpu, host FROM tail ORDER BY id"):
            pairs = zip(KINDS, blobs, strict=True)
            read = {kind: read_tables([blob], PLACES[kind]) for kind, blob in pairs}
            self._pending = (number, {kind: tables[0] for kind, tables in read.items() if tables})
            self.settle()

    def write(self, connection: sqlite3.Connection, tables: dict[Kind, Samples], *, now: float) -> None:
        """Write a batch, as part of a transaction."""
        filled = {kind: table for kind, table in tables.items() if len(table)}
        if not filled:
            return
        first_ms = min(int(table.at_ms.min()) for table in filled.values())
        count = sum(map(len, filled.values()))
        blobs = [to_bytes(filled[kind]) if kind in filled else None for kind in tables]
        number = connection.execute(_WRITE, (now, first_ms, count, *blobs)).lastrowid
        if number is not None:
            self._pending = (number, filled)

    def delete(self, connection: sqlite3.Connection, last: int) -> None:
        """Delete all batches up to one, as part of a transaction."""
        connection.execute("DELETE FROM tail WHERE id <= ?", (last,))
        self._gone = last

    def settle(self) -> None:
        """Remember what the transaction has done, now that it is."""
        if self._pending is not None and self._samples < MOST_SAMPLES:
            number, tables = self._pending
            self._kept[number] = tables
            self._samples += sum(map(len, tables.values()))
        if self._gone is not None:
            # A new one at once: somebody may be reading the old one.
            self._kept = {number: tables for number, tables in self._kept.items() if number > self._gone}
            self._samples = sum(len(table) for tables in self._kept.values() for table in tables.values())
        self.undo()

    def undo(self) -> None:
        """Forget what the transaction has done: it has failed."""
        self._pending = self._gone = None

    def read(
        self, connection: sqlite3.Connection, kind: Kind, places: list[int], *, last: int | None = None
    ) -> list[Samples]:
        """All batches, or those up to one, with at least these figures."""
        limit = 2**62 if last is None else last
        kept = self._kept
        numbers = [
            row[0] for row in connection.execute("SELECT id FROM tail WHERE id <= ? ORDER BY id", (limit,))
        ]
        found = [kept[number][kind] for number in numbers if kind in kept.get(number, ())]
        missing = [number for number in numbers if number not in kept]
        blobs = (
            # One of two words, and a number.
            connection.execute(f"SELECT {kind} FROM tail WHERE id = ?", (number,)).fetchone()[0]  # noqa: S608
            for number in missing
        )
        return [*read_tables(blobs, places), *found]
