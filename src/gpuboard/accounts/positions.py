"""How far each pushing node has come, kept over a restart of the board."""

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import msgspec
from sqlalchemy import bindparam, delete, insert, select

from gpuboard.model.errors import StorageError
from gpuboard.model.verdict import Reason
from gpuboard.outside.threads import off_loop
from gpuboard.sources.ledger import Position
from gpuboard.storage.database import Database
from gpuboard.storage.tables import NODE_POSITIONS

log = logging.getLogger(__name__)

# After a crash of the board, what was shown in this time may be shown once more; nothing is lost.
WRITE_SECONDS: Final = 1.0

_BOOTS: Final = msgspec.json.Decoder(tuple[str, ...])


class NodePositions:
    """The table of positions. Every call blocks."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def load(self) -> dict[str, Position]:
        """All positions that were written down.

        Raises:
            StorageError: they cannot be read.
        """
        with self._database.read() as connection:
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
        with self._database.write() as connection:
            old = [{"which": node} for node in gone | changed.keys()]
            connection.execute(delete(NODE_POSITIONS).where(NODE_POSITIONS.c.node == bindparam("which")), old)
            if changed:
                connection.execute(insert(NODE_POSITIONS), [_row(*one) for one in changed.items()])


class PositionWriter:
    """Writes down what has changed every few seconds, beside the reports and never in their way."""

    def __init__(
        self,
        store: NodePositions,
        read: Callable[[], dict[str, Position]],
        written: Mapping[str, Position],
    ) -> None:
        self._store = store
        self._read = read
        self._written = dict(written)
        self._writing = threading.Lock()
        # Why positions cannot be written at the moment; None: all is well.
        self.trouble: Reason | None = None

    async def follow(self) -> None:
        """Write every few seconds, until cancelled."""
        while True:
            await asyncio.sleep(WRITE_SECONDS)
            # Read here, where nothing changes meanwhile; written in a thread, where waiting harms nobody.
            now = self._read()
            await off_loop(partial(self._write, now))

    def write_last(self) -> None:
        """Write what the last agents said before the board stops. Blocks."""
        self._write(self._read())

    def _write(self, now: dict[str, Position]) -> None:
        """Write what differs from the last time; what cannot be written now comes with the next."""
        # One at a time: the last one must not be overtaken by one that was under way.
        with self._writing:
            changed = {node: one for node, one in now.items() if self._written.get(node) != one}
            gone = frozenset(self._written.keys() - now.keys())
            try:
                self._store.save(changed, gone)
            except StorageError as error:
                if self.trouble is None:
                    log.warning("positions of nodes not written: reason=%s", error)
                self.trouble = Reason(code="storage", text=str(error))
                return
            self._written = now
            self.trouble = None


def _row(node: str, position: Position) -> dict[str, object]:
    return {
        "node": node,
        "boot_id": position.boot_id,
        "earlier_boots": msgspec.json.encode(position.earlier_boots).decode(),
        "shown": position.shown,
        "taken": position.taken,
    }
