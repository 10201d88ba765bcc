"""Calls that may hang (a dead mount, a silent name server), kept away from the event loop."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from gpuboard.model.errors import OutsideError

Value = TypeVar("Value")
# How a call says what it is about to touch, so that it can be named when it hangs.
Note = Callable[[str], None]


async def off_loop(call: Callable[[], Value]) -> Value:
    """Run a call in a thread of its own and wait for what it returns or raises.

    The thread is a daemon: unlike asyncio's own pool, one that hangs takes no place from other calls
    and does not keep the program from ending.
    """
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[Value] = loop.create_future()

    def settle(value: Value | None, error: BaseException | None) -> None:
        if outcome.done():  # nobody waits any more
            return
        if error is not None:
            outcome.set_exception(error)
        else:
            outcome.set_result(value)  # type: ignore[arg-type] # a value, since there is no error

    def work() -> None:
        value, failure = None, None
        try:
            value = call()
        except Exception as error:  # noqa: BLE001 - raised again where it is awaited
            failure = error
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(settle, value, failure)

    threading.Thread(target=work, daemon=True, name="off-loop").start()
    return await outcome


class Workers:
    """A few threads for one kind of call: those that hang keep theirs, and no others are started instead.

    Whoever asks again and again while a mount hangs would otherwise leave a thread behind each time.
    """

    def __init__(self, places: int, *, patience: float | None = None) -> None:
        """Allow so many calls at once; with a patience, all that take longer count as hung."""
        self._places = asyncio.Semaphore(places)
        self._patience = patience
        # What each call under way touches just now.
        self._under_way: dict[asyncio.Future[Any], str] = {}

    async def run(self, call: Callable[[Note], Value]) -> Value:
        """Run a call in a thread and wait for what it returns or raises.

        Raises:
            OutsideError: it does not answer, or all threads wait for others that do not; says what hangs.
        """
        limit = asyncio.timeout(self._patience)
        try:
            async with limit:
                await self._places.acquire()
                work = self._start(call)
                # Whoever gives up leaves the thread behind, and the place stays taken until that ends.
                return await asyncio.shield(work)
        except TimeoutError:
            if not limit.expired():
                raise
            touched = ", ".join(dict.fromkeys(filter(None, self._under_way.values()))) or "a file"
            raise OutsideError(f"{touched} cannot be read: its mount hangs", code="file-hung") from None

    def _start(self, call: Callable[[Note], Value]) -> "asyncio.Future[Value]":
        def note(what: str) -> None:
            self._under_way[work] = what

        work = asyncio.ensure_future(off_loop(lambda: call(note)))
        self._under_way[work] = ""
        work.add_done_callback(self._end)
        return work

    def _end(self, work: "asyncio.Future[Value]") -> None:
        self._under_way.pop(work, None)
        self._places.release()
        if not work.cancelled():
            work.exception()  # Nobody may be left to look at it.
