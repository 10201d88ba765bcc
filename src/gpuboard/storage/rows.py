"""Rows by their key, written over those of before: the one way in both databases."""

from collections.abc import Collection, Mapping, Sequence
from functools import cache

from sqlalchemy import Connection, Table, TextClause, bindparam, delete, text


def put_rows(
    connection: Connection, table: Table, rows: Sequence[Mapping[str, object]], gone: Collection[str]
) -> None:
    """Write rows, each over the one with its key, and delete those whose keys are gone."""
    (key,) = table.primary_key
    if gone:
        old = [{"which": name} for name in gone]
        connection.execute(delete(table).where(key == bindparam("which")), old)
    if rows:
        connection.execute(_upsert(table), rows)


@cache
def _upsert(table: Table) -> TextClause:
    (key,) = table.primary_key
    names = [column.name for column in table.columns]
    values = ", ".join(f":{name}" for name in names)
    changes = ", ".join(f"{name} = excluded.{name}" for name in names if name != key.name)
    return text(
        f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({values}) "  # noqa: S608 - our own names alone
        f"ON CONFLICT ({key.name}) DO UPDATE SET {changes}"
    )
