"""Values by name, each kept as one row of JSON."""

import logging
from collections.abc import Mapping
from typing import Generic, TypeVar

import msgspec
from sqlalchemy import Table, select

from gpuboard.storage.base import Database
from gpuboard.storage.rows import put_rows

log = logging.getLogger(__name__)

Value = TypeVar("Value")


class NamedValues(Generic[Value]):
    """A table with a name and a value per row. Every call blocks."""

    def __init__(self, database: Database, table: Table, kind: type[Value]) -> None:
        self.database = database
        self._table = table
        self._decoder = msgspec.json.Decoder(kind)

    def load(self) -> dict[str, Value]:
        """All that was written down; what cannot be read is left out, and said.

        Raises:
            StorageError: the table cannot be read.
        """
        with self.database.read() as connection:
            rows = connection.execute(select(self._table.c.name, self._table.c.value)).all()
        found = {}
        for name, value in rows:
            try:
                found[name] = self._decoder.decode(value)
            except msgspec.MsgspecError as error:
                log.warning("row not read: table=%s name=%s reason=%s", self._table.name, name, error)
        return found

    def save(self, changed: Mapping[str, Value], gone: frozenset[str]) -> None:
        """Write values in one transaction, and delete those that are gone.

        Raises:
            StorageError: they cannot be written.
        """
        if not changed and not gone:
            return
        with self.database.write() as connection:
            rows = [
                {"name": name, "value": msgspec.json.encode(value).decode()}
                for name, value in changed.items()
            ]
            put_rows(connection, self._table, rows, gone)
