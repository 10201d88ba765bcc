"""`gpuboard` that says what is booked before that is written down: to see that tests find that out."""

import sys
import threading

from gpuboard.bookings.store import BookingStore, Decide, StoredBook, Written
from gpuboard.model.identity import Identity

# A commit waits for the disk; this is one that is slow.
SLOW_SECONDS = 0.3
_change = BookingStore.change


def told_at_once(store: BookingStore, what: str, decide: Decide, actor: Identity | None = None) -> Written:
    """Decide by the book as it is, and write that down a little later."""
    with store.database.read() as connection:
        decision = decide(StoredBook(connection), store._clock())
    later = (store, what, lambda _book, _now: decision, actor)
    threading.Timer(SLOW_SECONDS, _change, later).start()
    return Written(decision=decision, generation=store.generation() + 1)


if __name__ == "__main__":
    BookingStore.change = told_at_once  # type: ignore[method-assign, assignment]
    from gpuboard.cli import main

    sys.exit(main())
