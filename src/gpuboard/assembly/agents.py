"""The side of the board that agents push to: storage, tokens, the source, the door."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from gpuboard.accounts.positions import NodePositions, PositionWriter
from gpuboard.accounts.roster import Roster
from gpuboard.accounts.tokens import NodeTokens
from gpuboard.model.errors import StorageError
from gpuboard.model.verdict import Reason
from gpuboard.settings.board import BoardTable
from gpuboard.sources.ledger import CountingLedger
from gpuboard.sources.push import PushSource
from gpuboard.storage.database import Database, open_database
from gpuboard.storage.place import state_directory
from gpuboard.storage.tables import BOARD_URL
from gpuboard.web.agents import AgentDoor
from gpuboard.web.components import Components

log = logging.getLogger(__name__)

STORAGE: Final = "storage"


class AgentSide:
    """Everything for agents that push; nodes come by token only."""

    def __init__(self, database: Database, components: Components) -> None:
        tokens = NodeTokens(database)
        self._database = database
        self._roster = Roster(tokens)
        store = NodePositions(database)
        positions = store.load()
        self.source = PushSource(CountingLedger(positions))
        self.source.restore(positions)
        self._writer = PositionWriter(store, self.source.positions, positions)
        self.door = AgentDoor(self.source, self._roster, tokens.redeem)
        components.add(STORAGE, str(database.path), self._trouble)

    def parts(self) -> Sequence[tuple[str, Callable[[], Awaitable[None]]]]:
        """What has to run beside the source, by name."""
        return (
            ("tokens", self._roster.follow),
            ("agents", self.door.watch),
            ("positions", self._writer.follow),
        )

    def _trouble(self) -> Reason | None:
        return self._roster.trouble or self._writer.trouble

    def close(self) -> None:
        """Write down how far the nodes have come, and let go of the database."""
        self._writer.write_last()
        self._database.close()


def open_agent_side(settings: BoardTable, url: str, components: Components) -> AgentSide | None:
    """Open the state directory; without a usable one a board still shows what it can reach itself.

    Raises:
        StorageError: the directory was chosen by the administrator and cannot be used.
    """
    directory = state_directory(settings.state_dir)
    try:
        database = open_database(directory)
        # So that `gpuboard node enroll` can print the whole command.
        database.set_fact(BOARD_URL, url)
        return AgentSide(database, components)
    except StorageError as error:
        if settings.state_dir:
            raise
        log.warning("agents cannot push: reason=%s", error)
        why = Reason(code="storage", text=f"agents cannot push: {error}")
        components.add(STORAGE, str(directory), lambda: why)
        return None
