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
    (
        """CREATE TABLE people (
            name VARCHAR PRIMARY KEY, role VARCHAR NOT NULL, display_name VARCHAR, password VARCHAR,
            created_at DOUBLE PRECISION NOT NULL)""",
        """CREATE TABLE sessions (
            id VARCHAR PRIMARY KEY, digest VARCHAR NOT NULL, earlier_digest VARCHAR,
            exchanged_at DOUBLE PRECISION NOT NULL, person VARCHAR NOT NULL, role VARCHAR NOT NULL,
            display_name VARCHAR, way VARCHAR NOT NULL, through VARCHAR, groups VARCHAR NOT NULL,
            address VARCHAR, created_at DOUBLE PRECISION NOT NULL, last_used_at DOUBLE PRECISION NOT NULL,
            expires_at DOUBLE PRECISION NOT NULL)""",
        "CREATE UNIQUE INDEX sessions_by_digest ON sessions (digest)",
        "CREATE INDEX sessions_by_person ON sessions (person)",
        """CREATE TABLE person_tokens (
            id VARCHAR PRIMARY KEY, digest VARCHAR NOT NULL, person VARCHAR NOT NULL, role VARCHAR NOT NULL,
            name VARCHAR NOT NULL, kind VARCHAR NOT NULL, scopes VARCHAR NOT NULL, way VARCHAR NOT NULL,
            through VARCHAR, created_at DOUBLE PRECISION NOT NULL, last_used_at DOUBLE PRECISION,
            expires_at DOUBLE PRECISION)""",
        "CREATE UNIQUE INDEX person_tokens_by_digest ON person_tokens (digest)",
        "CREATE INDEX person_tokens_by_person ON person_tokens (person)",
        """CREATE TABLE sign_in_links (
            digest VARCHAR PRIMARY KEY, kind VARCHAR NOT NULL, person VARCHAR NOT NULL, role VARCHAR NOT NULL,
            way VARCHAR NOT NULL, through VARCHAR, created_at DOUBLE PRECISION NOT NULL,
            expires_at DOUBLE PRECISION NOT NULL, used_at DOUBLE PRECISION)""",
        """CREATE TABLE known_browsers (
            digest VARCHAR NOT NULL, person VARCHAR NOT NULL, seen_at DOUBLE PRECISION NOT NULL,
            PRIMARY KEY (digest, person))""",
        """CREATE TABLE audit (
            id VARCHAR PRIMARY KEY, at DOUBLE PRECISION NOT NULL, who VARCHAR, what VARCHAR NOT NULL,
            way VARCHAR, through VARCHAR, address VARCHAR, detail VARCHAR)""",
    ),
    (
        """CREATE TABLE bookings (
            id VARCHAR PRIMARY KEY, kind VARCHAR NOT NULL, who VARCHAR NOT NULL, owner VARCHAR NOT NULL,
            gpus INTEGER NOT NULL, start_at DOUBLE PRECISION NOT NULL, end_at DOUBLE PRECISION NOT NULL,
            comment VARCHAR, outcome VARCHAR, created_at DOUBLE PRECISION NOT NULL, through VARCHAR,
            revision INTEGER NOT NULL, used_seconds DOUBLE PRECISION NOT NULL,
            others_seconds DOUBLE PRECISION NOT NULL, unused_seconds DOUBLE PRECISION NOT NULL,
            unobserved_seconds DOUBLE PRECISION NOT NULL, absent_seconds DOUBLE PRECISION NOT NULL,
            came_at DOUBLE PRECISION)""",
        "CREATE INDEX bookings_by_end ON bookings (end_at)",
        "CREATE INDEX bookings_by_owner ON bookings (owner, end_at)",
        """CREATE TABLE booking_places (
            booking VARCHAR NOT NULL, node VARCHAR NOT NULL, gpu INTEGER NOT NULL,
            start_at DOUBLE PRECISION NOT NULL, end_at DOUBLE PRECISION NOT NULL,
            PRIMARY KEY (booking, node, gpu))""",
        "CREATE INDEX booking_places_by_node ON booking_places (node, end_at)",
    ),
    (
        "ALTER TABLE bookings ADD COLUMN changed_at DOUBLE PRECISION",
        "CREATE INDEX booking_places_by_end ON booking_places (end_at)",
    ),
    ("ALTER TABLE bookings ADD COLUMN told VARCHAR",),
    (
        """CREATE TABLE provider_groups (
            person VARCHAR PRIMARY KEY, groups VARCHAR NOT NULL, told_at DOUBLE PRECISION NOT NULL)""",
    ),
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
