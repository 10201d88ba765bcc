"""The side of the board that agents push to: storage, tokens, the source, the door."""

import asyncio
import logging

from gpuboard.accounts.roster import Roster
from gpuboard.accounts.tokens import NodeTokens
from gpuboard.model.errors import StorageError
from gpuboard.settings.board import BoardTable
from gpuboard.sources.ledger import CountingLedger
from gpuboard.sources.push import PushSource
from gpuboard.storage.database import Database, open_database
from gpuboard.storage.place import state_directory
from gpuboard.storage.tables import BOARD_URL
from gpuboard.web.agents import AgentDoor

log = logging.getLogger(__name__)


class AgentSide:
    """Everything for agents that push; nodes come by token only."""

    def __init__(self, database: Database) -> None:
        tokens = NodeTokens(database)
        self._database = database
        self._roster = Roster(tokens)
        self.source = PushSource(CountingLedger())
        self.door = AgentDoor(self.source, self._roster, tokens.redeem)

    def tasks(self) -> list[asyncio.Task[None]]:
        """Start what has to run beside the source."""
        return [
            asyncio.create_task(self._roster.follow(self.door.tokens_changed), name="tokens"),
            asyncio.create_task(self.door.watch(), name="agents"),
        ]

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()


def open_agent_side(settings: BoardTable, url: str) -> AgentSide | None:
    """Open the state directory; without a usable one a board still shows what it can reach itself.

    Raises:
        StorageError: the directory was chosen by the administrator and cannot be used.
    """
    try:
        database = open_database(state_directory(settings.state_dir))
        # So that `gpuboard node enroll` can print the whole command.
        database.set_fact(BOARD_URL, url)
    except StorageError as error:
        if settings.state_dir:
            raise
        log.warning("agents cannot push: reason=%s", error)
        return None
    return AgentSide(database)
