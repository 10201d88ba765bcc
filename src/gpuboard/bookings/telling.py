"""Runs the admin's command for what is not as booked: argv, never a shell; JSON on stdin; a deadline."""

import asyncio
import contextlib
import logging
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Sequence
from typing import Final

import msgspec

from gpuboard.bookings.watching import BookingEvent
from gpuboard.wire.bookings import places_view

log = logging.getLogger(__name__)

DEADLINE_SECONDS: Final = 10.0
# So many wait; what comes while the command hangs is said in the log alone.
MOST_WAITING: Final = 100


class EventCommand:
    """Tells a command of each event, one after the other."""

    def __init__(self, argv: Sequence[str], *, deadline: float = DEADLINE_SECONDS) -> None:
        self._argv = tuple(argv)
        self._deadline = deadline
        self._waiting: asyncio.Queue[BookingEvent] = asyncio.Queue(MOST_WAITING)

    def tell(self, event: BookingEvent) -> None:
        """Hear of an event; never waits."""
        booking = event.booking
        log.info("not as booked: event=%s id=%s who=%s", event.event, booking.id, booking.who)
        if not self._argv:
            return
        try:
            self._waiting.put_nowait(event)
        except asyncio.QueueFull:
            log.warning("command not run: event=%s id=%s; too many wait", event.event, booking.id)

    async def follow(self) -> None:
        """Run the command for what comes, until cancelled."""
        while True:
            await self.run(await self._waiting.get())

    async def run(self, event: BookingEvent) -> None:
        """Run the command once; that it fails is said in the log, and changes nothing."""
        try:
            process = await asyncio.create_subprocess_exec(
                *self._argv, stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL, start_new_session=True
            )
        except OSError as error:
            log.warning("command not run: command=%s reason=%s", self._argv[0], error.strerror)
            return
        try:
            async with asyncio.timeout(self._deadline):
                # One that reads nothing may close the pipe.
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    await process.communicate(encode_event(event))
                code = await process.wait()
        except TimeoutError:
            # With all that it has started: the session is its own.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
            log.warning("command ended: command=%s reason=not done in %gs", self._argv[0], self._deadline)
        else:
            if code:
                log.warning("command failed: command=%s code=%d", self._argv[0], code)


def encode_event(event: BookingEvent) -> bytes:
    """An event as the command reads it."""
    booking = event.booking
    return msgspec.json.encode(
        {
            "event": event.event,
            "at": event.at,
            "id": booking.id,
            "who": booking.who,
            "people": event.people,
            "places": places_view(booking.places),
            "start": booking.start,
            "end": booking.end,
            "comment": booking.comment,
        }
    )
