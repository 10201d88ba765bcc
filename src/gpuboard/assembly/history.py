"""The history of a running board: opened, written and asked; one in trouble stops nothing else."""

import asyncio
import contextlib
import logging
from concurrent.futures import Future
from typing import Final

from gpuboard.assembly.demo import demo_ahead
from gpuboard.assembly.demo_history import DemoHistory
from gpuboard.assembly.storage import in_thread
from gpuboard.fleet.state import Fleet
from gpuboard.history.base import History, Keep
from gpuboard.history.desk import HistoryDesk
from gpuboard.history.embedded import EmbeddedHistory
from gpuboard.history.gathering import News, read_news
from gpuboard.history.recorder import Recorder
from gpuboard.history.records import Taken
from gpuboard.history.weights import Worth
from gpuboard.model.errors import StorageError
from gpuboard.model.verdict import Reason
from gpuboard.outside.backoff import Backoff
from gpuboard.outside.state_directory import state_directory
from gpuboard.settings.board import Settings, UsageTable

log = logging.getLogger(__name__)

FILE_NAME: Final = "history.sqlite"
# A disk that does not answer must not keep a board from starting; what it holds is read when it does.
OPEN_SECONDS: Final = 20.0
FIRST_RETRY_SECONDS: Final = 1.0
LONGEST_RETRY_SECONDS: Final = 60.0
# A disk that hangs must not keep a board from ending.
CLOSE_SECONDS: Final = 5.0

# What an earlier run of the board left.
Legacy = tuple[dict[str, Taken], News]


class BoardHistory:
    """A history, who writes it and who asks it."""

    kind = "history"

    def __init__(self, history: History, fleet: Fleet, *, step_seconds: float) -> None:
        """Make it; nothing is opened yet."""
        self._history = history
        self._fleet = fleet
        self.name = history.name
        self.recorder = Recorder(history, fleet, step_seconds=step_seconds)
        self.desk = HistoryDesk(history, self.recorder.counts)
        self._opening: Future[Legacy] | None = None

    def open(self) -> None:
        """Open it; blocks, but not for long. What cannot be opened now is tried again by `run`."""
        opening = in_thread(self._load, "open-history")
        try:
            self._start(opening.result(OPEN_SECONDS))
        except StorageError as error:
            self._note(error)
        except TimeoutError:
            self._opening = opening
            self._note(StorageError(f"the history {self.name} does not answer", code="history-hung"))

    @property
    def trouble(self) -> Reason | None:
        """Why nothing is kept of the present; None: all is well. Never waits."""
        return self.desk.closed or self.recorder.trouble

    async def run(self) -> None:
        """Write what is taken, until cancelled; one that is not open is tried again until it is."""
        backoff = Backoff(FIRST_RETRY_SECONDS, limit=LONGEST_RETRY_SECONDS)
        while self.desk.closed is not None:
            try:
                self._start(await self._open_again(backoff))
                log.info("history open: history=%s", self.name)
            except StorageError as error:
                self._note(error)
        await self.recorder.run()

    async def close(self) -> None:
        """Write what came last, and let go of it."""
        with contextlib.suppress(TimeoutError, StorageError):
            async with asyncio.timeout(CLOSE_SECONDS):
                if self.desk.closed is None:
                    await self.recorder.finish()
                await self._history.run(self._history.close, is_write=True)

    def _load(self) -> Legacy:
        history, now = self._history, self._fleet.clock.now()
        history.open()
        news = read_news(history, now)
        self.recorder.counts.since = history.since()
        self.recorder.counts.size_bytes = history.size_bytes()
        return history.positions(), news

    def _start(self, left: Legacy) -> None:
        self.recorder.start(*left)
        self.desk.closed = None

    def _note(self, error: StorageError) -> None:
        if self.desk.closed is None or self.desk.closed.text != str(error):
            log.warning("history not open, tried again until it is: reason=%s", error)
        code = "history" if error.reason.code == "storage" else error.reason.code
        self.desk.closed = Reason(code=code, text=str(error))

    async def _open_again(self, backoff: Backoff) -> Legacy:
        # Never twice at once: the one that hung at the start may hold the lock.
        opening, self._opening = self._opening, None
        if opening is not None:
            return await asyncio.wrap_future(opening)
        await asyncio.sleep(backoff.failed())
        return await self._history.run(self._load, is_write=True)


def history_of(settings: Settings, fleet: Fleet) -> BoardHistory | None:
    """The history that the settings ask for, not opened yet; None: they want none."""
    table = settings.history
    if table.kind == "none":
        return None
    return BoardHistory(_embedded(settings, fleet), fleet, step_seconds=float(table.grid))


def _embedded(settings: Settings, fleet: Fleet) -> EmbeddedHistory:
    keep, nodes = keep_of(settings), settings.demo_nodes
    if nodes:
        now = fleet.clock.now()
        return DemoHistory(keep, nodes, now=now, ahead=demo_ahead(now))
    return EmbeddedHistory(state_directory(settings.board.state_dir) / FILE_NAME, keep)


def worth_of(table: UsageTable) -> Worth:
    """What an hour of a GPU is worth."""
    return Worth(weights=table.weights, price=table.price, currency=table.currency)


def keep_of(settings: Settings) -> Keep:
    """How finely and how long the past is kept."""
    table = settings.history
    return Keep(
        grid_seconds=round(table.grid),
        quiet_percent=settings.verdict.idle_utilization_percent,
        full_seconds=table.keep,
        minutes_seconds=table.keep_minutes,
        hours_seconds=table.keep_hours,
        names_seconds=table.keep_names,
        max_bytes=table.max_size,
    )
