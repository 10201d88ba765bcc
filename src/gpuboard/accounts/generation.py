"""How a board hears that another process has changed who may come in: one fact that is new each time."""

import secrets
from typing import Final

from sqlalchemy import Connection

from gpuboard.storage.base import Database, set_fact

_GENERATION: Final = "accounts_generation"


def note_change(connection: Connection) -> None:
    """Note, as part of a transaction, that people, sessions, tokens or links have changed."""
    set_fact(connection, _GENERATION, secrets.token_hex(8))


def generation(database: Database) -> str:
    """Changes whenever anybody has noted a change. Blocks."""
    return database.fact(_GENERATION) or ""
