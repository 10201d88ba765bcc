"""The way from every earlier schema to this one; each step is done once, whole or not at all."""

import time
from typing import Final

from sqlalchemy import Connection, func, insert, inspect, select

from gpuboard.model.errors import StorageError
from gpuboard.storage.tables import SCHEMA_VERSIONS

# Never change a step that has been released; add one. Plain SQL that SQLite and PostgreSQL both understand.
STEPS: Final[tuple[tuple[str, ...], ...]] = (
    (
        "CREATE TABLE facts (name VARCHAR PRIMARY KEY, value VARCHAR NOT NULL)",
        """CREATE TABLE node_tokens (
            digest VARCHAR PRIMARY KEY, node VARCHAR NOT NULL, created_at DOUBLE PRECISION NOT NULL,
            last_used_at DOUBLE PRECISION, expires_at DOUBLE PRECISION)""",
        "CREATE INDEX node_tokens_by_node ON node_tokens (node)",
        """CREATE TABLE enrolment_codes (
            digest VARCHAR PRIMARY KEY, node VARCHAR NOT NULL, created_at DOUBLE PRECISION NOT NULL,
            expires_at DOUBLE PRECISION NOT NULL)""",
    ),
    (
        """CREATE TABLE node_positions (
            node VARCHAR PRIMARY KEY, boot_id VARCHAR NOT NULL, earlier_boots VARCHAR NOT NULL,
            shown BIGINT, taken BIGINT)""",
    ),
    ("CREATE TABLE node_places (name VARCHAR PRIMARY KEY, value VARCHAR NOT NULL)",),
    ("CREATE TABLE kept_claims (name VARCHAR PRIMARY KEY, value VARCHAR NOT NULL)",),
    ("CREATE TABLE folder_owners (name VARCHAR PRIMARY KEY, value VARCHAR NOT NULL)",),
    ("CREATE TABLE folder_marks (name VARCHAR PRIMARY KEY, value VARCHAR NOT NULL)",),
)


def migrate(connection: Connection) -> None:
    """Bring the schema up to date, inside the caller's transaction.

    Raises:
        StorageError: a newer gpuboard has written this database.
    """
    if not inspect(connection).has_table(SCHEMA_VERSIONS.name):
        SCHEMA_VERSIONS.create(connection)
    done: int = connection.scalar(select(func.max(SCHEMA_VERSIONS.c.version))) or 0
    if done > len(STEPS):
        raise StorageError(
            f"the database has schema {done}, this gpuboard knows {len(STEPS)}: a newer gpuboard wrote it; "
            "install that version again, or name another --state-dir or [storage] url"
        )
    for version in range(done + 1, len(STEPS) + 1):
        for statement in STEPS[version - 1]:
            connection.exec_driver_sql(statement)
        connection.execute(insert(SCHEMA_VERSIONS).values(version=version, applied_at=time.time()))
