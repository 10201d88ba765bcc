"""What the board asks of its history, whichever keeps it. Every call but `run` blocks: always in a thread.

There is one writer: `write` and `tidy` are called one after the other, never both at once (`run` with
`is_write` sees to that). Readers come at any time, several at once, and wait for nobody.
"""

import abc
from collections.abc import Callable
from typing import Final, TypeVar

from msgspec import Struct

from gpuboard.history.questions import Question
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
from gpuboard.model.errors import OutsideError, StorageError
from gpuboard.model.verdict import Reason
from gpuboard.outside.threads import Workers

READING_THREADS: Final = 3
# A look that takes longer hangs: whoever asked is told, and it ends in its thread as soon as it can.
READING_PATIENCE_SECONDS: Final = 30.0
# Agents keep an hour: what is older than this is refused for good.
OLDEST_SAMPLE_SECONDS: Final = 75 * 60.0
# Different GPUs of one node that are recorded in thirty days: instances come and go, and a node may lie.
GPUS_PER_NODE: Final = 512

Value = TypeVar("Value")


class Keep(Struct, frozen=True, kw_only=True):
    """How finely and how long the past is kept."""

    # A whole part of a minute.
    grid_seconds: int = 10
    # Use that is no work: idle time counts from when it fell so low.
    quiet_percent: float = 5.0
    full_seconds: float = 14 * 86_400.0
    minutes_seconds: float = 90 * 86_400.0
    hours_seconds: float = 5 * 365 * 86_400.0
    # Afterwards people are "somebody"; None: as long as hours.
    names_seconds: float | None = None
    # Of all together on the disk; the oldest and finest goes first. None: no limit.
    max_bytes: int | None = None


class History(abc.ABC):
    """Keeps the past of a fleet."""

    # What people know it by; never with a secret in it.
    name: str

    def __init__(self) -> None:
        self._readers = Workers(READING_THREADS, patience=READING_PATIENCE_SECONDS)
        # No patience: whether a batch was written must be known, and whoever waits for it holds nobody up.
        self._writers = Workers(1)
        # Raised when all that it knew is gone, as when a file was deleted: who is where, and what goes on, is
        # to be told again.
        self.lives = 0

    async def run(
        self, call: Callable[[], Value], *, is_write: bool = False, question: Question | None = None
    ) -> Value:
        """Run a call of this history in one of its threads, and wait for what it returns.

        Those that write queue among themselves, in the order in which they came. One that reads ends early
        when nobody waits for it any more.

        Raises:
            StorageError: the history cannot be used, or does not answer.
        """
        if is_write:
            return await self._writers.run(lambda _: call())
        asked = question or Question()
        try:
            return await self._readers.run(lambda _: asked.answer(call))
        except OutsideError:
            raise StorageError(f"the history {self.name} does not answer", code="storage-hung") from None
        finally:
            asked.is_given_up = True

    @abc.abstractmethod
    def open(self) -> None:
        """Begin or go on; keep other boards out. What is damaged is set aside, and a new one begun.

        Raises:
            StorageError: it cannot be used, or another board uses it.
        """

    @abc.abstractmethod
    def close(self) -> None:
        """Let go of it, and let another board have it."""

    @abc.abstractmethod
    def write(self, batch: Batch, *, now: float) -> Written:
        """Write a batch. When this returns, the batch is safe, whatever ends the board or the machine.

        Raises:
            HistoryPausedError: not now: the disk is nearly full. Nothing of the batch was written.
            StorageError: it cannot be written; nothing of the batch was.
        """

    @abc.abstractmethod
    def tidy(self, *, now: float) -> bool:
        """Do one small step of what is due: seal, forget what is too old or too much, give room back.

        Each takes some ten milliseconds, so that a batch never waits long. To be called again soon when it
        returns True: there is more to do.

        Raises:
            StorageError: it cannot be written.
        """

    @property
    @abc.abstractmethod
    def trouble(self) -> Reason | None:
        """Why nothing is written at the moment, or that a damaged file was set aside; None: all is well."""

    @property
    @abc.abstractmethod
    def is_paused(self) -> bool:
        """Whether the next write would be answered by "not now"; it ends by itself. Does not block."""

    @abc.abstractmethod
    def since(self) -> float | None:
        """When the past begins that is known; None: there is none yet."""

    @abc.abstractmethod
    def size_bytes(self) -> int:
        """What it takes on the disk, as far as it can tell."""

    @abc.abstractmethod
    def positions(self) -> dict[str, Taken]:
        """How far each node had come when its last batch was written."""

    @abc.abstractmethod
    def memories(self) -> dict[str, bytes]:
        """What was to be remembered of each node from run to run."""

    @abc.abstractmethod
    def places(
        self, start: float, end: float, *, node: str | None = None, gpu: str | None = None
    ) -> list[Place]:
        """Where GPUs were in a span, by node, index and label; `start = end = now` is who is there now."""

    @abc.abstractmethod
    def open_episodes(self) -> list[Episode]:
        """Those without an end, for going on after a restart."""

    @abc.abstractmethod
    def open_events(self) -> list[Event]:
        """Those without an end, for going on after a restart."""

    @abc.abstractmethod
    def curves(self, query: CurvesQuery) -> Curves:
        """Figures over time.

        The points are as long as they must be for no more than were asked for, and whole cells of the tier
        that was read; the first and the last may reach beyond the span.

        Raises:
            KeyError: there is no such figure.
            StorageError: it cannot be read.
        """

    @abc.abstractmethod
    def states(
        self, gpu: str, start: float, end: float, *, quiet_percent: float | None = None
    ) -> list[StateSpan]:
        """The verdicts and holders of one GPU, in order; what was not observed is missing.

        With `quiet_percent` idle counts from when its use fell so low, at most an hour back; without, from
        when it was found.
        """

    @abc.abstractmethod
    def moment(self, at: float) -> Moment:
        """The whole fleet as it was; a GPU counts as there while it has a place, observed or not."""

    @abc.abstractmethod
    def track(self, start: float, end: float, points: int) -> Track:
        """How many of the GPUs that count were free, busy and so on, over time."""

    @abc.abstractmethod
    def usage(self, start: float, end: float, *, with_memory: bool = True) -> Usage:
        """How long each GPU that counts was used, idle, booked, free and broken, and by whom.

        Whole hours (of UTC), from the one that the span begins in, and the last up to its end, which is never
        in the future; from when on anything was counted. What was not observed is what is left. Without
        memory nothing is known of it, and the answer takes less time.
        """

    @abc.abstractmethod
    def usage_of_programs(self, start: float, end: float) -> Usage:
        """The same, divided among programs instead of people, as far as it is known which ran."""

    @abc.abstractmethod
    def usage_by_hour(self, start: float, end: float) -> list[HourUse]:
        """How full the GPUs that count were, in order; hours of which nothing was observed are missing."""

    @abc.abstractmethod
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
        """Those that touch a span, the newest first.

        With `around`, of those that begin or end in the span the ones that do so nearest to that moment: so
        many beginnings and so many ends, up to it and after it.
        """

    @abc.abstractmethod
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
        """Those that touch a span, the newest first; with `around` as episodes, by when they begin."""
