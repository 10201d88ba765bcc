"""Calls that may hang (a dead mount, a silent name server), kept away from the event loop."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

Value = TypeVar("Value")


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
