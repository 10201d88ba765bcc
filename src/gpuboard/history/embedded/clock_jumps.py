"""What the board's clock did: forward by hours it was set, or the machine slept; back it was set."""

from typing import Final

# It is looked at every few seconds: whoever is so much later was not just busy.
JUMP_SECONDS: Final = 3600.0
# A clock that was set forward and went on for so long was right.
BELIEVED_SECONDS: Final = 86_400.0


class ClockJumps:
    """Follows the time that the history is told."""

    def __init__(self) -> None:
        # The last, and the latest of all.
        self._now: float | None = None
        self._latest = 0.0
        # From when to when it went forward, and nobody knows whether that was right.
        self._left: float | None = None
        self._came = 0.0

    @property
    def is_doubtful(self) -> bool:
        """Whether it went forward by hours, and less than an hour ago: what is old by it may not be."""
        return self._left is not None and self._now is not None and self._now - self._came < JUMP_SECONDS

    def follow(self, now: float) -> float | None:
        """Take in the time; after which moment nothing has ended, when what goes back here had gone forward.

        None: it was not set back, or nobody can tell whether it was wrong before or is now.
        """
        last, self._now = self._now, now
        if last is None:
            self._latest = now
        elif now >= last:
            # To where it has been already it only returns.
            if now - self._latest > JUMP_SECONDS:
                self._left, self._came = self._latest, now
            self._latest = max(self._latest, now)
        elif self._left is not None:
            left, self._left = self._left, None
            if last - self._came <= BELIEVED_SECONDS:
                self._latest = max(left, now)
                return self._latest
        return None
