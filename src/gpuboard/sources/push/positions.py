"""How far each pushing node has come, kept over a restart of the board."""

from collections.abc import Mapping
from typing import Final

import msgspec
from sqlalchemy import select

from gpuboard.model.errors import StorageError
from gpuboard.sources.ledger import Position
from gpuboard.storage.base import Database
from gpuboard.storage.rows import put_rows
from gpuboard.storage.tables import NODE_POSITIONS

# After a crash of the board, what was shown in this time may be shown once more.
WRITE_SECONDS: Final = 1.0

_BOOTS: Final = msgspec.json.Decoder(tuple[str, ...])


class NodePositions:
    """The table of positions. Every call blocks."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def load(self) -> dict[str, Position]:
        """All positions that were written down.

        Raises:
            StorageError: they cannot be read.
        """
        with self.database.read() as connection:
            rows = connection.execute(select(NODE_POSITIONS)).all()
        try:
            return {
                row.node: Position(
                    boot_id=row.boot_id,
                    earlier_boots=_BOOTS.decode(row.earlier_boots),
                    shown=row.shown,
                    taken=row.taken,
                )
                for row in rows
            }
        except msgspec.MsgspecError as error:
            raise StorageError(f"the table of positions is damaged: {error}") from None

    def save(self, changed: Mapping[str, Position], gone: frozenset[str]) -> None:
        """Write positions in one transaction, and forget those of nodes that are gone.

        Raises:
            StorageError: they cannot be written.
        """
        if not changed and not gone:
            return
        with self.database.write() as connection:
            put_rows(connection, NODE_POSITIONS, [_row(*one) for one in changed.items()], gone)


def _row(node: str, position: Position) -> dict[str, object]:
    return {
        "node": node,
        "boot_id": position.boot_id,
        "earlier_boots": msgspec.json.encode(position.earlier_boots).decode(),
        "shown": position.shown,
        "taken": position.taken,
    }
