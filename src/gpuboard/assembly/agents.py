"""The side of the board that agents push to: storage, tokens, the source, the door."""

import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from gpuboard.accounts.connected import ConnectedNodes
from gpuboard.accounts.roster import Roster
from gpuboard.accounts.tokens import NodeTokens
from gpuboard.bookings.comments import Claims
from gpuboard.bookings.kept import ClaimKeeper, Kept
from gpuboard.fleet.places import Places
from gpuboard.fleet.state import Fleet
from gpuboard.model.errors import StorageError
from gpuboard.model.verdict import Reason
from gpuboard.settings.board import BoardTable
from gpuboard.sources.ledger import CountingLedger
from gpuboard.sources.push import PushSource
from gpuboard.sources.push.positions import WRITE_SECONDS, NodePositions
from gpuboard.storage.database import Database, open_database
from gpuboard.storage.lock import BoardLock
from gpuboard.storage.named import NamedValues
from gpuboard.storage.place import prepare_directory, state_directory
from gpuboard.storage.tables import BOARD_URL, KEPT_CLAIMS, NODE_PLACES
from gpuboard.storage.watch import StorageWatch
from gpuboard.storage.writer import ChangeWriter
from gpuboard.web.agents import AgentDoor
from gpuboard.web.components import Components

log = logging.getLogger(__name__)

STORAGE: Final = "storage"
# A booked card must be known after a crash of the board too; cards come and go rarely, so little is written.
PLACES_SECONDS: Final = 0.5
CLAIMS_SECONDS: Final = 1.0


class AgentSide:
    """Everything for agents that push; nodes come by token only."""

    def __init__(self, database: Database, lock: BoardLock, components: Components, fleet: Fleet) -> None:
        self._lock = lock
        self._watch = StorageWatch(database)
        tokens = NodeTokens(database)
        self._database = database
        self._roster = Roster(tokens, forget=fleet.forget)
        self._connected = ConnectedNodes(database)
        store = NodePositions(database)
        positions = store.load()
        ledger = fleet.taker = CountingLedger(positions)
        self.source = PushSource(ledger)
        self.source.restore(positions)
        self._positions = ChangeWriter(
            store, self.source.positions, positions, what="positions of nodes", seconds=WRITE_SECONDS
        )
        self._places = _keep_places(database, fleet)
        self._claims: ChangeWriter[Kept] | None = None
        self.door = AgentDoor(self.source, self._roster, tokens.redeem)
        components.add(STORAGE, str(database.path), self._trouble)

    def keys_of(self, node: str) -> tuple[str, ...] | None:
        """What a node's drops may be signed with; None while the tokens have not been read."""
        return self._roster.keys_of(node)

    def keep_claims(self, path: str, set_claims: Callable[[Claims], None]) -> Callable[[Claims], None]:
        """Go on with what an earlier run read of this file; what is told from now on is kept."""
        store = NamedValues(self._database, KEPT_CLAIMS, Kept)
        keeper = ClaimKeeper(path, set_claims, store)
        self._claims = ChangeWriter(store, keeper.kept, keeper.known, what="claims", seconds=CLAIMS_SECONDS)
        return keeper

    def parts(self) -> Sequence[tuple[str, Callable[[], Awaitable[None]]]]:
        """What has to run beside the source, by name."""
        claims = () if self._claims is None else (("claims", self._claims.follow),)
        return (
            *claims,
            ("tokens", self._roster.follow),
            ("agents", self.door.watch),
            ("positions", self._positions.follow),
            ("places", self._places.follow),
            ("connected", lambda: self._connected.follow(self.door.connected)),
            (STORAGE, self._watch.follow),
        )

    def _trouble(self) -> Reason | None:
        parts = (self._watch, self._roster, self._positions, self._places, self._claims)
        return next((part.trouble for part in parts if part is not None and part.trouble), None)

    def close(self) -> None:
        """Write down how far the nodes have come and where their cards are, and let go of the database."""
        self._positions.write_last()
        self._places.write_last()
        if self._claims is not None:
            self._claims.write_last()
        self._connected.save({})
        self._database.close()
        self._lock.release()


def _keep_places(database: Database, fleet: Fleet) -> ChangeWriter[Places]:
    """Let the fleet go on with the places of cards that an earlier run knew, and keep those of this one."""
    store = NamedValues(database, NODE_PLACES, Places)
    known = store.load()
    fleet.restore_places(known)
    return ChangeWriter(store, fleet.places, known, what="places of cards", seconds=PLACES_SECONDS)


def open_agent_side(settings: BoardTable, url: str, components: Components, fleet: Fleet) -> AgentSide | None:
    """Open the state directory; without a usable one a board still shows what it can reach itself.

    Raises:
        StorageError: the directory was chosen by the administrator and cannot be used.
    """
    directory = state_directory(settings.state_dir)
    try:
        with contextlib.ExitStack() as opened:
            lock = BoardLock(prepare_directory(directory))
            opened.callback(lock.release)
            database = open_database(directory)
            opened.callback(database.close)
            # So that `gpuboard node enroll` can print the whole command.
            database.set_fact(BOARD_URL, url)
            side = AgentSide(database, lock, components, fleet)
            opened.pop_all()
            return side
    except StorageError as error:
        if settings.state_dir:
            raise
        log.warning("agents cannot push: reason=%s", error)
        why = Reason(code="storage", text=f"agents cannot push: {error}")
        components.add(STORAGE, str(directory), lambda: why)
        return None
