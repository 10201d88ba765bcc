"""Calls that may never come back, kept in threads of their own so that nobody waits for them for ever."""

import logging
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Result = TypeVar("Result")

log = logging.getLogger(__name__)


class Call(Generic[Result]):
    """A function at work in its own daemon thread; whoever waits for it waits only so long."""

    def __init__(self, function: Callable[[], Result], *, name: str) -> None:
        self._function = function
        self._result: Result
        self._error: BaseException | None = None
        self._done = threading.Event()
        # A daemon, because a thread that is stuck in the kernel must not keep the program from ending.
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def _run(self) -> None:
        try:
            self._result = self._function()
        except BaseException as error:  # noqa: BLE001 - it belongs to whoever asks for the result
            self._error = error
        finally:
            self._done.set()

    @property
    def done(self) -> bool:
        """Whether the function has come back."""
        return self._done.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait at most this long; say whether the function has come back."""
        return self._done.wait(max(0.0, seconds))

    def outcome(self) -> Result:
        """Wait for as long as it takes; for functions that come back by themselves."""
        self._done.wait()
        return self.result()

    def result(self) -> Result:
        """Return what the function returned, or raise what it raised; only once it is done."""
        if self._error is not None:
            raise self._error
        return self._result


class Patience(Generic[Result]):
    """Asks one slow question again and again, never twice at a time, and waits at most `seconds` for it."""

    def __init__(self, *, seconds: float, name: str) -> None:
        self._seconds = seconds
        self._name = name
        self._late: Call[Result] | None = None

    def ask(self, question: Callable[[], Result]) -> Result | None:
        """Return the answer; None when it fails, is not here in time, or an earlier one is still awaited."""
        if self._late is not None and not self._late.done:
            return None
        call = Call(question, name=self._name)
        self._late = None if call.wait(self._seconds) else call
        if self._late is not None:
            return None
        try:
            return call.result()
        except Exception:
            log.exception("question failed: thread=%s", self._name)
            return None
