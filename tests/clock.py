"""A clock that a test moves."""


class Clock:
    """Stands still until a test changes `now`."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        """Return the time."""
        return self.now
