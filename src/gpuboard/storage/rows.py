"""Rows by their key, written over those of before: the one way in both databases."""

from collections.abc import Collection, Mapping, Sequence
from functools import cache

from sqlalchemy import Connection, Dialect, Table, bindparam, delete, text
from sqlalchemy.sql.compiler import SQLCompiler


def put_rows(
    connection: Connection, table: Table, rows: Sequence[Mapping[str, object]], gone: Collection[str]
) -> None:
    """Write rows, each over the one with its key, and delete those whose keys are gone."""
    (key,) = table.primary_key
    if gone:
        old = [{"which": name} for name in gone]
        connection.execute(delete(table).where(key == bindparam("which")), old)
    if rows:
        # Compiled once, and the rows as the driver wants them: thousands a second are written so.
        upsert = _upsert(table, connection.dialect)
        names = upsert.positiontup
        given = rows if names is None else [tuple([row[name] for name in names]) for row in rows]
        connection.exec_driver_sql(upsert.string, given)


@cache
def _upsert(table: Table, dialect: Dialect) -> SQLCompiler:
    (key,) = table.primary_key
    names = [column.name for column in table.columns]
    values = ", ".join(f":{name}" for name in names)
    changes = ", ".join(f"{name} = excluded.{name}" for name in names if name != key.name)
    upsert = text(
        f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({values}) "  # noqa: S608 - our own names alone
        f"ON CONFLICT ({key.name}) DO UPDATE SET {changes}"
    )
    compiled = upsert.compile(dialect=dialect)
    assert isinstance(compiled, SQLCompiler)  # noqa: S101 - tells the type checker
    return compiled
