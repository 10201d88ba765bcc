"""A question about the past while it is answered: it pauses for others, and ends when nobody waits for it."""

import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Final, TypeVar

from gpuboard.model.errors import StorageError

# The processor's time for one question: whatever takes longer keeps a thread from all others.
MOST_CPU_SECONDS: Final = 5.0
# After so much work in one go it rests as long as it worked, and longer where others are at work: together
# they leave half of the time to the board itself, since only one thread of a program computes at a time.
WORK_SECONDS: Final = 0.01
_LONGEST_REST_SECONDS: Final = 0.25
# What an answer is compared with is looked up only before half of the time is gone that whoever asks waits.
BESIDE_WITHIN_SECONDS: Final = 15.0

Value = TypeVar("Value")


class TooMuchError(StorageError):
    """A question has had its share of the processor."""


class Question:
    """One question, answered in a thread."""

    def __init__(self) -> None:
        # Set by whoever asked; looked at by the thread between two pieces of its work.
        self.is_given_up = False
        # Of the thread, as far as it has come.
        self.cpu_seconds = 0.0
        self._began = self._rested = 0.0
        self._begun_at = 0.0
        self._most_seconds = MOST_CPU_SECONDS

    def answer(self, call: Callable[[], Value]) -> Value:
        """Do what is asked, in the thread that this is called in.

        Raises:
            StorageError: nobody waits for it any more, or it is too much.
        """
        token = _ANSWERED.set(self)
        _AT_WORK.add(self)
        self._began = self._rested = time.thread_time()
        self._begun_at, self._most_seconds = time.monotonic(), MOST_CPU_SECONDS
        try:
            self.go_on()
            return call()
        finally:
            self.cpu_seconds = time.thread_time() - self._began
            _AT_WORK.discard(self)
            _ANSWERED.reset(token)

    def go_on(self) -> None:
        """Rest a little if it is time to.

        Raises:
            StorageError: nobody waits for it any more, or it is too much.
        """
        now = time.thread_time()
        self.cpu_seconds = now - self._began
        if self.is_given_up:
            raise StorageError("nobody waits for the answer any more", code="storage-hung")
        if self.cpu_seconds > self._most_seconds:
            raise TooMuchError(
                "this takes too long to look up; ask for a shorter span, or for fewer GPUs",
                code="history-too-much",
            )
        if now - self._rested >= WORK_SECONDS:
            share = 2 * len(_AT_WORK) - 1
            time.sleep(min((now - self._rested) * share, _LONGEST_REST_SECONDS))
            self._rested = now

    def beside(self, call: Callable[[], Value]) -> Value | None:
        """What only goes with the answer, and has as much of the processor; None: that takes too long.

        Raises:
            StorageError: nobody waits for it any more.
        """
        if time.monotonic() - self._begun_at > BESIDE_WITHIN_SECONDS:
            return None
        self._most_seconds = time.thread_time() - self._began + MOST_CPU_SECONDS
        try:
            return call()
        except TooMuchError:
            return None


_ANSWERED: ContextVar[Question | None] = ContextVar("answered", default=None)


# All that are answered now, in one thread each.
_AT_WORK: Final[set[Question]] = set()


def go_on() -> None:
    """To be called between two pieces of work; does nothing for what is no question.

    Raises:
        StorageError: nobody waits for the answer any more, or it is too much.
    """
    question = _ANSWERED.get()
    if question is not None:
        question.go_on()


def beside(call: Callable[[], Value]) -> Value | None:
    """Look up what only goes with an answer, in time of its own; None: that takes too long.

    Raises:
        StorageError: nobody waits for the answer any more.
    """
    question = _ANSWERED.get()
    return call() if question is None else question.beside(call)


def is_given_up() -> bool:
    """Whether nobody waits any more for what this thread does."""
    question = _ANSWERED.get()
    return question is not None and question.is_given_up
