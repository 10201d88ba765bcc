"""Which nodes are connected now, written down for whoever asks from the command line."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import msgspec
from msgspec import Struct

from gpuboard.model.errors import StorageError
from gpuboard.storage.base import Database

log = logging.getLogger(__name__)

WRITE_SECONDS: Final = 2.0
# Written so often even if nothing changes: an older list is that of a board that runs no longer.
REFRESH_SECONDS: Final = 20.0
BELIEVED_SECONDS: Final = 60.0
_FACT: Final = "connected_nodes"


class Connection(Struct, frozen=True, kw_only=True):
    """Since when a node is connected, and from where."""

    since: float
    address: str


class _Connected(Struct, frozen=True, kw_only=True):
    at: float
    nodes: dict[str, Connection]


class ConnectedNodes:
    """The list of connected nodes in the database. Its calls block, but for `follow`."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock
        self._written: Mapping[str, Connection] | None = None
        self._written_at = 0.0

    def load(self) -> Mapping[str, Connection]:
        """Who is connected; nobody, if no board runs.

        Raises:
            StorageError: the database cannot be read.
        """
        try:
            known = msgspec.json.decode(self._database.fact(_FACT) or "null", type=_Connected | None)
        except msgspec.MsgspecError:
            return {}
        return known.nodes if known and self._clock() - known.at < BELIEVED_SECONDS else {}

    def save(self, nodes: Mapping[str, Connection]) -> None:
        """Write the list down, if it is another than before or that was a while ago."""
        now = self._clock()
        if nodes == self._written and now - self._written_at < REFRESH_SECONDS:
            return
        text = msgspec.json.encode(_Connected(at=now, nodes=dict(nodes))).decode()
        try:
            self._database.set_fact(_FACT, text)
        except StorageError as error:
            # The same disk holds the tokens; their part says it on the page.
            log.debug("connected nodes not written: reason=%s", error)
            return
        self._written, self._written_at = nodes, now

    async def follow(self, connected: Callable[[], Mapping[str, Connection]]) -> None:
        """Keep the list up to date until cancelled."""
        while True:
            await asyncio.sleep(WRITE_SECONDS)
            # One that hangs is said by those whose rows matter more.
            with contextlib.suppress(StorageError):
                await self._database.run(partial(self.save, connected()), is_write=True)
