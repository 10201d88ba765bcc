"""The side of the board that agents push to: storage, tokens, the source, the door."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from gpuboard.accounts.connected import ConnectedNodes
from gpuboard.accounts.roster import Roster
from gpuboard.accounts.tokens import NodeTokens
from gpuboard.bookings.comments import Claims
from gpuboard.bookings.kept import ClaimKeeper, Kept
from gpuboard.fleet.places import Places
from gpuboard.fleet.state import Fleet
from gpuboard.model.errors import StorageAwayError, StorageError
from gpuboard.model.verdict import Reason
from gpuboard.outside.backoff import Backoff
from gpuboard.settings.board import BoardTable, StorageTable
from gpuboard.sources.folder import Known, Marks, Owners
from gpuboard.sources.ledger import CountingLedger, Position
from gpuboard.sources.push import PushSource
from gpuboard.sources.push.positions import WRITE_SECONDS, NodePositions
from gpuboard.storage.base import Database
from gpuboard.storage.named import NamedValues
from gpuboard.storage.registry import make_database
from gpuboard.storage.tables import BOARD_URL, FOLDER_MARKS, FOLDER_OWNERS, KEPT_CLAIMS, NODE_PLACES
from gpuboard.storage.watch import StorageWatch
from gpuboard.storage.writer import ChangeWriter, Store
from gpuboard.web.agents import AgentDoor
from gpuboard.web.components import Components

log = logging.getLogger(__name__)

Value = TypeVar("Value")

STORAGE: Final = "storage"
# A booked card must be known after a crash of the board too; cards come and go rarely, so little is written.
PLACES_SECONDS: Final = 0.5
CLAIMS_SECONDS: Final = 1.0
OWNERS_SECONDS: Final = 1.0
# After a crash of the board, files that were read in this time may be put back once more.
MARKS_SECONDS: Final = 1.0
# How long to wait before a database that was away at the start is tried again: the first time, and at most.
FIRST_RETRY_SECONDS: Final = 1.0
LONGEST_RETRY_SECONDS: Final = 15.0


class AgentSide:
    """Everything for agents that push; nodes come by token only."""

    def __init__(self, database: Database, url: str, fleet: Fleet) -> None:
        self._database = database
        self._url = url
        self._watch = StorageWatch(database)
        tokens = NodeTokens(database)
        self.owners = Owners(forget_after=fleet.forget_after)
        self._forget_in_fleet = fleet.forget
        self._roster = Roster(tokens, forget=self._forget)
        self._connected = ConnectedNodes(database)
        self.ledger = CountingLedger()
        self.source = PushSource(self.ledger)
        self.door = AgentDoor(self.source, self._roster, lambda code: self._redeem(tokens, code))
        # What is remembered from run to run: each loads, in a thread, what is then to be done on the loop.
        self._memories: list[Callable[[], Callable[[], None]]] = []
        self._writers: dict[str, ChangeWriter[Any]] = {}
        self._remember(
            "positions",
            NodePositions(database),
            self.source.positions,
            self._restore_positions,
            WRITE_SECONDS,
        )
        self._remember(
            "places",
            NamedValues(database, NODE_PLACES, Places),
            fleet.places,
            fleet.restore_places,
            PLACES_SECONDS,
        )
        self._remember(
            "owners",
            NamedValues(database, FOLDER_OWNERS, Known),
            self.owners.known,
            self.owners.restore,
            OWNERS_SECONDS,
        )
        self._remember(
            "marks",
            NamedValues(database, FOLDER_MARKS, Marks),
            self.owners.marks.known,
            self.owners.marks.restore,
            MARKS_SECONDS,
        )
        self._away: Reason | None = None
        self._is_open = asyncio.Event()

    def open(self) -> None:
        """Go on where an earlier run of the board ended, at once. Blocks.

        Raises:
            StorageAwayError: the database does not answer; `parts` go on trying.
            StorageError: it cannot be used.
        """
        try:
            self._restore(self._load())
        except StorageAwayError as error:
            log.warning("database away, tried again until it answers: reason=%s", error)
            self._away = error.reason
            raise

    def keys_of(self, node: str) -> tuple[str, ...] | None:
        """What a node's drops may be signed with; None while the tokens have not been read."""
        return self._roster.keys_of(node)

    def keep_claims(self, path: str, set_claims: Callable[[Claims], None]) -> Callable[[Claims], None]:
        """Go on with what an earlier run read of this file; what is told from now on is kept."""
        keeper = ClaimKeeper(path, set_claims)
        store = NamedValues(self._database, KEPT_CLAIMS, Kept)
        self._remember("claims", store, keeper.kept, keeper.restore, CLAIMS_SECONDS)
        if self._is_open.is_set():
            self._memories[-1]()()
        return keeper

    def parts(self) -> Sequence[tuple[str, Callable[[], Awaitable[None]]]]:
        """What has to run beside the source, by name."""
        return (
            ("tokens", self._once_open(self._roster.follow)),
            ("agents", self.door.watch),
            *((name, self._once_open(writer.follow)) for name, writer in self._writers.items()),
            ("connected", self._once_open(lambda: self._connected.follow(self.door.connected))),
            (STORAGE, self._follow_storage),
        )

    @property
    def trouble(self) -> Reason | None:
        """Why something cannot be read or kept at the moment; None: all is well."""
        if self._away is not None:
            return self._away
        writing = [writer.trouble for writer in self._writers.values()]
        return next(filter(None, (self._watch.trouble, self._roster.trouble, *writing)), None)

    def close(self) -> None:
        """Write down how far the nodes have come and where their cards are, and let go of the database."""
        if self._is_open.is_set():
            for writer in self._writers.values():
                writer.write_last()
            self._connected.save({})
        self._database.close()

    def _remember(
        self,
        what: str,
        store: Store[Value],
        read: Callable[[], dict[str, Value]],
        restore: Callable[[Mapping[str, Value]], None],
        seconds: float,
    ) -> None:
        writer = ChangeWriter(store, read, {}, what=what, seconds=seconds)

        def load() -> Callable[[], None]:
            known = store.load()

            def take() -> None:
                writer.start_from(known)
                restore(known)

            return take

        self._memories.append(load)
        self._writers[what] = writer

    def _forget(self, node: str) -> None:
        self.owners.forget(node)
        self._forget_in_fleet(node)

    async def _redeem(self, tokens: NodeTokens, code: str) -> tuple[str, str]:
        if self._away is not None:
            raise StorageAwayError(self._away.text)
        return await self._database.run(partial(tokens.redeem, code))

    def _restore_positions(self, positions: Mapping[str, Position]) -> None:
        self.ledger.restore(positions)
        self.source.restore(positions)

    def _load(self) -> list[Callable[[], None]]:
        self._database.open(as_board=True)
        # So that `gpuboard node enroll` can print the whole command.
        self._database.set_fact(BOARD_URL, self._url)
        return [load() for load in self._memories]

    def _restore(self, loaded: Sequence[Callable[[], None]]) -> None:
        for take in loaded:
            take()
        self._away = None
        self._is_open.set()

    def _once_open(self, follow: Callable[[], Awaitable[None]]) -> Callable[[], Awaitable[None]]:
        async def wait_and_follow() -> None:
            await self._is_open.wait()
            await follow()

        return wait_and_follow

    async def _follow_storage(self) -> None:
        backoff = Backoff(FIRST_RETRY_SECONDS, limit=LONGEST_RETRY_SECONDS)
        while not self._is_open.is_set():
            await asyncio.sleep(backoff.failed())
            try:
                self._restore(await self._database.run(self._load))
            except StorageError as error:
                if self._away != error.reason:
                    log.warning("database still away: reason=%s", error)
                self._away = error.reason
            else:
                log.info("database answers: database=%s", self._database.name)
        await self._watch.follow()


def open_agent_side(
    settings: BoardTable,
    url: str,
    components: Components,
    fleet: Fleet,
    storage: StorageTable = StorageTable(),  # noqa: B008 - a frozen value
) -> AgentSide | None:
    """Open the database; without a usable one a board still shows what it can reach itself.

    Raises:
        StorageError: it was chosen by the administrator and cannot be used.
    """
    database = make_database(storage, settings.state_dir)
    side = AgentSide(database, url, fleet)
    try:
        side.open()
    except StorageAwayError:
        pass
    except StorageError as error:
        database.close()
        if settings.state_dir or storage.url:
            raise
        log.warning("agents cannot push: reason=%s", error)
        why = Reason(code="storage", text=f"agents cannot push: {error}")
        components.add(STORAGE, database.name, lambda: why)
        return None
    fleet.taker = side.ledger
    components.add(STORAGE, database.name, lambda: side.trouble)
    return side
