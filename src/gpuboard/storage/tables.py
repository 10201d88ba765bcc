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
# In which header a proxy says who asks; empty: none is believed.
PROXY_HEADER: Final = "proxy_header"
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

# Who has an account here, or a role that was given here. The password's hash is argon2's own text; without
# one nobody signs in by password.
PEOPLE: Final = Table(
    "people",
    METADATA,
    Column("name", String, primary_key=True),
    Column("role", String, nullable=False),
    Column("display_name", String),
    Column("password", String),
    Column("created_at", Double, nullable=False),
)

# In which groups somebody is, as the provider last said, as a JSON list; by the name in lower case.
PROVIDER_GROUPS: Final = Table(
    "provider_groups",
    METADATA,
    Column("person", String, primary_key=True),
    Column("groups", String, nullable=False),
    Column("told_at", Double, nullable=False),
)

# Browsers that are signed in. Of the cookie only its SHA-256 is kept; the one before it holds on for a moment
# after it was exchanged. Groups are those of a person by now: here the list is empty.
SESSIONS: Final = Table(
    "sessions",
    METADATA,
    Column("id", String, primary_key=True),
    Column("digest", String, nullable=False),
    Column("earlier_digest", String),
    Column("exchanged_at", Double, nullable=False),
    Column("person", String, nullable=False),
    Column("role", String, nullable=False),
    Column("display_name", String),
    Column("way", String, nullable=False),
    Column("through", String),
    Column("groups", String, nullable=False),
    Column("address", String),
    Column("created_at", Double, nullable=False),
    Column("last_used_at", Double, nullable=False),
    Column("expires_at", Double, nullable=False),
)

# Personal tokens, as their SHA-256; scopes are a JSON list, and the role is the most that one gives.
PERSON_TOKENS: Final = Table(
    "person_tokens",
    METADATA,
    Column("id", String, primary_key=True),
    Column("digest", String, nullable=False),
    Column("person", String, nullable=False),
    Column("role", String, nullable=False),
    Column("name", String, nullable=False),
    # `login`: made by gpuboard login, and ends with signing out everywhere; `personal`: made on purpose;
    # `feed`: the key of a calendar feed, which opens nothing else.
    Column("kind", String, nullable=False),
    Column("scopes", String, nullable=False),
    Column("way", String, nullable=False),
    Column("through", String),
    Column("created_at", Double, nullable=False),
    Column("last_used_at", Double),
    Column("expires_at", Double),
)

# One-time links; one that was used stays until its time is over, so that it can be said that it was.
SIGN_IN_LINKS: Final = Table(
    "sign_in_links",
    METADATA,
    Column("digest", String, primary_key=True),
    # `sign-in` or `set-up`.
    Column("kind", String, nullable=False),
    Column("person", String, nullable=False),
    Column("role", String, nullable=False),
    Column("way", String, nullable=False),
    Column("through", String),
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double, nullable=False),
    Column("used_at", Double),
)

# Browsers in which a person has signed in before, not by a node's word: their guesses are counted apart from
# strangers'.
KNOWN_BROWSERS: Final = Table(
    "known_browsers",
    METADATA,
    Column("digest", String, primary_key=True),
    Column("person", String, primary_key=True),
    Column("seen_at", Double, nullable=False),
)

# Who did what; the key begins with the time, so it is the order too.
AUDIT: Final = Table(
    "audit",
    METADATA,
    Column("id", String, primary_key=True),
    Column("at", Double, nullable=False),
    Column("who", String),
    Column("what", String, nullable=False),
    Column("way", String),
    Column("through", String),
    Column("address", String),
    Column("detail", String),
)

# What is booked. `owner` is whose it is without regard to case; seconds are of all its GPUs together.
BOOKINGS: Final = Table(
    "bookings",
    METADATA,
    Column("id", String, primary_key=True),
    Column("kind", String, nullable=False),
    Column("who", String, nullable=False),
    Column("owner", String, nullable=False),
    Column("gpus", Integer, nullable=False),
    Column("start_at", Double, nullable=False),
    Column("end_at", Double, nullable=False),
    Column("comment", String),
    Column("outcome", String),
    Column("created_at", Double, nullable=False),
    Column("through", String),
    Column("revision", Integer, nullable=False),
    Column("used_seconds", Double, nullable=False),
    Column("others_seconds", Double, nullable=False),
    Column("unused_seconds", Double, nullable=False),
    Column("unobserved_seconds", Double, nullable=False),
    # Since its begin, until the booker was seen: what counts towards a no-show.
    Column("absent_seconds", Double, nullable=False),
    Column("came_at", Double),
    # When it was last changed; of what an earlier board wrote it is not known.
    Column("changed_at", Double),
    # What was told of it that is not as booked, as a JSON list: each is told once.
    Column("told", String),
)

# The places of each, with its span: whoever looks for conflicts reads nothing else.
BOOKING_PLACES: Final = Table(
    "booking_places",
    METADATA,
    Column("booking", String, primary_key=True),
    Column("node", String, primary_key=True),
    Column("gpu", Integer, primary_key=True),
    Column("start_at", Double, nullable=False),
    Column("end_at", Double, nullable=False),
)
