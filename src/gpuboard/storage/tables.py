"""The tables, for queries; migrations make them."""

from typing import Final

from sqlalchemy import BigInteger, Column, Double, Integer, MetaData, String, Table

METADATA: Final = MetaData()

# Which migrations have been done.
SCHEMA_VERSIONS: Final = Table(
    "schema_versions",
    METADATA,
    Column("version", Integer, primary_key=True),
    Column("applied_at", Double, nullable=False),
)

# Small facts about the board itself, by name; where agents reach it is one.
BOARD_URL: Final = "board_url"
FACTS: Final = Table(
    "facts",
    METADATA,
    Column("name", String, primary_key=True),
    Column("value", String, nullable=False),
)

# A token itself is never stored, only its SHA-256; the time it expires is set when a newer one replaces it.
NODE_TOKENS: Final = Table(
    "node_tokens",
    METADATA,
    Column("digest", String, primary_key=True),
    Column("node", String, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("last_used_at", Double),
    Column("expires_at", Double),
)

# A code is deleted when it is used, so it is used once.
ENROLMENT_CODES: Final = Table(
    "enrolment_codes",
    METADATA,
    Column("digest", String, primary_key=True),
    Column("node", String, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double, nullable=False),
)

# How far each pushing node has come in its boot; the boots before it as a JSON list.
NODE_POSITIONS: Final = Table(
    "node_positions",
    METADATA,
    Column("node", String, primary_key=True),
    Column("boot_id", String, nullable=False),
    Column("earlier_boots", String, nullable=False),
    Column("shown", BigInteger),
    Column("taken", BigInteger),
)

# Which card is in which place of a node, as JSON.
NODE_PLACES: Final = Table(
    "node_places",
    METADATA,
    Column("name", String, primary_key=True),
    Column("value", String, nullable=False),
)

# Whose file stands for each node of a folder, by its path, as JSON.
FOLDER_OWNERS: Final = Table(
    "folder_owners",
    METADATA,
    Column("name", String, primary_key=True),
    Column("value", String, nullable=False),
)

# How far the files of each node of a folder have come, by both, as JSON.
FOLDER_MARKS: Final = Table(
    "folder_marks",
    METADATA,
    Column("name", String, primary_key=True),
    Column("value", String, nullable=False),
)

# What was booked in a file that others write, by its path, as JSON.
KEPT_CLAIMS: Final = Table(
    "kept_claims",
    METADATA,
    Column("name", String, primary_key=True),
    Column("value", String, nullable=False),
)
