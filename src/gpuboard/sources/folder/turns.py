"""Whose file is read next, as long as a look may take: every user has the same share of it. Pure."""

import heapq
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from gpuboard.sources.folder.listing import Bundle

# What one look may read; a node's file is some kilobytes, nvidia-smi's XML half a megabyte.
MAX_LOOK_BYTES: Final = 256 * 1024 * 1024
# The processor's time for one look: that of four hundred such files, and far from what counts as hung.
MAX_LOOK_SECONDS: Final = 5.0


class Due(NamedTuple):
    """A node whose files have changed."""

    node: str
    bundle: Bundle
    size: int
    is_known: bool
    # How many looks it has waited.
    waited: int


class Turns:
    """The files that one look reads, one after the other, and how much it has left."""

    def __init__(self, due: Iterable[Due], *, clock: Callable[[], float] = time.thread_time) -> None:
        self._clock = clock
        self._due: dict[int, list[Due]] = {}
        for one in due:
            self._due.setdefault(one.bundle.owner, []).append(one)
        for theirs in self._due.values():
            # Taken from the end: nodes that were read before come first, then who waits, then small files.
            theirs.sort(key=_precedence, reverse=True)
        # Why some wait for the next look.
        self.overfull: str | None = None

    def __iter__(self) -> Iterator[Due]:
        """Hand out as many as may be read; the user whose files took least is next: none holds up others."""
        spent, size = 0.0, 0
        # By the share of the look that the files of each user have taken.
        users = [(0.0, owner) for owner in self._due]
        heapq.heapify(users)
        while users:
            share, owner = users[0]
            one = self._due[owner].pop()
            size += one.size
            if size > MAX_LOOK_BYTES:
                self.overfull = f"more than {MAX_LOOK_BYTES >> 20} MiB have changed in it; some wait"
                return
            if spent > MAX_LOOK_SECONDS:
                self.overfull = (
                    f"to read what has changed in it takes longer than {MAX_LOOK_SECONDS:g} s; some wait"
                )
                return
            started = self._clock()
            yield one
            taken = self._clock() - started
            spent += taken
            share += taken / MAX_LOOK_SECONDS + one.size / MAX_LOOK_BYTES
            if self._due[owner]:
                heapq.heapreplace(users, (share, owner))
            else:
                heapq.heappop(users)


def _precedence(one: Due) -> tuple[bool, int, int, str]:
    return not one.is_known, -one.waited, one.size, one.node
