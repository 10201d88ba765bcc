"""Names of users by their number, from a directory that may be slow, far away or down."""

import pwd
import time
from collections.abc import Callable
from typing import Final

from gpuboard.probes.patience import Call
from gpuboard.wire.clean import clean_text

KEEP_SECONDS: Final = 600.0
KEEP_UNKNOWN_SECONDS: Final = 60.0
PATIENCE_SECONDS: Final = 0.3
# More than a machine has users; containers make up ever new numbers.
MAX_KNOWN: Final = 4096


def system_name(uid: int) -> str | None:
    """Ask the system's user database (files, LDAP, SSSD …); this can take long."""
    try:
        return clean_text(pwd.getpwuid(uid).pw_name)[:256]
    except (KeyError, OverflowError):
        return None


class UserNames:
    """Remembers who is who, and never waits long for a directory that does not answer."""

    def __init__(
        self,
        look_up: Callable[[int], str | None] = system_name,
        *,
        patience_seconds: float = PATIENCE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._look_up = look_up
        self._patience_seconds = patience_seconds
        self._clock = clock
        # What is known of each user, and until when that need not be asked again.
        self._known: dict[int, tuple[str | None, float]] = {}
        self._waiting: tuple[int, Call[str | None]] | None = None

    def name(self, uid: int) -> str | None:
        """Return the user's name; None when there is none, or none in time."""
        self._collect()
        name, good_until = self._known.get(uid, (None, 0.0))
        if self._clock() < good_until:
            return name
        # One question at a time: a directory that is down must not collect threads.
        if self._waiting is None:
            call = Call(lambda: self._look_up(uid), name="gpuboard-user-name")
            self._waiting = (uid, call)
            call.wait(self._patience_seconds)
            self._collect()
        # A name that is due to be asked again is still better than none.
        return self._known.get(uid, (None, 0.0))[0]

    def _collect(self) -> None:
        if self._waiting is None or not self._waiting[1].done:
            return
        uid, call = self._waiting
        self._waiting = None
        try:
            name = call.result()
        except Exception:  # noqa: BLE001 - whatever a directory's plug-in raises, the name is unknown
            name = None
        keep = KEEP_SECONDS if name is not None else KEEP_UNKNOWN_SECONDS
        # A directory that is down says "no such user" too, so a name once known stays.
        before = self._known.get(uid, (None, 0.0))[0]
        self._known.pop(uid, None)
        self._known[uid] = (name or before, self._clock() + keep)
        if len(self._known) > MAX_KNOWN:
            # Who has not been asked for longest.
            del self._known[next(iter(self._known))]
