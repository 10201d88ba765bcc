"""What the service manager hears: that the board is ready, alive, reading its settings again, stopping."""

import os
import socket
import time
from collections.abc import MutableMapping
from typing import Final

# Four words within the time that systemd waits: one may get lost.
BEATS: Final = 4


class ServiceManager:
    """Speaks to systemd where it has started us; elsewhere it says nothing."""

    def __init__(self, environment: MutableMapping[str, str] = os.environ) -> None:
        # Taken away, so that no child speaks for us.
        place = environment.pop("NOTIFY_SOCKET", "")
        microseconds = environment.pop("WATCHDOG_USEC", "")
        whose = environment.pop("WATCHDOG_PID", "") or str(os.getpid())
        self._place = f"\0{place[1:]}" if place.startswith("@") else place
        is_watched = microseconds.isdecimal() and whose == str(os.getpid())
        self._every = int(microseconds) / 1e6 / BEATS if is_watched else None
        self._next_beat = 0.0

    def ready(self, status: str) -> None:
        """Say that people can be let in, and in one line how it goes."""
        self._say("READY=1", f"STATUS={status}")

    def reloading(self) -> None:
        """Say that settings are being read again; `ready` ends it."""
        self._say("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def stopping(self) -> None:
        """Say that the end is meant."""
        self._say("STOPPING=1")

    def beat(self) -> None:
        """Say that the event loop turns; systemd starts a board anew that no longer does."""
        now = time.monotonic()
        if self._every is not None and now >= self._next_beat:
            self._next_beat = now + self._every
            self._say("WATCHDOG=1")

    def _say(self, *lines: str) -> None:
        if not self._place:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as way:
                way.setblocking(False)
                way.sendto("\n".join(lines).encode(), self._place)
        except OSError:
            # Nobody listens, or is too busy to: the next word may come through.
            return
