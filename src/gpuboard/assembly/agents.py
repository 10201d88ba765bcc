"""The side of the board that agents push to: tokens, the source, the door."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from gpuboard.accounts.connected import ConnectedNodes
from gpuboard.accounts.roster import Roster
from gpuboard.accounts.tokens import NodeTokens
from gpuboard.assembly.storage import BoardStorage, Part
from gpuboard.sources.ledger import CountingLedger, Ledger, Position
from gpuboard.sources.push import PushSource
from gpuboard.sources.push.positions import WRITE_SECONDS, NodePositions
from gpuboard.web.agents import AgentDoor


class AgentSide:
    """Everything for agents that push; nodes come by token only."""

    def __init__(self, storage: BoardStorage, ledger: Ledger, *, forget: Callable[[str], bool]) -> None:
        """Make it, on a storage that is not open yet.

        `forget` hears which nodes somebody wants forgotten, and says whether it knew them.
        """
        self._storage = storage
        self._tokens = NodeTokens(storage.database)
        self._roster = Roster(self._tokens, forget=forget)
        self._connected = ConnectedNodes(storage.database)
        self.ledger = ledger
        self.source = PushSource(ledger)
        self.door = AgentDoor(self.source, self._roster, self._redeem)
        storage.remember(
            "positions",
            NodePositions(storage.database),
            self.source.positions,
            self._restore_positions,
            WRITE_SECONDS,
        )
        storage.also_ask(lambda: self._roster.trouble)
        # After the board has ended nobody is connected.
        storage.at_last(lambda: self._connected.save({}))

    def keys_of(self, node: str) -> tuple[str, ...] | None:
        """What a node's drops may be signed with; None while the tokens have not been read."""
        return self._roster.keys_of(node)

    def parts(self) -> Sequence[Part]:
        """What has to run beside the source, by name."""
        once_open = self._storage.once_open
        return (
            ("tokens", once_open(self._roster.follow)),
            ("agents", self.door.watch),
            ("connected", once_open(lambda: self._connected.follow(self.door.connected))),
        )

    async def _redeem(self, code: str) -> tuple[str, str]:
        return await self._storage.run(partial(self._tokens.redeem, code), is_write=True)

    def _restore_positions(self, positions: Mapping[str, Position]) -> None:
        # A history knows best what it has; how far nodes had come by counting, only this knows.
        if isinstance(self.ledger, CountingLedger):
            self.ledger.restore(positions)
        self.source.restore(positions)
