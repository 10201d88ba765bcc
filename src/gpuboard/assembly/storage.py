"""The board's database, opened by its URL; in it parts keep what they have to remember from run to run."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Final, TypeVar

from gpuboard.bookings.comments import Claims
from gpuboard.bookings.kept import ClaimKeeper, Kept
from gpuboard.fleet.places import Places
from gpuboard.fleet.state import Fleet
from gpuboard.model.errors import StorageAwayError, StorageError
from gpuboard.model.verdict import Reason
from gpuboard.outside.backoff import Backoff
from gpuboard.settings.board import Settings
from gpuboard.sources.folder import Known, Marks, Owners
from gpuboard.storage.base import Database
from gpuboard.storage.named import NamedValues
from gpuboard.storage.registry import make_database
from gpuboard.storage.tables import (
    BOARD_URL,
    FOLDER_MARKS,
    FOLDER_OWNERS,
    KEPT_CLAIMS,
    NODE_PLACES,
    PROXY_HEADER,
)
from gpuboard.storage.watch import StorageWatch
from gpuboard.storage.writer import ChangeWriter, Store
from gpuboard.web.components import AskTrouble, Components

log = logging.getLogger(__name__)

Value = TypeVar("Value")
Part = tuple[str, Callable[[], Awaitable[None]]]
# What was read in a thread, to be taken up on the loop.
Loaded = Sequence[Callable[[], None]]

STORAGE: Final = "storage"
WATCH: Final = "storage_watch"
# The code of a database that another board uses.
SHARED: Final = "storage-shared"
# A booked card must be known after a crash of the board too; cards come and go rarely, so little is written.
PLACES_SECONDS: Final = 0.5
CLAIMS_SECONDS: Final = 1.0
OWNERS_SECONDS: Final = 1.0
# After a crash of the board, files that were read in this time may be put back once more.
MARKS_SECONDS: Final = 1.0
# A disk that does not answer must not keep a board from starting: it is shown without, and waited for.
OPEN_SECONDS: Final = 20.0
# How long to wait before a database that was away at the start is tried again: the first time, and at most.
FIRST_RETRY_SECONDS: Final = 1.0
LONGEST_RETRY_SECONDS: Final = 15.0


class BoardStorage:
    """One database, and all that is remembered in it; whoever remembers says so before it is opened."""

    def __init__(self, database: Database, url: str, *, proxy_header: str = "") -> None:
        """Keep what the board at this address has to remember; nothing is opened yet."""
        self.database = database
        # What commands on this machine ask that change the database.
        self._facts = {BOARD_URL: url, PROXY_HEADER: proxy_header}
        self._watch = StorageWatch(database)
        # Each loads, in a thread, what is then to be done on the loop.
        self._memories: list[Callable[[], Callable[[], None]]] = []
        self._writers: dict[str, ChangeWriter[Any]] = {}
        self._asked: list[AskTrouble] = []
        self._last: list[Callable[[], None]] = []
        self._away: Reason | None = None
        self._opening: Future[Loaded] | None = None
        self._is_open = asyncio.Event()

    def remember(
        self,
        what: str,
        store: Store[Value],
        read: Callable[[], dict[str, Value]],
        restore: Callable[[Mapping[str, Value]], None],
        seconds: float,
    ) -> None:
        """Go on with what an earlier run wrote down; what changes then is written every few seconds."""
        writer = ChangeWriter(store, read, {}, what=what, seconds=seconds)

        def load() -> Callable[[], None]:
            known = store.load()

            def take() -> None:
                writer.start_from(known)
                restore(known)

            return take

        self._memories.append(load)
        self._writers[what] = writer

    def on_open(self, load: Callable[[], Callable[[], None]]) -> None:
        """Load something when the database is opened, in a thread; what that returns is done on the loop."""
        self._memories.append(load)

    def when_open(self, load: Callable[[], Callable[[], None]]) -> None:
        """Do it now if the database is open, else when it is opened. Blocks."""
        if self._is_open.is_set():
            load()()
        else:
            self.on_open(load)

    def also_ask(self, trouble: AskTrouble) -> None:
        """Let somebody else who uses the database say what keeps it from doing so."""
        self._asked.append(trouble)

    def at_last(self, call: Callable[[], None]) -> None:
        """Make this call, which blocks, before an open database is let go of."""
        self._last.append(call)

    def open(self) -> None:
        """Go on where an earlier run of the board ended; blocks. If it cannot be used, `parts` try again.

        Raises:
            StorageError: another board uses it.
        """
        opening = in_thread(self._load, "open-database")
        try:
            self._restore(opening.result(OPEN_SECONDS))
        except StorageError as error:
            # Not tried again: whoever comes second must not take over what is another's as soon as that ends.
            if error.reason.code == SHARED:
                raise
            self._away = error.reason
        except TimeoutError:
            text = f"the database {self.database.name} does not answer"
            self._opening, self._away = opening, Reason(code="storage-hung", text=text)
        if self._away is not None:
            log.error("no agent can push until the database can be used: reason=%s", self._away.text)

    async def run(self, call: Callable[[], Value], *, is_write: bool = False) -> Value:
        """Run a call of a store as `Database.run` does; while the database is away it is said at once.

        Raises:
            StorageError: the database cannot be used, or does not answer.
        """
        if self._away is not None:
            raise StorageAwayError(self._away.text)
        return await self.database.run(call, is_write=is_write)

    def once_open(self, follow: Callable[[], Awaitable[None]]) -> Callable[[], Awaitable[None]]:
        """Begin to follow something only when the database has been opened."""

        async def wait_and_follow() -> None:
            await self._is_open.wait()
            await follow()

        return wait_and_follow

    def parts(self) -> Sequence[Part]:
        """What has to run while the board does, by name."""
        return (
            *((name, self.once_open(writer.follow)) for name, writer in self._writers.items()),
            (WATCH, self._follow),
        )

    @property
    def trouble(self) -> Reason | None:
        """Why something cannot be read or kept at the moment; None: all is well. Never waits."""
        if self._away is not None:
            return self._away
        writing = [writer.trouble for writer in self._writers.values()]
        asked = [ask() for ask in self._asked]
        return next(filter(None, (self._watch.trouble, *asked, *writing)), None)

    def close(self) -> None:
        """Write down what came last, and let go of the database. Blocks."""
        if self._is_open.is_set():
            for writer in self._writers.values():
                writer.write_last()
            for call in self._last:
                call()
        self.database.close()

    def _load(self) -> Loaded:
        try:
            self.database.open(as_board=True)
            for name, value in self._facts.items():
                self.database.set_fact(name, value)
            return [load() for load in self._memories]
        except StorageError:
            # The next try takes the lock itself.
            self.database.close()
            raise

    def _restore(self, loaded: Loaded) -> None:
        for take in loaded:
            take()
        self._away = None
        self._is_open.set()

    async def _follow(self) -> None:
        backoff = Backoff(FIRST_RETRY_SECONDS, limit=LONGEST_RETRY_SECONDS)
        while not self._is_open.is_set():
            try:
                self._restore(await self._open_again(backoff))
            except StorageError as error:
                if self._away != error.reason:
                    log.warning("database still away: reason=%s", error)
                self._away = error.reason
            else:
                log.info("database answers: database=%s", self.database.name)
        await self._watch.follow()

    async def _open_again(self, backoff: Backoff) -> Loaded:
        # Never twice at once: the one that hung at the start may hold the lock.
        opening, self._opening = self._opening, None
        if opening is not None:
            return await asyncio.wrap_future(opening)
        await asyncio.sleep(backoff.failed())
        return await self.database.run(self._load, is_write=True)


def in_thread(call: Callable[[], Value], name: str) -> "Future[Value]":
    """Begin a call in a thread that does not keep the program from ending."""
    outcome: Future[Value] = Future()
    outcome.set_running_or_notify_cancel()

    def work() -> None:
        try:
            outcome.set_result(call())
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            outcome.set_exception(error)

    threading.Thread(target=work, daemon=True, name=name).start()
    return outcome


def storage_of(settings: Settings, url: str) -> BoardStorage:
    """The storage that the settings name, not opened yet.

    Raises:
        SettingsError: this installation lacks what it needs.
    """
    database = make_database(settings.storage, settings.board.state_dir)
    return BoardStorage(database, url, proxy_header=settings.access.proxy_header)


def open_storage(storage: BoardStorage, settings: Settings, components: Components) -> bool:
    """Open the database; without a usable one a board still shows what it can reach itself, and tries again.

    Raises:
        StorageError: it was chosen by the administrator, and another board uses it.
    """
    name = storage.database.name
    try:
        storage.open()
    except StorageError as error:
        storage.database.close()
        if settings.board.state_dir or settings.storage.url:
            raise
        log.warning("agents cannot push: reason=%s", error)
        why = Reason(code="storage", text=f"agents cannot push: {error}")
        components.add(STORAGE, name, lambda: why)
        return False
    components.add(STORAGE, name, lambda: storage.trouble)
    return True


def remember_places(storage: BoardStorage, fleet: Fleet) -> None:
    """Keep which card has which number on its node."""
    store = NamedValues(storage.database, NODE_PLACES, Places)
    storage.remember("places", store, fleet.places, fleet.restore_places, PLACES_SECONDS)


def remember_owners(storage: BoardStorage, fleet: Fleet) -> Owners:
    """Whose file was read first for a node, and how far it has come, kept as long as the fleet would."""
    owners = Owners(forget_after=fleet.forget_after)
    store = NamedValues(storage.database, FOLDER_OWNERS, Known)
    storage.remember("owners", store, owners.known, owners.restore, OWNERS_SECONDS)
    marks = NamedValues(storage.database, FOLDER_MARKS, Marks)
    storage.remember("marks", marks, owners.marks.known, owners.marks.restore, MARKS_SECONDS)
    return owners


def remember_claims(
    storage: BoardStorage, path: str, set_claims: Callable[[Claims], None]
) -> Callable[[Claims], None]:
    """What takes the claims of a file and hands them on: first those that an earlier run read of it."""
    keeper = ClaimKeeper(path, set_claims)
    store = NamedValues(storage.database, KEPT_CLAIMS, Kept)
    storage.remember("claims", store, keeper.kept, keeper.restore, CLAIMS_SECONDS)
    return keeper
