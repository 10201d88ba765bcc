"""A clock that a test moves."""


class Clock:
    """Stands still until a test changes `now`."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        """Return the time."""
        return self.now


class HandClock:
    """A fleet's clock that a test moves."""

    def __init__(self, time: float = 1_800_000_000.0) -> None:
        self.time = time

    def now(self) -> float:
        """The time a test has set."""
        return self.time
