"""Where the past is asked for: in threads, while the history is open, and never waited for too long."""

from collections.abc import Callable
from typing import TypeVar

from gpuboard.history.base import History
from gpuboard.history.questions import Question
from gpuboard.history.recorder import Counts
from gpuboard.model.errors import StorageError
from gpuboard.model.verdict import Reason
from gpuboard.wire.stream import HistoryInfo

Value = TypeVar("Value")


class HistoryDesk:
    """Answers questions about the past, and what the history itself is like."""

    def __init__(self, history: History, counts: Counts) -> None:
        self._history = history
        self.counts = counts
        # Why it cannot be asked; None: it can.
        self.closed: Reason | None = Reason(code="history", text="the history is not open yet")

    @property
    def is_paused(self) -> bool:
        """Whether nothing is written at the moment."""
        return self.closed is not None or self._history.is_paused

    def info(self) -> HistoryInfo:
        """What viewers should know of it."""
        return HistoryInfo(since=self.counts.since, paused=self.is_paused)

    async def ask(self, question: Callable[[History], Value], asked: Question | None = None) -> Value:
        """What the history answers, in one of its threads, until whoever asks is cancelled.

        Raises:
            StorageError: it cannot be asked now.
        """
        if self.closed is not None:
            raise StorageError(self.closed.text, code=self.closed.code)
        return await self._history.run(lambda: question(self._history), question=asked)
