"""The history in a file of its own: nothing to install, nothing to run."""

import contextlib
import logging
import math
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, TypeVar

from gpuboard.history.base import History, Keep
from gpuboard.history.embedded import notes, retention, sealing
from gpuboard.history.embedded.accounting import Counting, read_accounts, read_hours
from gpuboard.history.embedded.clock_jumps import ClockJumps
from gpuboard.history.embedded.curves import read_curves
from gpuboard.history.embedded.disk import Disk
from gpuboard.history.embedded.file import DamagedError, DiskFullError, HistoryFile, ReplacedError
from gpuboard.history.embedded.inventing import Invented, put_invented
from gpuboard.history.embedded.moments import read_moment, read_track
from gpuboard.history.embedded.names import Names
from gpuboard.history.embedded.programs import read_programs
from gpuboard.history.embedded.reading import Look
from gpuboard.history.embedded.recent import RecentCache
from gpuboard.history.embedded.schema import LATER_TABLES
from gpuboard.history.embedded.states import read_states
from gpuboard.history.embedded.tail import Tail
from gpuboard.history.embedded.usage_days import join_usage
from gpuboard.history.embedded.writing import put_batch
from gpuboard.history.records import (
    Batch,
    Curves,
    CurvesQuery,
    Episode,
    Event,
    Moment,
    Place,
    StateSpan,
    Taken,
    Track,
    Written,
)
from gpuboard.history.usage import HourUse, Usage
from gpuboard.model.errors import HistoryPausedError, StorageError
from gpuboard.model.verdict import Reason

log = logging.getLogger(__name__)

# What is too old or too much is looked for so often; what was found is then forgotten step by step.
FORGET_SECONDS: Final = 60.0
Value = TypeVar("Value")


class EmbeddedHistory(History):
    """Keeps the past in `history.sqlite`."""

    def __init__(self, path: Path, keep: Keep) -> None:
        super().__init__()
        self.name = str(path)
        self._file = HistoryFile(path)
        self._disk = Disk(path)
        self._keep = keep
        self._grid_ms = keep.grid_seconds * 1000
        # The finest grid that whatever is in the file can be read on.
        self._reading_grid_ms = self._grid_ms
        self._names = Names()
        self._tail = Tail()
        self._cache = RecentCache()
        self._is_paused = False
        self._is_damaged = False
        self._forgot_at = 0.0
        self._clock = ClockJumps()
        # The clock was set back: after this moment nothing has ended.
        self._ended_by: float | None = None

    def open(self) -> None:
        """Open the file, or make it."""
        self._file.open()
        try:
            self._begin()
        except DamagedError as error:
            self._begin_anew(error)
        except BaseException:
            self._file.close()
            raise
        # Before anybody asks how it is.
        self._note_room(is_low=self._disk.is_low())

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def write(self, batch: Batch, *, now: float) -> Written:
        """Write a batch into the tail."""
        if self._note_room(is_low=self._disk.is_low()):
            raise self._paused()
        self._follow_file()
        self._follow_clock(now)

        def put(connection: sqlite3.Connection) -> Written:
            if self._ended_by is not None:
                notes.end_by(connection, self._ended_by)
            return put_batch(connection, self._names, self._tail, batch, now=now)

        written = self._change(put)
        self._ended_by = None
        # It may have gone to a file that nobody finds any more.
        self._follow_file()
        return written

    def tidy(self, *, now: float) -> bool:
        """Do one step of what is due."""
        self._follow_clock(now)
        if self._is_damaged:
            self._begin_anew(StorageError("it could not be read"))
        with contextlib.suppress(ReplacedError):
            self._follow_file()
        is_low = self._note_room(is_low=self._disk.is_low())
        if not is_low and self._change(lambda connection: self._seal(connection, now)):
            return True
        return self._forget(now)

    def invent(self, pasts: Iterable[Invented], *, now: float) -> None:
        """Put a past into the file that nobody lived through, for a demo.

        Raises:
            StorageError: it cannot be written.
        """

        def put(connection: sqlite3.Connection) -> None:
            for past in pasts:
                put_invented(connection, self._names, past, now=now, quiet_percent=self._keep.quiet_percent)

        self._change(put)

    @property
    def trouble(self) -> Reason | None:
        """Why nothing is written, or that a damaged file was set aside."""
        return self._paused().reason if self._is_paused else self._file.set_aside

    @property
    def is_paused(self) -> bool:
        """Whether the disk was nearly full when it was last looked at."""
        return self._is_paused

    def since(self) -> float | None:
        """When the oldest chunk begins, or the oldest sample that is in none; not before the first GPU."""
        with self._file.read() as connection:
            came = connection.execute("SELECT min(start) FROM places").fetchone()[0]
            found = connection.execute(
                "SELECT min(first) FROM (SELECT min(start_ms) AS first FROM chunks WHERE tier = 2 "
                "UNION ALL SELECT min(start_ms) FROM chunks WHERE tier = 1 "
                "UNION ALL SELECT min(start_ms) FROM chunks WHERE tier = 0 "
                "UNION ALL SELECT min(start_ms) FROM segments UNION ALL SELECT min(first_ms) FROM tail)"
            ).fetchone()[0]
        return None if found is None else max(found / 1000, came or 0.0)

    def size_bytes(self) -> int:
        """What is in the file."""
        with self._file.read() as connection:
            return retention.used_bytes(connection)

    def positions(self) -> dict[str, Taken]:
        """How far each node has come."""
        return self._read(notes.read_positions)

    def memories(self) -> dict[str, bytes]:
        """What was to be remembered."""
        return self._read(notes.read_memories)

    def places(
        self, start: float, end: float, *, node: str | None = None, gpu: str | None = None
    ) -> list[Place]:
        """Where GPUs were."""
        return self._read(lambda connection: notes.read_places(connection, start, end, node=node, gpu=gpu))

    def open_episodes(self) -> list[Episode]:
        """Those that go on."""
        return self._read(notes.read_open_episodes)

    def open_events(self) -> list[Event]:
        """Those that last."""
        return self._read(notes.read_open_events)

    def curves(self, query: CurvesQuery) -> Curves:
        """Figures over time."""
        return self._look(lambda look: read_curves(look, self._names, query))

    def states(
        self, gpu: str, start: float, end: float, *, quiet_percent: float | None = None
    ) -> list[StateSpan]:
        """The verdicts and holders of one GPU."""
        return self._look(
            lambda look: read_states(look, self._names, gpu, start, end, quiet_percent=quiet_percent)
        )

    def moment(self, at: float) -> Moment:
        """The whole fleet as it was."""
        return self._look(lambda look: read_moment(look, self._names, at))

    def track(self, start: float, end: float, points: int) -> Track:
        """How many GPUs had which verdict."""
        return self._look(lambda look: read_track(look, self._names, start, end, points))

    def usage(self, start: float, end: float, *, with_memory: bool = True) -> Usage:
        """How much each GPU was used."""
        how = Counting(quiet_percent=self._keep.quiet_percent, with_memory=with_memory)
        return self._look(lambda look: read_accounts(look, self._names, start, end, how))

    def usage_of_programs(self, start: float, end: float) -> Usage:
        """How much each GPU was used, by program."""
        quiet = self._keep.quiet_percent
        return self._look(lambda look: read_programs(look, self._names, start, end, quiet_percent=quiet))

    def usage_by_hour(self, start: float, end: float) -> list[HourUse]:
        """How full the GPUs were."""
        quiet = self._keep.quiet_percent
        return self._look(lambda look: read_hours(look, self._names, start, end, quiet_percent=quiet))

    def episodes(
        self,
        start: float,
        end: float,
        *,
        gpu: str | None = None,
        node: str | None = None,
        person: str | None = None,
        around: float | None = None,
        limit: int = 1000,
    ) -> list[Episode]:
        """Those that touch a span, or turn nearest to a moment."""
        return self._read(
            lambda connection: notes.read_episodes(
                connection, start, end, gpu=gpu, node=node, person=person, around=around, limit=limit
            )
        )

    def events(
        self,
        start: float,
        end: float,
        *,
        node: str | None = None,
        kind: str | None = None,
        around: float | None = None,
        limit: int = 1000,
    ) -> list[Event]:
        """Those that touch a span, or begin nearest to a moment."""
        return self._read(
            lambda connection: notes.read_events(
                connection, start, end, node=node, kind=kind, around=around, limit=limit
            )
        )

    def _begin(self) -> None:
        self._tail, self._cache = Tail(), RecentCache()
        with self._file.write() as connection:
            for table in LATER_TABLES:
                connection.execute(table)
            self._names = Names.load(connection)
            self._tail.load(connection)
            known = connection.execute("SELECT value FROM facts WHERE name = 'reading_grid_ms'").fetchone()
            self._reading_grid_ms = math.lcm(self._grid_ms, int(known[0]) if known else 1)
            connection.execute(
                "INSERT OR REPLACE INTO facts VALUES ('reading_grid_ms', ?)", (str(self._reading_grid_ms),)
            )

    def _follow_clock(self, now: float) -> None:
        ended_by = self._clock.follow(now)
        self._ended_by = self._ended_by if ended_by is None else ended_by

    def _follow_file(self) -> None:
        """Go on with the file that has the name now.

        Raises:
            ReplacedError: it is another one, and does not know what is to be told with a batch.
        """
        if self._file.is_replaced():
            self._file.open_again()
            self._begin()
            self.lives += 1
            raise ReplacedError(f"the history {self.name} was deleted or replaced while the board runs")

    def _begin_anew(self, error: StorageError) -> None:
        self._is_damaged = False
        self._file.begin_anew(str(error))
        self._begin()
        self.lives += 1

    def _seal(self, connection: sqlite3.Connection, now: float) -> bool:
        return (
            sealing.gather_tail(connection, self._tail, now=now)
            or sealing.seal(connection, self._tail, self._keep, now=now)
            or sealing.join_pieces(connection, now=now)
            or join_usage(connection, now=now)
        )

    def _forget(self, now: float) -> bool:
        # A clock that was set back must not keep it from looking.
        if 0 <= now - self._forgot_at < FORGET_SECONDS:
            return False
        keep, names, by_age = self._keep, self._names, not self._clock.is_doubtful
        did = self._change(
            lambda connection: (
                (by_age and retention.forget_old(connection, keep, now=now))
                or retention.forget_most(connection, keep)
                or (by_age and retention.forget_names(connection, keep, names, now=now))
            )
        )
        did = did or self._file.outside_transaction(retention.give_back)
        if not did:
            self._forgot_at = now
        return did

    def _change(self, call: Callable[[sqlite3.Connection], Value]) -> Value:
        """Do something in one transaction; what was numbered in one that failed has no number."""
        try:
            with self._file.write() as connection:
                done = call(connection)
            self._tail.settle()
            return done  # noqa: TRY300 - beside what it is done with
        except DiskFullError:
            self._disk.drop_ballast()
            self._note_room(is_low=True)
            self._renumber()
            raise self._paused() from None
        except DamagedError as error:
            self._begin_anew(error)
            raise
        except BaseException:
            self._renumber()
            raise

    def _renumber(self) -> None:
        self._tail.undo()
        with self._file.read() as connection:
            self._names = Names.load(connection)

    def _read(self, call: Callable[[sqlite3.Connection], Value]) -> Value:
        try:
            with self._file.read() as connection:
                return call(connection)
        except DamagedError:
            # Set aside by the writer, who alone may: readers come at any time.
            self._is_damaged = True
            raise

    def _look(self, call: Callable[[Look], Value]) -> Value:
        return self._read(
            lambda connection: call(Look(connection, self._tail, self._cache, self._reading_grid_ms))
        )

    def _note_room(self, *, is_low: bool) -> bool:
        if is_low != self._is_paused:
            self._is_paused = is_low
            words = "history paused, the disk is nearly full" if is_low else "history goes on"
            log.warning("%s: path=%s", words, self.name)
        return is_low

    def _paused(self) -> HistoryPausedError:
        return HistoryPausedError(
            f"the disk of {self.name} is nearly full: history is paused until there is room",
            code="history-paused",
        )
